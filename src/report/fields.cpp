// SPDX-License-Identifier: BSL-1.0
#include "report/fields.hpp"

namespace heapmark::report {

namespace {

std::string plain(std::string text)
{
    for (char& c : text)
        if (c == '\t' || c == '\n' || c == '\r') c = ' ';
    return text;
}

} // namespace

std::string tsv_lines(const Record& example, const std::vector<Record>& records)
{
    std::string out;
    for (const Field& field : example) (out += out.empty() ? "" : "\t") += field.key;
    out += "\n";
    for (const Record& record : records) {
        std::string line;
        for (const Field& field : record) (line += &field == &record.front() ? "" : "\t") += plain(field.value);
        out += line + "\n";
    }
    return out;
}

std::string quoted_for_json(std::string_view text)
{
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\')
            (out += '\\') += c;
        else if (c == '\n')
            out += "\\n";
        else if (byte < 0x20)
            ((out += "\\u00") += digits[byte >> 4]) += digits[byte & 15];
        else
            out += c;
    }
    return out + '"';
}

std::string json_object(const Record& record)
{
    std::string out = "{";
    for (const Field& field : record) {
        if (out.size() > 1) out += ", ";
        out += quoted_for_json(field.key) + ": " + (field.is_number ? field.value : quoted_for_json(field.value));
    }
    return out + "}";
}

std::string json_array(const std::vector<Record>& records)
{
    std::string out = "[";
    for (const Record& record : records) out += (out.size() > 1 ? ",\n " : "\n ") + json_object(record);
    return out + (records.empty() ? "]" : "\n]");
}

} // namespace heapmark::report
