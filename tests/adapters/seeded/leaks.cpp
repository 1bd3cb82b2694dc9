// SPDX-License-Identifier: BSL-1.0
// 10 ways to lose memory, each 0 to 12 calls deep and with copies of the lost address in up to 256 words of frames that have
// ended. What is left of those must hold nothing.
#include "leaks.hpp"

#include <heapmark/heapmark.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace seeded {

namespace {

constexpr int ways = 10;
constexpr int depths[] = {0, 2, 6, 12};
constexpr int words[] = {0, 4, 16, 64, 256};
static_assert(count_max == ways * 4 * 5);

/// Leaves copies of the address in a frame that has ended.
template <int Words>
[[gnu::noinline]] void spread(void* address)
{
    void* copies[Words + 1];
    for (void*& copy : copies) copy = address;
    heapmark::escape(&copies[0]);
}

struct Node {
    std::shared_ptr<Node> next;
    std::string text = "a text that is long enough not to fit into the string itself";
};

struct Link {
    Link* next;
    int number;
};

template <int Words>
void lose_it(int way)
{
    switch (way) {
    case 0: {
        int* number = new int(Words);
        spread<Words>(number);
        break;
    }
    case 1: {
        void* memory = std::malloc(Words + 10);
        spread<Words>(memory);
        break;
    }
    case 2: {
        auto* text = new std::string(Words + 40, 'x');
        spread<Words>(text);
        break;
    }
    case 3: {
        auto* numbers = new std::vector<int>(Words + 1);
        numbers->push_back(Words);
        spread<Words>(numbers);
        break;
    }
    case 4: {
        auto owner = std::make_unique<Node>();
        spread<Words>(owner.release());
        break;
    }
    case 5: {
        auto node = std::make_shared<Node>();
        node->next = std::make_shared<Node>();
        node->next->next = node;
        spread<Words>(node.get());
        break;
    }
    case 6: {
        Link* head = nullptr;
        for (int i = 0; i < 5; ++i) head = new Link{head, i};
        spread<Words>(head);
        break;
    }
    case 7:
        try {
            char* text = new char[Words + 1];
            spread<Words>(text);
            throw std::runtime_error("a text that is long enough not to fit into the string itself");
        } catch (const std::exception&) {}
        break;
    case 8: {
        char* copy = strdup("a text that somebody should have released");
        spread<Words>(copy);
        break;
    }
    default: {
        std::map<std::string, Link*> links;
        for (int i = 0; i < 3; ++i) links[std::to_string(i)] = new Link{nullptr, i};
        spread<Words>(links["1"]);
        break;
    }
    }
}

template <int Depth, int Words>
[[gnu::noinline]] void lose_deep(int way)
{
    volatile char room[Words + 1];
    room[0] = 'x';
    if constexpr (Depth == 0)
        lose_it<Words>(way);
    else
        lose_deep<Depth - 1, Words>(way);
    room[Words] = 'x'; // no tail call
}

template <int Index>
void leak_one()
{
    lose_deep<depths[Index / ways % 4], words[Index / ways / 4]>(Index % ways);
}

template <std::size_t... Index>
constexpr std::array<void (*)(), sizeof...(Index)> table(std::index_sequence<Index...> /*all*/)
{
    return {&leak_one<static_cast<int>(Index)>...};
}
constexpr auto leaks = table(std::make_index_sequence<count_max>{});

} // namespace

const std::size_t count = leaks.size();

void leak(std::size_t index)
{
    std::printf("seeded leak %zu\n", index);
    std::fflush(stdout);
    leaks[index]();
}

} // namespace seeded
