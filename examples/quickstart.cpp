// SPDX-License-Identifier: BSL-1.0
// Mark, run, look at what is left: once for a function that keeps memory, once for one that does not.
#include <heapmark/heapmark.hpp>

#include <cstddef>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

// Keeps a copy of the name for good.
char* remember_name(const std::string& name)
{
    char* copy = new char[name.size() + 1];
    std::memcpy(copy, name.c_str(), name.size() + 1);
    return copy;
}

void greet_guests()
{
    std::vector<char*> guests;
    for (const char* name : {"Ada", "Grace", "Barbara"}) guests.push_back(remember_name(name));
    // The vector is freed here; the copies are not.
}

std::size_t count_letters()
{
    std::vector<std::string> words{"a sentence that is long enough to need the heap", "and another one like it, or so"};
    std::size_t letters = 0;
    for (const std::string& word : words) letters += word.size();
    return letters;
}

int main()
{
    if (!heapmark::active()) {
        std::cerr << heapmark::status().problem << '\n';
        return 2;
    }

    const heapmark::Generation leaking = heapmark::mark("greet guests");
    greet_guests();
    const heapmark::Snapshot kept = heapmark::survivors(leaking);
    std::cout << kept;

    const heapmark::Generation clean = heapmark::mark("count letters");
    const std::size_t letters = count_letters();
    const heapmark::Snapshot nothing = heapmark::survivors(clean);
    std::cout << nothing;

    const bool as_expected = kept.size() == 3 && kept.bytes() == 4 + 6 + 8 && nothing.empty() && letters > 0;
    return as_expected ? 0 : 1;
}
