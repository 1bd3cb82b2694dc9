// SPDX-License-Identifier: BSL-1.0
#include "report/left_out.hpp"

#include "../analyse/invented_names.hpp"

#include <doctest/doctest.h>

using namespace heapmark;

namespace {

std::string text_of(const report::LeftOut& left_out)
{
    std::string out;
    left_out.append_to(out, report::Paint(false));
    return out;
}

} // namespace

TEST_CASE("the parts of a report share one line, and nothing is told twice")
{
    test::InventedNames names;
    TextOptions options;
    report::TextContext context{options, report::Paint(false), names};
    report::LeftOut left_out;
    CHECK(text_of(left_out).empty());
    left_out.add_folded_frames(context);
    CHECK(text_of(left_out).empty());

    context.frames_folded = true;
    left_out.add_folded_frames(context);
    left_out.add("3 groups", "max_groups=0");
    left_out.add("1 different fault", "max_groups=0");
    left_out.add("2 faults of which no details were kept", "");
    left_out.add("3 groups", "max_groups=0");
    left_out.add_folded_frames(context);
    CHECK(text_of(left_out) ==
          "\nleft out: 3 groups, 1 different fault, 2 faults of which no details were kept, frames of "
          "allocator, C++ library and start-up; HEAPMARK_OPTIONS=max_groups=0:plumbing=1 shows more\n");
}
