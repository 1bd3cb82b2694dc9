// SPDX-License-Identifier: BSL-1.0
// A record for each place in the source that allocates: made by the compiler, there before the place is reached, and
// counted without a look at the stack.
//
//     Node* node = HEAPMARK_NEW(Node)(1, "one");
//     char* text = static_cast<char*>(HEAPMARK_MALLOC(20));
//     for (const heapmark::CallSite& site : heapmark::call_sites()) std::cout << site.line << ' ' << site.calls << '\n';
//
// The blocks are released as usual: with delete, delete[] or free. Code with these macros needs heapmark only to ask.
#ifndef HEAPMARK_CALL_SITE_HPP
#define HEAPMARK_CALL_SITE_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iosfwd>
#include <string_view>
#include <vector>

namespace heapmark {

/// A place with one of the macros below, as it was when it was asked for.
struct CallSite {
    std::string_view file;       ///< as the compiler was told it; this and the other texts live as long as the process
    unsigned line = 0;           ///< from 1
    std::string_view function;   ///< that the place is in: "parse(const char*)"; of a template, which one
    std::string_view expression; ///< "new Node", "malloc"
    std::uint64_t calls = 0;     ///< since the process began, those that failed included
    std::uint64_t bytes = 0;     ///< asked for
};

/// All places in the program and its libraries, by file and line, also those that were never reached, and those of
/// libraries that were unloaded. A place in a header is one, whoever includes it. Places in plugins are listed when the
/// program exports its functions to them (-rdynamic, CMake's ENABLE_EXPORTS).
/// Shape: a place in a template or in an inline function is listed when the compiler makes code of it.
/// Threads: any; counts of calls made meanwhile may be missing. Heap path: allocates. Throws std::bad_alloc.
[[nodiscard]] std::vector<CallSite> call_sites();

/// One line a place: calls, bytes, file:line, function, expression.
std::ostream& operator<<(std::ostream& out, const std::vector<CallSite>& sites);

namespace detail {

/// What a place keeps. Constant-initialised, so that it counts before constructors have run.
struct CallSiteRecord {
    const char* file;
    const char* function; ///< as the compiler spells a function inside the one that is meant
    const char* expression;
    unsigned line;
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::uint64_t> bytes{0};
    CallSiteRecord* next = nullptr;

    constexpr CallSiteRecord(const char* in_file, unsigned at_line, const char* in_function, const char* what) noexcept
        : file(in_file), function(in_function), expression(what), line(at_line)
    {}

    CallSiteRecord& count(std::size_t size) noexcept
    {
        calls.fetch_add(1, std::memory_order_relaxed);
        bytes.fetch_add(size, std::memory_order_relaxed);
        return *this;
    }
};

// Weak: places count where heapmark is not linked, too. Visible: a program may export them to its plugins.
__attribute__((weak, visibility("default"))) void add_call_site(CallSiteRecord& site) noexcept;
__attribute__((weak, visibility("default"))) void remove_call_site(CallSiteRecord& site) noexcept;

/// Lists a record while its library is loaded.
struct CallSiteListing {
    explicit CallSiteListing(CallSiteRecord& site) noexcept : site_(site)
    {
        if (add_call_site != nullptr) add_call_site(site_);
    }
    ~CallSiteListing()
    {
        if (remove_call_site != nullptr) remove_call_site(site_);
    }
    CallSiteListing(const CallSiteListing&) = delete;
    CallSiteListing& operator=(const CallSiteListing&) = delete;

private:
    CallSiteRecord& site_;
};

// A linker section would do without the listing, but compilers refuse one to static variables of inline functions beside
// those of others (GCC bug 41091), and GCC before 14 forgets it in templates. Hidden: a variable that is unique in the
// process would keep its library from being unloaded.
template <class Place>
__attribute__((visibility("hidden"))) inline CallSiteRecord call_site_record{Place::file(), Place::line(),
                                                                             Place::function(), Place::expression()};
template <class Place>
__attribute__((visibility("hidden"))) inline CallSiteListing call_site_listing{call_site_record<Place>};

template <class Place>
CallSiteRecord& call_site() noexcept
{
    static_cast<void>(&call_site_listing<Place>); // a use, so that it is made
    return call_site_record<Place>;
}

/// Counts, and lets what is on the right be.
template <class T>
T* operator->*(CallSiteRecord&, T* block) noexcept
{
    return block;
}

template <class T>
T* new_array(CallSiteRecord& site, std::size_t count)
{
    site.count(count * sizeof(T));
    return new T[count];
}
inline void* counted_malloc(CallSiteRecord& site, std::size_t bytes) noexcept
{
    site.count(bytes);
    return std::malloc(bytes);
}
inline void* counted_calloc(CallSiteRecord& site, std::size_t count, std::size_t size) noexcept
{
    site.count(count * size);
    return std::calloc(count, size);
}
inline void* counted_realloc(CallSiteRecord& site, void* block, std::size_t bytes) noexcept
{
    site.count(bytes);
    return std::realloc(block, bytes);
}

} // namespace detail

} // namespace heapmark

/// The record of this place; the argument is a string literal. For macros of your own around an allocator of your own:
///     #define POOL_TAKE(n) (HEAPMARK_CALL_SITE("pool_take").count(n), pool_take(n))
/// Cost: count is two relaxed additions, some 10 ns.
#define HEAPMARK_CALL_SITE(what)                                                                                       \
    ([]() noexcept -> ::heapmark::detail::CallSiteRecord& {                                                            \
        struct Place {                                                                                                 \
            static constexpr const char* file() noexcept { return __FILE__; }                                          \
            static constexpr unsigned line() noexcept { return __LINE__; }                                             \
            static constexpr const char* function() noexcept { return __PRETTY_FUNCTION__; }                           \
            static constexpr const char* expression() noexcept { return what; }                                        \
        };                                                                                                             \
        return ::heapmark::detail::call_site<Place>();                                                                 \
    }())

/// HEAPMARK_NEW(T)(arguments...) is new T(arguments...). T is no array type.
#define HEAPMARK_NEW(...) HEAPMARK_CALL_SITE("new " #__VA_ARGS__).count(sizeof(__VA_ARGS__))->*new __VA_ARGS__
/// HEAPMARK_NEW_ARRAY(T, count) is new T[count]; where T has a comma, name it first.
#define HEAPMARK_NEW_ARRAY(T, count) ::heapmark::detail::new_array<T>(HEAPMARK_CALL_SITE("new " #T "[]"), (count))
#define HEAPMARK_MALLOC(bytes) ::heapmark::detail::counted_malloc(HEAPMARK_CALL_SITE("malloc"), (bytes))
#define HEAPMARK_CALLOC(count, size) ::heapmark::detail::counted_calloc(HEAPMARK_CALL_SITE("calloc"), (count), (size))
#define HEAPMARK_REALLOC(block, bytes)                                                                                 \
    ::heapmark::detail::counted_realloc(HEAPMARK_CALL_SITE("realloc"), (block), (bytes))

#endif
