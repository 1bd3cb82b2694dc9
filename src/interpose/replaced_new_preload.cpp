// SPDX-License-Identifier: BSL-1.0
// Preload library only: who else defines operator new and delete.
#include "interpose/replaced_new.hpp"

#include "platform/next_symbol.hpp"
#include "platform/raw_write.hpp"

#include <atomic>

namespace heapmark::interpose {
namespace {

constexpr const char* mangled_names[] = {"_Znwm",  "_Znam",  "_ZnwmSt11align_val_t",  "_ZnamSt11align_val_t",
                                         "_ZdlPv", "_ZdaPv", "_ZdlPvSt11align_val_t", "_ZdaPvSt11align_val_t"};

enum class Answer : std::uint8_t { unasked, ours, replaced };
constinit std::atomic<Answer> answers[std::size(mangled_names)]{};

[[gnu::cold, gnu::noinline]] Answer look_up(const char* mangled) noexcept
{
    // By module, not by address: a program at a fixed address that takes the operator's address gives it another one.
    const link_map* own = platform::own_link_map();
    for (const link_map* module = _r_debug.r_map; module != nullptr && module != own; module = module->l_next)
        if (platform::function_in(*module, mangled) != nullptr) return Answer::replaced;
    return Answer::ours;
}

} // namespace

bool replaced(BaseForm form) noexcept
{
    const auto index = static_cast<std::size_t>(form);
    Answer answer = answers[index].load(std::memory_order_relaxed);
    if (answer == Answer::unasked) [[unlikely]] {
        answer = look_up(mangled_names[index]);
        answers[index].store(answer, std::memory_order_relaxed);
    }
    return answer == Answer::replaced;
}

void* operator_below(const char* mangled) noexcept
{
    const link_map* where = nullptr;
    return platform::next_function(mangled, where);
}

void* next_operator(const char* mangled) noexcept
{
    void* address = operator_below(mangled);
    if (address == nullptr) {
        platform::Line line;
        platform::die(line << "no definition of " << mangled << " below heapmark's own, which is out of memory");
    }
    return address;
}

} // namespace heapmark::interpose
