// SPDX-License-Identifier: BSL-1.0
// Suppressions as values: what is read, what is refused, what matches, and what is proposed.
#include <heapmark/suppressions.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <stdexcept>
#include <string>

namespace shop {

struct Shelf {
    static constexpr int put_line = __LINE__ + 3;
    [[gnu::noinline]] static void* put(std::size_t size)
    {
        void* block = std::malloc(size);
        heapmark::escape(block);
        return block;
    }
    [[gnu::noinline]] static void* label()
    {
        void* text = strdup("a label");
        heapmark::escape(text);
        return text;
    }
};

} // namespace shop

namespace {

/// A block from Shelf::put, with the stack that it has.
class OneBlock {
public:
    explicit OneBlock(void* (*make)() = [] { return shop::Shelf::put(24); }) : since_(heapmark::mark()), block_(make())
    {}
    ~OneBlock() { std::free(block_); }
    OneBlock(const OneBlock&) = delete;
    OneBlock& operator=(const OneBlock&) = delete;
    [[nodiscard]] heapmark::Snapshot snapshot() const
    {
        return heapmark::survivors(since_).filter(
            [this](const heapmark::Block& block) { return block.address == block_; });
    }

private:
    heapmark::Generation since_;
    void* block_;
};

bool suppresses(const std::string& text)
{
    const OneBlock block;
    heapmark::Suppressions suppressions;
    suppressions.add(text, "test");
    return suppressions.find(block.snapshot()[0]) != nullptr;
}

std::string complaint(const std::string& text)
{
    try {
        heapmark::Suppressions().add(text, "file.supp");
    } catch (const std::invalid_argument& mistake) {
        return mistake.what();
    }
    return "";
}

} // namespace

TEST_CASE("patterns stand for whole names, with * for any text and ? for any character")
{
    CHECK(suppresses("function:shop::Shelf::put"));
    CHECK(suppresses("function:put"));
    CHECK(suppresses("site:shop::*"));
    CHECK(suppresses("function:shop::Shelf::p?t"));
    CHECK(suppresses("file:suppressions.cpp"));
    CHECK(suppresses("leak:Shelf"));
    CHECK_FALSE(suppresses("function:shop::Shelf"));
    CHECK_FALSE(suppresses("function:shop::Shelf::pu?t"));
    CHECK_FALSE(suppresses("site:main"));
}

TEST_CASE("Valgrind's entries match frame by frame")
{
    const auto entry = [](const std::string& frames) { return "{\n  name\n  Memcheck:Leak\n" + frames + "}\n"; };
    CHECK(suppresses(entry("fun:malloc\nfun:_ZN4shop5Shelf3putEm\n")));
    CHECK(suppresses(entry("fun:malloc\nfun:_ZN4shop*\n...\nfun:main\n")));
    CHECK(suppresses(entry("...\nfun:main\n")));
    CHECK(suppresses(entry("fun:*\nobj:*\n")));
    CHECK(suppresses(entry("fun:malloc\nsrc:suppressions.cpp:" + std::to_string(shop::Shelf::put_line) + "\n")));
    CHECK(suppresses(entry("match-leak-kinds: definite,reachable\nfun:malloc\n")));
    CHECK(suppresses("{\n  other\n  Memcheck:Cond\n  fun:strlen\n}\n" + entry("fun:malloc\n")));
    CHECK_FALSE(suppresses(entry("fun:calloc\nfun:_ZN4shop5Shelf3putEm\n")));
    CHECK_FALSE(suppresses(entry("fun:malloc\nfun:_ZN4shop5Shelf3putEi\n")));
    CHECK_FALSE(suppresses(entry("fun:malloc\nfun:main\n")));
    CHECK_FALSE(suppresses(entry("fun:malloc\nsrc:suppressions.cpp:1\n")));
    CHECK_FALSE(suppresses(entry("...\nobj:*/libnever.so*\n")));
    CHECK_FALSE(suppresses("{\n  other\n  Helgrind:Race\n  fun:malloc\n}\n"));
}

TEST_CASE("what is no suppression is refused, with its place and the remedy")
{
    CHECK(complaint("function:ok\nnonsense\n").find("file.supp:2: \"nonsense\"") == 0);
    CHECK(complaint("site:\n").find("file.supp:1: the pattern is empty") == 0);
    CHECK(complaint("{\n").find("file.supp:1: the entry in Valgrind's form has no name") == 0);
    CHECK(complaint("{\nname\n}\n").find("file.supp:1: the entry in Valgrind's form has no kind") == 0);
    CHECK(complaint("{\nname\nMemcheck:Leak\n}\n").find("has no frames") != std::string::npos);
    CHECK(complaint("{\nname\nMemcheck:Leak\nmalloc\n}\n").find("has \"malloc\" on line 4") != std::string::npos);
    const std::string endless = complaint("\n{\nname\nMemcheck:Leak\nfun:malloc\n");
    CHECK(endless.find("file.supp:2: the entry in Valgrind's form does not end") == 0);
}

TEST_CASE("the reason is the comment before a line")
{
    heapmark::Suppressions suppressions;
    suppressions.add("# filled once,\n# and kept\nfunction:a\nfunction:b\n\n# of\n\nfunction:c\n", "test");
    REQUIRE(suppressions.list().size() == 3);
    CHECK(suppressions.list()[0].reason == "filled once, and kept");
    CHECK(suppressions.list()[0].origin == "test:3");
    CHECK(suppressions.list()[2].reason.empty());
    suppressions.add("function:d # behind it\n", "test");
    CHECK(suppressions.list()[3].pattern == "d");
    CHECK(suppressions.list()[3].reason == "behind it");
}

TEST_CASE("what is proposed for a snapshot suppresses it")
{
    const OneBlock block;
    const std::string proposed = heapmark::write_suppressions(block.snapshot());
    CHECK(proposed == "# 1 block, 24 bytes: shop::Shelf::put(unsigned long) at suppressions.cpp:" +
                          std::to_string(shop::Shelf::put_line) + "\nsite:shop::Shelf::put\n");
    CHECK(suppresses(proposed));
    const OneBlock label(shop::Shelf::label); // not every strdup
    CHECK(heapmark::write_suppressions(label.snapshot()).find("\nfunction:shop::Shelf::label\n") != std::string::npos);
}

TEST_CASE("the built-in list: what libraries keep is meant only where memory that is held is judged")
{
    heapmark::Suppressions suppressions;
    suppressions.add_built_in();
    for (const heapmark::Suppression& each : suppressions.list()) {
        CAPTURE(each.pattern);
        CHECK(each.built_in);
        CHECK_FALSE(each.reason.empty());
    }
    static void* made = nullptr;
    const OneBlock once([] {
        static pthread_once_t control = PTHREAD_ONCE_INIT;
        pthread_once(&control, [] { made = shop::Shelf::put(24); });
        return made;
    });
    CHECK(suppressions.find(once.snapshot()[0]) != nullptr);
    CHECK(suppressions.find(OneBlock().snapshot()[0]) == nullptr);
    suppressions.drop_only_held();
    CHECK(suppressions.find(once.snapshot()[0]) == nullptr);
}
