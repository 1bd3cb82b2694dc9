// SPDX-License-Identifier: BSL-1.0
// Every row of the unwind tables of all libraries in this process; then the same bytes with garbage in them.
#include "capture/expression.hpp"
#include "capture/module_tables.hpp"
#include "capture/rule.hpp"
#include "platform/safe_read.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <link.h>
#include <random>
#include <string>
#include <sys/mman.h>
#include <vector>

using namespace heapmark::capture;
using heapmark::platform::Module;

namespace {

struct Share {
    unsigned long rows = 0;
    unsigned long complex = 0;
    unsigned long failed = 0;
    unsigned long misplaced = 0; ///< that the search does not find
};

bool is_common_entry(const std::uint8_t* entry)
{
    std::uint32_t words[2];
    std::memcpy(words, entry, sizeof words);
    return words[0] == 0 || words[1] == 0;
}

Share examine(const UnwindTables& tables)
{
    Share share;
    for (const std::uint8_t* entry = first_entry(tables); entry != nullptr; entry = next_entry(tables, entry)) {
        if (is_common_entry(entry)) continue;
        FrameDescription description;
        if (!read_frame_description(tables, entry, description)) {
            ++share.failed;
            continue;
        }
        FrameDescription found;
        if (!find_frame_description(tables, description.begin, found) || found.begin != description.begin ||
            !find_frame_description(tables, description.end - 1, found) || found.begin != description.begin)
            ++share.misplaced;
        for (std::uintptr_t at = description.begin; at < description.end;) {
            Row row;
            ++share.rows;
            if (!find_row(description, at, row) || row.end <= at) {
                ++share.failed;
                break;
            }
            if (compile_rule(tables, at).kind() == Rule::complex) ++share.complex;
            at = row.end;
        }
    }
    return share;
}

int add_module(dl_phdr_info* info, std::size_t, void* data)
{
    for (int i = 0; i < info->dlpi_phnum; ++i)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X) != 0) {
            const Module* module = heapmark::platform::module_at(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
            if (module != nullptr) static_cast<std::vector<const Module*>*>(data)->push_back(module);
            break;
        }
    return 0;
}

std::vector<const Module*> loaded_modules()
{
    std::vector<const Module*> modules;
    dl_iterate_phdr(add_module, &modules);
    return modules;
}

/// A copy of a module's tables that ends right before a page that may not be read and begins right behind another, as
/// nearly as its size allows: reading one byte past the end faults.
class GuardedCopy {
public:
    explicit GuardedCopy(const UnwindTables& from) : bytes_(static_cast<std::size_t>(from.end - from.begin))
    {
        pages_bytes_ = (bytes_ + page - 1) / page * page;
        void* all = mmap(nullptr, pages_bytes_ + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(all != MAP_FAILED);
        all_ = static_cast<std::uint8_t*>(all);
        REQUIRE(mprotect(all_ + page, pages_bytes_, PROT_READ | PROT_WRITE) == 0);
        begin_ = all_ + page + (pages_bytes_ - bytes_);
        REQUIRE(
            heapmark::platform::safe_read(from.begin, begin_, bytes_)); // not memcpy: sanitizers guard what is there
        tables_ = {begin_ + (from.header - from.begin), begin_, begin_ + bytes_};
    }
    ~GuardedCopy() { munmap(all_, pages_bytes_ + 2 * page); }
    GuardedCopy(const GuardedCopy&) = delete;
    GuardedCopy& operator=(const GuardedCopy&) = delete;

    [[nodiscard]] const UnwindTables& tables() const { return tables_; }
    [[nodiscard]] std::uint8_t* writable(const std::uint8_t* place) const { return begin_ + (place - begin_); }

private:
    static constexpr std::size_t page = 4096;
    std::size_t bytes_;
    std::size_t pages_bytes_ = 0;
    std::uint8_t* all_ = nullptr;
    std::uint8_t* begin_ = nullptr;
    UnwindTables tables_{};
};

const Module& this_program() { return *heapmark::platform::module_at(reinterpret_cast<std::uintptr_t>(&this_program)); }

} // namespace

