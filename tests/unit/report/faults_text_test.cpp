// SPDX-License-Identifier: BSL-1.0
#include "../analyse/invented_names.hpp"
#include "golden.hpp"
#include "report/text.hpp"

using namespace heapmark;
using namespace heapmark::test;

namespace {

std::string text(const Faults& faults, analyse::Names& names)
{
    TextOptions options;
    options.plumbing = false;
    options.max_groups = 50;
    options.source_root.clear();
    return report::faults_text(faults, options, false, names);
}

} // namespace

TEST_CASE("no faults are one line")
{
    InventedNames names;
    CHECK(text({}, names) == "no faults\n");
}

TEST_CASE("each kind of fault in words")
{
    InventedNames names;
    Stacks stacks;
    names.generations[Generation{4}] = "load";
    const Frame main = names.call("main", "/src/main.cpp", 9);
    const Stack born = stacks.of({names.call("make()", "/src/make.cpp", 3), main});
    const Stack released = stacks.of({names.call("drop(int*)", "/src/drop.cpp", 5), main});

    Fault function;
    function.kind = Fault::Kind::mismatched_release;
    function.mismatch = Fault::Mismatch::function;
    function.thread = ThreadId{2};
    function.released_by = "delete";
    function.address = reinterpret_cast<void*>(0x5000);
    function.stack = released;
    function.birth = block_at(0x5000, 24, born, 4);
    function.birth.api = Api::operator_new_array;

    Fault size = function;
    size.mismatch = Fault::Mismatch::size;
    size.stated = 32;
    size.birth.api = Api::operator_new;

    Fault alignment = size;
    alignment.mismatch = Fault::Mismatch::alignment;
    alignment.stated = 64;
    alignment.birth.api = Api::operator_new_aligned;

    Fault twice = function;
    twice.kind = Fault::Kind::double_free;
    twice.mismatch = Fault::Mismatch::none;
    twice.released_by = "free";
    twice.birth.api = Api::malloc;

    Fault unknown = twice;
    unknown.kind = Fault::Kind::unknown_free;
    unknown.birth = {};

    Faults faults;
    faults.mismatched_releases = 4;
    faults.double_frees = 1;
    faults.unknown_frees = 3;
    faults.details = {function, size, function, alignment, twice, unknown};
    check_golden("faults.txt", text(faults, names));
}
