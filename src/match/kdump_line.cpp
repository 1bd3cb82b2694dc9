// SPDX-License-Identifier: BSL-1.0
// The records are printed by FreeBSD's usr.bin/kdump/utrace.c and, before FreeBSD 7, by its malloc users' own scripts:
//     malloc_init()   0xADDR = malloc(N)   0xADDR = realloc(0xOLD, N)   free(0xADDR)
#include "match/kdump_line.hpp"

#include <charconv>

namespace heapmark::match {
namespace {

using What = KdumpLine::What;

constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r'; }
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_name_character(char c) noexcept
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

/// Reads a text from its front; what does not fit leaves it where it is.
class Reader {
public:
    explicit Reader(std::string_view text) noexcept : at_(text.data()), end_(at_ + text.size()) {}

    void skip_blanks() noexcept
    {
        while (at_ != end_ && is_blank(*at_)) ++at_;
    }
    [[nodiscard]] bool at_end() noexcept
    {
        skip_blanks();
        return at_ == end_;
    }
    std::string_view word() noexcept
    {
        skip_blanks();
        const char* const begin = at_;
        while (at_ != end_ && !is_blank(*at_)) ++at_;
        return {begin, static_cast<std::size_t>(at_ - begin)};
    }
    std::string_view name() noexcept
    {
        const char* const begin = at_;
        while (at_ != end_ && is_name_character(*at_)) ++at_;
        return {begin, static_cast<std::size_t>(at_ - begin)};
    }
    bool take(char c) noexcept
    {
        if (at_ == end_ || *at_ != c) return false;
        ++at_;
        return true;
    }
    /// Of at most 64 bits, without a sign.
    bool number(std::uint64_t& value, int base = 10) noexcept
    {
        const auto result = std::from_chars(at_, end_, value, base);
        if (result.ec != std::errc{}) return false;
        at_ = result.ptr;
        return true;
    }
    bool address(std::uint64_t& value) noexcept { return take('0') && take('x') && number(value, 16); }
    [[nodiscard]] std::string_view rest() const noexcept { return {at_, static_cast<std::size_t>(end_ - at_)}; }

private:
    const char* at_;
    const char* end_;
};

/// "(0xOLD, N)" or "(N)", and nothing after it.
bool arguments(Reader& text, bool with_old, KdumpLine& line) noexcept
{
    if (!text.take('(')) return false;
    if (with_old) {
        if (!text.address(line.old) || !text.take(',')) return false;
        text.skip_blanks();
    }
    return text.number(line.bytes) && text.take(')') && text.at_end();
}

/// "0xADDR = malloc(N)" and its like; "0xADDR = dlopen(...)" is the loader's.
What result_record(Reader& text, KdumpLine& line) noexcept
{
    if (!text.address(line.address)) return What::malformed;
    text.skip_blanks();
    if (!text.take('=')) return What::malformed;
    text.skip_blanks();
    const std::string_view function = text.name();
    if (function == "malloc") return arguments(text, false, line) ? What::allocate : What::malformed;
    if (function == "realloc") {
        if (!arguments(text, true, line)) return What::malformed;
        return line.old == 0 ? What::allocate : What::reallocate;
    }
    return text.at_end() ? What::malformed : What::other;
}

What user_record(std::string_view record, KdumpLine& line) noexcept
{
    Reader text(record);
    text.skip_blanks();
    record = text.rest();
    if (record.starts_with("0x")) return result_record(text, line);
    if (record.starts_with("free(")) {
        text.name();
        text.take('(');
        return text.address(line.address) && text.take(')') && text.at_end() ? What::release : What::malformed;
    }
    if (record.starts_with("malloc_init")) return What::begin;
    return What::other;
}

bool is_fork(std::string_view name) noexcept
{
    return name == "fork" || name == "vfork" || name == "rfork" || name == "pdfork";
}

/// "fork", "exit(0)"
What call(std::string_view record) noexcept
{
    Reader text(record);
    text.skip_blanks();
    const std::string_view name = text.name();
    if (is_fork(name)) return What::fork_call;
    return name == "exit" || name == "_exit" || name == "sys_exit" ? What::exit : What::other;
}

/// "fork 4101/0x1005", "fork -1 errno 35", "execve JUSTRETURN"
What call_return(std::string_view record, KdumpLine& line) noexcept
{
    Reader text(record);
    text.skip_blanks();
    const std::string_view name = text.name();
    text.skip_blanks();
    std::uint64_t value = 0;
    if (is_fork(name)) {
        if (!text.number(value)) return What::fork_failed;
        line.child = static_cast<std::uint32_t>(value);
        return What::fork_return;
    }
    if (name == "execve" || name == "fexecve")
        return text.rest().starts_with("JUSTRETURN") || text.take('0') ? What::exec : What::other;
    return What::other;
}

/// USER, CALL, NAMI ...: kdump's names for kinds are capitals.
bool is_kind(std::string_view word) noexcept
{
    if (word.size() < 3) return false;
    for (const char c : word)
        if (c < 'A' || c > 'Z') return false;
    return true;
}

} // namespace

KdumpLine read_kdump_line(std::string_view line) noexcept
{
    KdumpLine read;
    Reader text(line);
    text.skip_blanks();
    if (text.rest().empty()) return read;
    const std::string_view first = text.rest();
    std::uint64_t process = 0;
    if (!text.number(process) || text.rest().empty() || !is_blank(text.rest().front())) {
        const What what = user_record(first, read);
        if (what != What::other) read.what = what; // alone on its line
        return read;
    }
    read.process = static_cast<std::uint32_t>(process);

    std::string_view kind = text.word(); // the thread, or the first part of the program's name
    const char* const names_begin = kind.data();
    const bool has_thread = !kind.empty() && kind.find_first_not_of("0123456789") == std::string_view::npos;
    const char* names_end = kind.data() + kind.size();
    read.program = {names_begin, static_cast<std::size_t>(names_end - names_begin)};
    unsigned words = 1;
    for (;;) {
        kind = text.word();
        if (kind.empty()) return read;
        if (is_kind(kind)) break;
        // A time belongs to no name: digits, and a point.
        const bool is_time = is_digit(kind.front()) && kind.find_first_not_of("0123456789.") == std::string_view::npos;
        if (has_thread && words == 1)
            read.program = kind;
        else if (!is_time)
            read.program = {read.program.data(),
                            static_cast<std::size_t>(kind.data() + kind.size() - read.program.data())};
        ++words;
    }
    read.what = What::other;
    if (kind == "USER")
        read.what = user_record(text.rest(), read);
    else if (kind == "CALL")
        read.what = call(text.rest());
    else if (kind == "RET")
        read.what = call_return(text.rest(), read);
    return read;
}

} // namespace heapmark::match
