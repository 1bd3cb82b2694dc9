// SPDX-License-Identifier: BSL-1.0
// The oracle: what the compiler's unwinder tells of the stack from a frame outward.
#pragma once

#include <cstdint>
#include <unwind.h>

template <unsigned Capacity>
struct Unwound {
    std::uintptr_t from; ///< return address into the frame to begin with
    unsigned max_frames = Capacity;
    unsigned count = 0;
    bool reached = false; ///< that frame
    std::uintptr_t pcs[Capacity] = {};

    /// Innermost first, as heapmark keeps them.
    void take() noexcept { _Unwind_Backtrace(take_frame, this); }

private:
    static _Unwind_Reason_Code take_frame(_Unwind_Context* context, void* data)
    {
        auto& unwound = *static_cast<Unwound*>(data);
        int is_exact = 0;
        std::uintptr_t pc = _Unwind_GetIPInfo(context, &is_exact);
        if (is_exact != 0) ++pc; // a frame keeps the interrupted instruction plus one
        if (pc == unwound.from) unwound.reached = true;
        // Past the last frame libgcc shows a zero; end-of-stack is no frame to us.
        if (unwound.reached && pc > 1) unwound.pcs[unwound.count++] = pc;
        return unwound.count == unwound.max_frames ? _URC_END_OF_STACK : _URC_NO_REASON;
    }
};