TEST_CASE("every row of every loaded library can be read, and nearly all fit a compact rule")
{
    unsigned with_tables = 0;
    for (const Module* module : loaded_modules()) {
        CAPTURE(std::string(module->path));
        const UnwindTables tables = tables_of(*module);
        if (first_entry(tables) == nullptr) continue;
        const Share share = examine(tables);
        CHECK(share.failed == 0);
        CHECK(share.misplaced == 0);
        if (share.rows > 10000) CHECK(static_cast<double>(share.complex) / static_cast<double>(share.rows) < 0.02);
        with_tables += share.rows > 0 ? 1 : 0;
        MESSAGE(share.rows, " rows, ", share.complex, " complex");
    }
    CHECK(with_tables >= 4); // the program, libstdc++, libc, the loader
}

TEST_CASE("tables without a search table are read through")
{
    const GuardedCopy copy(tables_of(this_program()));
    copy.writable(copy.tables().header)[3] = PointerEncoding::omitted;
    const Share share = examine(copy.tables());
    CHECK(share.rows > 50);
    CHECK(share.failed == 0);
    CHECK(share.misplaced == 0);
}

TEST_CASE("broken tables: nothing outside them is read")
{
    const GuardedCopy copy(tables_of(this_program()));
    const UnwindTables& tables = copy.tables();
    std::vector<const std::uint8_t*> entries;
    std::vector<std::uintptr_t> addresses;
    for (const std::uint8_t* entry = first_entry(tables); entry != nullptr; entry = next_entry(tables, entry)) {
        entries.push_back(entry);
        FrameDescription description;
        if (read_frame_description(tables, entry, description)) addresses.push_back(description.end - 1);
    }
    REQUIRE(addresses.size() > 10);
    std::mt19937 random(42);
    const auto any_of = [&](const auto& list) { return list[random() % list.size()]; };
    unsigned compiled = 0;
    for (int round = 0; round < 100000; ++round) {
        const std::uint8_t* near = round % 8 == 0 ? tables.header : any_of(entries);
        std::uint8_t* changed[4];
        std::uint8_t kept[4];
        const unsigned changes = 1 + random() % 4;
        for (unsigned i = 0; i < changes; ++i) {
            changed[i] = copy.writable(near) + random() % 32;
            if (changed[i] >= tables.end) changed[i] = copy.writable(tables.end) - 1;
            kept[i] = *changed[i];
            *changed[i] = static_cast<std::uint8_t>(random() % 4 == 0 ? 0xff : random());
        }
        FrameDescription description;
        Row row;
        if (read_frame_description(tables, near, description) && find_row(description, description.end - 1, row))
            ++compiled;
        compile_rule(tables, any_of(addresses));
        const auto bytes = static_cast<std::size_t>(tables.end - tables.begin);
        const UnwindTables cut{tables.header, tables.begin, tables.begin + random() % bytes};
        compile_rule(cut, any_of(addresses));
        for (unsigned i = changes; i-- > 0;) *changed[i] = kept[i];
    }
    CHECK(compiled > 0);
    CHECK(examine(tables).failed == 0); // everything was put back
}

TEST_CASE("expressions of garbage end, and read no memory that is not there")
{
    std::mt19937_64 random(11);
    std::vector<std::uint8_t> code;
    unsigned evaluated = 0;
    int local = 0;
    for (int round = 0; round < 200000; ++round) {
        code.resize(random() % 24);
        for (std::uint8_t& byte : code) byte = static_cast<std::uint8_t>(random() % 0x98);
        RegisterFile registers{};
        for (unsigned i = 0; i < arch::register_count; i += 2)
            registers.set(i, i % 4 == 0 ? reinterpret_cast<std::uintptr_t>(&local) : random());
        StackWindow window({});
        std::uint64_t result = 0;
        const std::uint64_t initial = random();
        if (evaluate({code.data(), code.data() + code.size()}, registers, window, &initial, result)) ++evaluated;
    }
    CHECK(evaluated > 1000);
}
