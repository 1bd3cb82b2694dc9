// SPDX-License-Identifier: BSL-1.0
// Right uses of the language and of its library: none is a fault, and all give everything back.
#include "doors.hpp"

#include <deque>
#include <exception>
#include <forward_list>
#include <functional>
#include <future>
#include <list>
#include <locale>
#include <map>
#include <memory>
#include <memory_resource>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <valarray>
#include <vector>

#include <algorithm>
#include <stdlib.h>
#include <string.h>

#include <heapmark/heapmark.hpp>

namespace {

struct Plain {
    char bytes[40];
};
struct WithDestructor {
    ~WithDestructor() { bytes[0] = 1; }
    char bytes[24];
};
struct alignas(64) OverAligned {
    char bytes[64];
};
struct alignas(256) OverAlignedWithDestructor {
    ~OverAlignedWithDestructor() { bytes[0] = 1; }
    char bytes[256];
};
struct Base {
    virtual ~Base() = default;
    int number = 1;
};
struct Derived : Base {
    char more[100] = {};
};
struct alignas(128) OverAlignedDerived : Base {
    char more[100] = {};
};

/// Apart from its delete, of which g++ 12 at -O3 would say that the block is used after it.
template <class T>
[[gnu::noinline]] T* new_many(std::size_t count)
{
    return opaque(new (std::nothrow) T[count]);
}

template <class T>
void expressions()
{
    delete opaque(new T);
    delete opaque(new (std::nothrow) T);
    for (const unsigned count : {0U, 1U, 3U, 100U}) { // arrays of what has a destructor hold their count in front
        delete[] opaque(new T[opaque(count)]);
        delete[] new_many<T>(count);
    }
    std::make_unique<T>();
    std::make_unique<T[]>(5);
    std::make_shared<T>();
    std::shared_ptr<T> shared(new T);
    std::shared_ptr<T[]> array(new T[4]);
    std::vector<T> vector(17);
    vector.resize(40);
    vector.shrink_to_fit();
    std::list<T> list(3);
    std::deque<T> deque(300);
}

struct ThrowsWhenMade {
    ThrowsWhenMade() { throw 1; }
    char bytes[80];
};
struct ThirdThrows {
    ThirdThrows()
    {
        if (++made == 3) throw 1;
    }
    ~ThirdThrows() { --made; }
    static inline int made = 0;
};

void constructors_that_throw()
{
    int caught = 0;
    try {
        new ThrowsWhenMade;
    } catch (int) {
        ++caught;
    }
    try {
        new (std::nothrow) ThrowsWhenMade;
    } catch (int) {
        ++caught;
    }
    try {
        opaque(new ThirdThrows[5]);
    } catch (int) {
        ++caught;
    }
    EXPECT_EQ(caught, 3);
}

void containers()
{
    std::map<int, std::string> map;
    std::unordered_map<std::string, int> hashed;
    std::multiset<std::string> set;
    for (int i = 0; i < 500; ++i) {
        map[i] = std::string(static_cast<std::size_t>(i), 'x');
        hashed[std::to_string(i * 100'000'000)] = i;
        set.insert(map[i]);
    }
    map.erase(map.begin(), map.find(100));
    std::vector<bool> bits(10'000);
    std::forward_list<std::string> forward(10, "a string that does not fit inside");
    std::valarray<double> numbers(1.0, 200);
    numbers = numbers * 2.0 + 1.0;
    std::function<int()> function = [numbers, map] { return static_cast<int>(numbers.size() + map.size()); };
    EXPECT_EQ(function(), 600);
    std::vector<std::string> strings(1000);
    for (std::size_t i = 0; i < strings.size(); ++i)
        strings[i] = std::to_string(i * 7919 % 1000) + " and some more text";
    std::stable_sort(strings.begin(), strings.end()); // takes a temporary buffer
    std::inplace_merge(strings.begin(), strings.begin() + 500, strings.end());
}

void memory_resources()
{
    std::pmr::monotonic_buffer_resource buffer;
    std::pmr::unsynchronized_pool_resource pool;
    std::pmr::synchronized_pool_resource shared_pool;
    for (std::pmr::memory_resource* resource :
         {static_cast<std::pmr::memory_resource*>(&buffer), static_cast<std::pmr::memory_resource*>(&pool),
          static_cast<std::pmr::memory_resource*>(&shared_pool), std::pmr::new_delete_resource()}) {
        std::pmr::vector<std::pmr::string> strings(resource);
        for (int i = 0; i < 300; ++i) strings.emplace_back("a string that does not fit inside the object");
        std::pmr::vector<OverAligned> aligned(20, resource);
    }
}

void library()
{
    std::ostringstream stream;
    stream << "number " << 42 << " and " << 1.5;
    EXPECT(stream.str() == "number 42 and 1.5");
    EXPECT(std::regex_search("one two three", std::regex("t(w|x)o")));
    std::exception_ptr kept;
    try {
        throw std::runtime_error("text that is copied on the heap");
    } catch (...) {
        kept = std::current_exception();
    }
    kept = nullptr;
    EXPECT_EQ(std::async(std::launch::async, [] { return std::string(100, 'x').size(); }).get(), 100U);
    std::promise<std::string> promise;
    std::thread thread([&] { promise.set_value(std::string(100, 'y')); });
    EXPECT_EQ(promise.get_future().get().size(), 100U);
    thread.join();
    const std::locale mixed(std::locale::classic(), std::locale::classic(), std::locale::numeric);
    char* line = nullptr;
    std::size_t capacity = 0;
    std::FILE* file = std::fopen("/proc/self/maps", "r");
    while (getline(&line, &capacity, file) > 0) {}
    std::free(line);
    std::fclose(file);
    char* printed = nullptr;
    EXPECT_EQ(asprintf(&printed, "%d", 12), 2);
    std::free(printed);
    std::free(::strdup("text"));
    std::free(realpath("/proc/self/../self", nullptr));
}

void everything()
{
    expressions<char>();
    expressions<Plain>();
    expressions<WithDestructor>();
    expressions<OverAligned>();
    expressions<OverAlignedWithDestructor>();
    expressions<std::string>();
    delete opaque<Base>(new Derived);
    delete opaque<Base>(new OverAlignedDerived);
    constructors_that_throw();
    containers();
    memory_resources();
    library();
}

} // namespace

int main()
{
    everything(); // once for what the library makes on first use
    const Since since;
    everything();
    EXPECT(since.holds(0, 0));
    const heapmark::Faults faults = heapmark::faults();
    EXPECT_EQ(faults.mismatched_releases, 0U);
    EXPECT_EQ(faults.double_frees, 0U);
    EXPECT_EQ(faults.unknown_frees, 0U);
    return verdict();
}
