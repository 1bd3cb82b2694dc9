// SPDX-License-Identifier: BSL-1.0
// Faults are counted without end, and the first ones kept, whole, also when threads collide.
#include "record/faults.hpp"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using namespace heapmark::record;

TEST_CASE("counts are exact; kept details are whole")
{
    std::vector<std::thread> threads;
    std::atomic<bool> go{false};
    for (std::uint32_t number = 1; number <= 8; ++number)
        threads.emplace_back([&, number] {
            while (!go.load()) {}
            for (std::uint32_t i = 0; i < 100; ++i) {
                FaultDetail detail;
                detail.kind = FaultKind::double_free;
                detail.thread = number;
                detail.address = number * 1000 + i;
                detail.stated = number * 1000 + i;
                detail.birth_address = number * 1000 + i;
                count_fault(detail.kind);
                keep_fault(detail);
            }
        });
    go = true;
    for (std::thread& thread : threads) thread.join();
    CHECK(fault_count(FaultKind::double_free) == 800);
    CHECK(fault_count(FaultKind::unknown_free) == 0);
    std::vector<std::uint32_t> last(9, 0);
    for (std::size_t index = 0; index < kept_faults; ++index) {
        const FaultDetail* detail = kept_fault(index);
        REQUIRE(detail != nullptr);
        CHECK(detail->address / 1000 == detail->thread);
        CHECK(detail->stated == detail->address);
        CHECK(detail->birth_address == detail->address);
        const auto order = static_cast<std::uint32_t>(detail->address % 1000) + 1;
        CHECK(order > last[detail->thread]); // each thread's in its order, none twice
        last[detail->thread] = order;
    }
}
