# SPDX-License-Identifier: BSL-1.0
# What is asked of each compiler, $compiler: a program, its assembler text, an error.
cat > words.cpp <<'CPP'
#include <algorithm>
#include <iostream>
#include <map>
#include <regex>
#include <string>
int main()
{
    std::map<std::string, int> count;
    const std::string text = "one two two three three three";
    const std::regex word("[a-z]+");
    for (std::sregex_iterator it(text.begin(), text.end(), word), end; it != end; ++it) ++count[it->str()];
    for (const auto& [name, times] : count) std::cout << name << ' ' << times << '\n';
}
CPP
"$compiler" -std=c++17 -O2 -g -Wall words.cpp -o words
./words
"$compiler" -std=c++17 -O1 -S -o - words.cpp | grep -v '^[[:space:]]*\.' | cksum
echo 'int main() { return undeclared; }' > wrong.cpp
"$compiler" -c wrong.cpp || echo "status $?"
