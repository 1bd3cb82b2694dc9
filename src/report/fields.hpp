// SPDX-License-Identifier: BSL-1.0
// Records of named fields for programs to read: TSV and JSON.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace heapmark::report {

struct Field {
    Field(std::string_view its_key, std::string_view text) : key(its_key), value(text) {}
    Field(std::string_view its_key, std::integral auto number)
        : key(its_key), value(std::to_string(number)), is_number(true)
    {}

    std::string_view key; ///< must live on
    std::string value;
    bool is_number = false;
};
using Record = std::vector<Field>;

/// The keys of `example`, then a line a record. Blanks take the place of tabs and line ends in values.
[[nodiscard]] std::string tsv_lines(const Record& example, const std::vector<Record>& records);

/// With the quotation marks.
[[nodiscard]] std::string quoted_for_json(std::string_view text);
[[nodiscard]] std::string json_object(const Record& record);
/// An object a line.
[[nodiscard]] std::string json_array(const std::vector<Record>& records);

} // namespace heapmark::report
