// SPDX-License-Identifier: BSL-1.0
// Debug information read unit by unit tells of every address what it tells when all of it is read at once.
#include "symbolise/debug_info.hpp"
#include "symbolise/libbacktrace.hpp"

#include "platform/modules.hpp"
#include "platform/thread_state.hpp"

#include <doctest/doctest.h>

#include <link.h>
#include <string>
#include <string_view>
#include <vector>

using namespace heapmark;

namespace {

using Lines = std::vector<std::string>;

std::string line_of(const char* function, const char* file, unsigned line)
{
    std::string path = file == nullptr ? "" : file;
    // calls_at takes the folder of the compilation away from a whole path.
    if (const std::size_t joined = path.find("//"); joined != std::string::npos) path.erase(0, joined + 1);
    return (function == nullptr ? "?" : std::string(function)) + " " + path + ":" + std::to_string(line);
}

class Sink final : public symbolise::CallSink {
public:
    void call(const char* function, const char* file, unsigned line) override
    {
        lines.push_back(line_of(function, file, line));
    }
    Lines lines;
};

Lines by_units(const platform::Module& module, std::uintptr_t address)
{
    const platform::Guard guard;
    Sink sink;
    symbolise::calls_at(module, address - module.bias, sink);
    return sink.lines;
}

Lines by_whole(backtrace_state* state, std::uintptr_t address)
{
    Lines lines;
    const auto tell = [](void* data, std::uintptr_t, const char* file, int line, const char* function) {
        if (file != nullptr || function != nullptr)
            static_cast<Lines*>(data)->push_back(line_of(function, file, line > 0 ? static_cast<unsigned>(line) : 0));
        return 0;
    };
    heapmark_backtrace_pcinfo(
        state, address, tell, [](void*, const char*, int) {}, &lines);
    return lines;
}

/// The code of this program.
std::pair<std::uintptr_t, std::uintptr_t> own_code()
{
    std::pair<std::uintptr_t, std::uintptr_t> range;
    const auto find = [](dl_phdr_info* info, std::size_t, void* data) {
        for (int i = 0; i < info->dlpi_phnum; ++i)
            if (const ElfW(Phdr)& part = info->dlpi_phdr[i]; part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0)
                *static_cast<std::pair<std::uintptr_t, std::uintptr_t>*>(data) = {
                    info->dlpi_addr + part.p_vaddr, info->dlpi_addr + part.p_vaddr + part.p_memsz};
        return 1; // the program itself comes first
    };
    dl_iterate_phdr(find, &range);
    return range;
}

} // namespace

TEST_CASE("read unit by unit, debug information tells the same as read at once")
{
    const auto [begin, end] = own_code();
    const platform::Module* const module = platform::module_at(begin);
    REQUIRE(module != nullptr);
    backtrace_state* const state = heapmark_backtrace_create_state(
        module->path, 0, [](void*, const char*, int) {}, nullptr);
    symbolise::reads_units_alone = false;
    by_whole(state, begin - module->bias);
    symbolise::reads_units_alone = true;

    std::size_t compared = 0;
    std::size_t inlined = 0;
    std::size_t different = 0;
    constexpr std::uintptr_t step = 7;
    for (std::uintptr_t address = begin; address < end; address += step) {
        const Lines whole = by_whole(state, address - module->bias);
        const Lines units = by_units(*module, address);
        if (!whole.empty()) ++compared;
        if (whole.size() > 1) ++inlined;
        if (units != whole && ++different == 1) CHECK(units == whole); // one is enough to read
    }
    CHECK(different == 0);
    CHECK(compared > 10'000);
    CHECK(inlined > 1'000);
}
