// SPDX-License-Identifier: BSL-1.0
// What blocks are: said by the program, proved by the stack, told by the vtable; and what is not known is not guessed.
#include "situations.hpp"

#ifdef __cpp_impl_coroutine
#include <coroutine>
#endif
#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

// Not in an anonymous namespace: inlined functions of such types have no full name in debug information.
namespace zoo {

struct Plain {
    int values[5];
};
struct Shape {
    virtual ~Shape() = default;
    int sides[4] = {};
};
struct Functor {
    char room[64];
    int operator()(int value) const { return value + room[0]; }
};
/// Its constructor allocates: the inner block is no Nested.
struct Nested {
    void* inner = std::malloc(333);
    ~Nested() { std::free(inner); }
    Nested() = default;
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
};

} // namespace zoo

using zoo::Functor;
using zoo::Nested;
using zoo::Plain;
using zoo::Shape;

namespace {

/// The label of the only block that `make` leaves.
template <class Make>
[[gnu::noinline]] std::string type_made_by(Make make)
{
    const heapmark::Generation g = heapmark::mark("type");
    const auto made = make();
    heapmark::escape(&made);
    std::string labels;
    for (const heapmark::Group& group : heapmark::survivors(g).group_by(heapmark::by_type))
        labels += (labels.empty() ? "" : "; ") + std::string(group.label());
    return labels;
}

bool same(const std::string& found, const char* wanted)
{
    if (found != wanted) std::fprintf(stderr, "found \"%s\", wanted \"%s\"\n", found.c_str(), wanted);
    return found == wanted;
}

void proved_by_the_stack()
{
    EXPECT(same(type_made_by([] { return std::vector<Plain>(7); }), "std::vector<zoo::Plain> buffer"));
    EXPECT(same(type_made_by([] { return std::string(100, 'x'); }), "std::string buffer"));
    EXPECT(same(type_made_by([] { return std::make_shared<Plain>(); }), "std::make_shared<zoo::Plain> block"));
    EXPECT(same(type_made_by([] { return std::list<int>{1, 2}; }), "std::_List_node<int>"));
    EXPECT(same(type_made_by([] {
                    return std::map<int, char>{{1, 'a'}};
                }),
                "std::_Rb_tree_node<std::pair<int const, char>>"));
    EXPECT(same(type_made_by([] { return std::function<int(int)>(Functor{}); }), "std::function target zoo::Functor"));
}

void told_by_the_vtable()
{
    EXPECT(same(type_made_by([] { return std::unique_ptr<Shape>(new Shape); }), "zoo::Shape"));
    const std::string control = type_made_by([] { return std::shared_ptr<int>(new int(3)); });
    EXPECT(control.find("std::_Sp_counted_ptr<int*") != std::string::npos);
}

#ifdef __cpp_impl_coroutine
struct Lazy {
    struct promise_type {
        Lazy get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() {}
    };
    std::coroutine_handle<promise_type> handle;
};
Lazy count_up(int from)
{
    heapmark::escape(&from);
    co_await std::suspend_always{};
}

void told_by_the_coroutine()
{
    for (const int resumes : {0, 1, 2}) { // begun, on its way, and at its end
        std::coroutine_handle<> handle;
        const std::string type = type_made_by([&] {
            handle = count_up(3).handle;
            for (int i = 0; i < resumes; ++i) handle.resume();
            return handle;
        });
        EXPECT(type.find("coroutine frame of ") == 0 && type.find("count_up(int)") != std::string::npos);
        EXPECT_EQ(handle.done(), resumes == 2);
        handle.destroy();
    }
}
#else
void told_by_the_coroutine() { std::fprintf(stderr, "coroutines are not tried: this compiler has none\n"); }
#endif

void not_known()
{
    EXPECT(same(type_made_by([] { return std::unique_ptr<Plain>(new Plain); }), "(unknown type)"));
    // One block is a Nested, and the one that its constructor asked for is not.
    const std::string nested = type_made_by([] { return std::make_unique<Nested>(); });
    EXPECT(same(nested, "(unknown type); zoo::Nested") || same(nested, "(unknown type)"));
}

void said_by_the_program()
{
    const heapmark::Generation g = heapmark::mark("said");
    void* first = std::malloc(40);
    void* second = std::malloc(40);
    EXPECT(HEAPMARK_TYPE(first, std::map<int, Plain>));
    EXPECT(HEAPMARK_TYPE(second, Plain));
    EXPECT(!HEAPMARK_TYPE(static_cast<char*>(first) + 16, Plain));
    EXPECT(!HEAPMARK_TYPE(&first, Plain));
    const auto type_at = [&](const void* address) {
        for (const heapmark::Group& group : heapmark::survivors(g).group_by(heapmark::by_type))
            for (const heapmark::Block& block : group)
                if (block.address == address) return std::string(group.label());
        return std::string("no block");
    };
    EXPECT(same(type_at(first), "std::map<int, Plain>"));
    EXPECT(same(type_at(second), "Plain"));
    EXPECT(heapmark::set_type(second, ""));
    EXPECT(same(type_at(second), "(unknown type)"));
    std::ostringstream text;
    text << heapmark::explain(heapmark::survivors(g));
    EXPECT(text.str().find("std::map<int, Plain>, 40 bytes") != std::string::npos);

    // Another birth in its place has no type.
    std::free(first);
    heapmark::mark("later");
    void* again = std::malloc(40);
    EXPECT(same(type_at(again), "(unknown type)"));
    std::free(again);
    std::free(second);

    // Types of the dead are dropped, those of the living are kept.
    void* kept = std::malloc(70);
    EXPECT(HEAPMARK_TYPE(kept, Shape));
    for (int i = 0; i < 5000; ++i) {
        void* block = opaque(std::malloc(opaque(30)));
        EXPECT(HEAPMARK_TYPE(block, Plain));
        std::free(block);
    }
    EXPECT(same(type_at(kept), "Shape"));
    std::free(kept);
}

} // namespace

int main()
{
    proved_by_the_stack();
    told_by_the_vtable();
    told_by_the_coroutine();
    not_known();
    said_by_the_program();
    return verdict();
}
