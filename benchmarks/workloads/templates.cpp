// SPDX-License-Identifier: BSL-1.0
// Not part of any program: food for the compiler of workload `compile`. Standard headers, and templates that make
// templates.
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace {

template <int N>
struct Number {
    int value = N;
};

template <int N>
struct Table {
    std::map<std::string, std::vector<Number<N>>> by_name;
    std::unordered_map<int, std::function<int(Number<N>)>> functions;

    int use(const std::string& name)
    {
        by_name[name].push_back({});
        functions[N] = [this](Number<N> number) { return number.value + static_cast<int>(by_name.size()); };
        std::sort(by_name[name].begin(), by_name[name].end(),
                  [](const Number<N>& a, const Number<N>& b) { return a.value < b.value; });
        return functions[N](by_name[name].front());
    }
};

template <int... N>
int use_all(std::integer_sequence<int, N...>, const std::string& name)
{
    std::tuple<Table<N>...> tables;
    std::variant<Number<N>...> last;
    ((last = Number<N>{}), ...);
    return (std::get<N>(tables).use(name) + ... + std::visit([](auto number) { return number.value; }, last));
}

} // namespace

#ifndef TABLES
#define TABLES 8
#endif

int compile_me(const std::string& name) { return use_all(std::make_integer_sequence<int, TABLES>{}, name); }
