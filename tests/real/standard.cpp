// SPDX-License-Identifier: BSL-1.0
// The C and C++ libraries: all ways to ask for memory, and the usual ways to forget it.
#include "scenario.hpp"

#include <any>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <exception>
#include <functional>
#include <future>
#include <iconv.h>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <regex.h>
#include <regex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

struct Node {
    std::shared_ptr<Node> next;
    std::weak_ptr<Node> before;
    std::string text = "a text that is long enough not to fit into the string itself";
};

struct Shape {
    Shape() = default;
    Shape(const Shape&) = delete;
    Shape& operator=(const Shape&) = delete;
    virtual ~Shape() = default;
    std::vector<int> points = std::vector<int>(10);
};
struct Circle : Shape {
    std::string name = std::string(50, 'c');
};

struct alignas(64) Wide {
    char bytes[64];
};

} // namespace

SCENARIO(Standard, Cycle)
{
    auto one = std::make_shared<Node>();
    one->next = std::make_shared<Node>();
    if (leaks)
        one->next->next = one;
    else
        one->next->before = one;
}

SCENARIO(Standard, Exception)
{
    try {
        char* buffer = new char[100];
        const std::unique_ptr<char[]> owner(leaks ? nullptr : buffer);
        buffer[0] = 'x';
        throw std::runtime_error("a text that is long enough not to fit into the string itself");
    } catch (const std::exception&) {}
}

SCENARIO(Standard, ContainerOfPointers)
{
    std::map<std::string, Shape*> shapes;
    for (int i = 0; i < 5; ++i) shapes["shape " + std::to_string(i)] = new Circle;
    if (leaks) shapes.erase("shape 3"); // the others are deleted
    for (const auto& [name, shape] : shapes) delete shape;
}

SCENARIO(Standard, Overwritten)
{
    Shape* shape = new Circle;
    if (!leaks) delete shape;
    shape = new Circle;
    delete shape;
}

SCENARIO(Standard, Released)
{
    auto owner = std::make_unique<Circle>();
    EXPECT(owner->points.size() == 10);
    if (leaks) EXPECT(owner.release() != nullptr);
}

SCENARIO(Standard, Thread)
{
    std::thread([leaks] {
        auto* text = new std::string(100, 'x');
        if (!leaks) delete text;
    }).join();
}

SCENARIO(Standard, Async)
{
    const std::future<Shape*> later = std::async(std::launch::async, []() -> Shape* { return new Circle; });
    Shape* shape = const_cast<std::future<Shape*>&>(later).get();
    if (!leaks) delete shape;
}

SCENARIO(Standard, CopiedText)
{
    char* copy = strdup("a text that the caller has to release");
    EXPECT(std::strlen(copy) == 37);
    if (!leaks) std::free(copy);
}

SCENARIO(Standard, Printed)
{
    char* text = nullptr;
    EXPECT(asprintf(&text, "%d guests", 3) == 8);
    if (!leaks) std::free(text);
}

SCENARIO(Standard, Line)
{
    std::FILE* file = std::tmpfile();
    std::fputs("one line\n", file);
    std::rewind(file);
    char* line = nullptr;
    std::size_t size = 0;
    EXPECT(getline(&line, &size, file) == 9);
    if (!leaks) std::free(line);
    std::fclose(file);
}

SCENARIO(Standard, Directory)
{
    DIR* folder = opendir("/");
    EXPECT(readdir(folder) != nullptr);
    if (!leaks) closedir(folder);
}

SCENARIO(Standard, CExpression)
{
    regex_t expression;
    EXPECT(regcomp(&expression, "[a-z]+", REG_EXTENDED) == 0);
    if (!leaks) regfree(&expression);
}

SCENARIO(Standard, Aligned)
{
    void* memory = nullptr;
    EXPECT(posix_memalign(&memory, 256, 1000) == 0);
    if (!leaks) std::free(memory);
}

SCENARIO(Standard, AlignedNew)
{
    Wide* wide = new Wide[3];
    EXPECT(std::snprintf(wide[0].bytes, sizeof wide[0].bytes, "%d", 12) == 2);
    if (!leaks) delete[] wide;
}

SCENARIO(Standard, Nothrow)
{
    char* memory = static_cast<char*>(real::seen(new (std::nothrow) char[500]));
    EXPECT(memory != nullptr);
    if (!leaks) delete[] memory;
}

SCENARIO(Standard, Grown)
{
    // The old block is lost when realloc fails and its result is stored over it.
    char* memory = static_cast<char*>(real::seen(std::malloc(100)));
    char* old = memory;
    memory = static_cast<char*>(real::seen(std::realloc(memory, std::size_t{1} << 60)));
    EXPECT(memory == nullptr);
    if (!leaks) std::free(old);
}

SCENARIO(Standard, List)
{
    struct Link {
        Link* next;
        int number;
    };
    Link* head = nullptr;
    for (int i = 0; i < 10; ++i) head = new Link{head, i};
    while (!leaks && head != nullptr) delete std::exchange(head, head->next);
}

SCENARIO(Standard, HeldByLostObject)
{
    struct Owner {
        std::vector<std::unique_ptr<Circle>> circles;
    };
    auto* owner = new Owner;
    for (int i = 0; i < 3; ++i) owner->circles.push_back(std::make_unique<Circle>());
    if (!leaks) delete owner;
}

// What lives longer than the test by design, in both: it is held, and no leak.

SCENARIO(Standard, BesideACache)
{
    static std::map<int, std::string> cache;
    cache[leaks ? 1 : 2] = std::string(100, 'x');
    static const std::regex expression("[a-z]+[0-9]*");
    EXPECT(std::regex_match("abc1", expression));
    static auto* const immortal = new std::vector<int>(100);
    EXPECT(immortal->size() == 100);
    if (leaks) static_cast<void>((new std::string(100, 'y'))->size());
}

SCENARIO(Standard, BesideAThreadsVariables)
{
    thread_local std::vector<std::string> kept;
    kept.emplace_back(100, 'x');
    if (leaks) static_cast<void>((new std::string(100, 'y'))->size());
}
