// SPDX-License-Identifier: BSL-1.0
#include "program/test_results.hpp"

#include <pugixml.hpp>

#include <stdexcept>
#include <string_view>

namespace heapmark::program {
namespace {

struct Wanted {
    std::string_view name;
    std::uint64_t Used::*member;
};
constexpr Wanted wanted[] = {{"heapmark_allocations", &Used::allocations},
                             {"heapmark_allocated_bytes", &Used::allocated_bytes},
                             {"heapmark_peak_bytes", &Used::peak_bytes}};

/// All test cases, however deep their suites.
class Collector final : public pugi::xml_tree_walker {
public:
    explicit Collector(TestResults& results) : results_(results) {}

    bool for_each(pugi::xml_node& node) override
    {
        if (std::string_view(node.name()) != "testcase") return true;
        Used used;
        bool found = false;
        for (const pugi::xml_node property : node.child("properties").children("property"))
            for (const Wanted& each : wanted)
                if (each.name == property.attribute("name").value()) {
                    used.*each.member = property.attribute("value").as_ullong();
                    found = true;
                }
        if (!found) return true;
        // heapmark's own file has the whole name in one.
        const std::string suite = node.attribute("classname").value();
        results_[(suite == "heapmark" ? "" : suite + ".") + node.attribute("name").value()] = used;
        return true;
    }

private:
    TestResults& results_;
};

} // namespace

TestResults read_test_results(const std::string& path)
{
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_file(path.c_str());
    if (!parsed)
        throw std::runtime_error(path + ": " + parsed.description() +
                                 (parsed.offset > 0 ? " at byte " + std::to_string(parsed.offset) : std::string()) +
                                 "; XML of Google Test or of HEAPMARK_OPTIONS=junit=FILE is needed");
    TestResults results;
    Collector collector(results);
    document.traverse(collector);
    if (results.empty())
        throw std::runtime_error(path +
                                 ": no test has the property heapmark_allocations; run the tests with heapmark, and " +
                                 "--gtest_output=xml:FILE or HEAPMARK_OPTIONS=junit=FILE");
    return results;
}

} // namespace heapmark::program
