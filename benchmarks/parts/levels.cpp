// SPDX-License-Identifier: BSL-1.0
// Compiled twice: as BENCH_LEVELS with_frame_pointers and without_frame_pointers.
#include "levels.hpp"

#include "../workloads/deep.hpp"

namespace bench::BENCH_LEVELS {

void descend_8(void (*function)(void*), void* argument) { descend<8>(function, argument); }
void descend_32(void (*function)(void*), void* argument) { descend<32>(function, argument); }

void descend_and_walk(void (*step)(void*), void* argument, bool (*goes_on)(void*))
{
    struct Step {
        void (*step)(void*);
        void* argument;
        bool (*goes_on)(void*);
    } all{step, argument, goes_on};
    descend<24>(
        [](void* given) {
            const Step& each = *static_cast<Step*>(given);
            std::uint64_t path = 1;
            while (each.goes_on(each.argument)) {
                path = path * 0x5851'f42d'4c95'7f2dU + 1;
                walk<8>(path >> 56, each.step, each.argument);
            }
        },
        &all);
}

} // namespace bench::BENCH_LEVELS
