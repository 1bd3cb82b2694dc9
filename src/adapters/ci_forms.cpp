// SPDX-License-Identifier: BSL-1.0
#include "adapters/ci_forms.hpp"

#include "report/fields.hpp"
#include "suppress/named_stack.hpp"

#include <map>

namespace heapmark::adapters {

namespace {

using report::quoted_for_json;

/// Escapes of workflow commands; in properties, ':' and ',' separate.
std::string escaped_for_github(std::string_view text, bool property)
{
    std::string out;
    for (const char c : text) {
        if (c == '%')
            out += "%25";
        else if (c == '\r')
            out += "%0D";
        else if (c == '\n')
            out += "%0A";
        else if (property && c == ':')
            out += "%3A";
        else if (property && c == ',')
            out += "%2C";
        else
            out += c;
    }
    return out;
}

/// For a value in quotation marks; line ends are kept, and control characters, which XML cannot have, are left out.
std::string escaped_for_xml(std::string_view text)
{
    std::string out;
    for (const char c : text) {
        switch (c) {
        case '&': out += "&amp;"; break;
        case '<': out += "&lt;"; break;
        case '>': out += "&gt;"; break;
        case '"': out += "&quot;"; break;
        case '\n': out += "&#10;"; break;
        default:
            if (static_cast<unsigned char>(c) >= 0x20) out += c;
        }
    }
    return out;
}

std::string property(std::string_view name, std::uint64_t value)
{
    return "        <property name=\"heapmark_" + std::string(name) + "\" value=\"" + std::to_string(value) + "\"/>\n";
}

std::string test_case(const NamedVerdict& named)
{
    const auto& [name, verdict] = named;
    std::string out =
        "    <testcase classname=\"heapmark\" name=\"" + escaped_for_xml(name) + "\">\n      <properties>\n";
    out += property("allocations", verdict.used.blocks) + property("allocated_bytes", verdict.used.bytes) +
           property("peak_bytes", verdict.used.peak_bytes) + property("blocks", verdict.left.blocks) +
           property("bytes", verdict.left.bytes) + "      </properties>\n";
    // The file has the last run alone, so it tells what earlier ones have told.
    std::vector<Finding> failures = verdict.failures;
    std::erase_if(failures, [](const Finding& finding) { return finding.told_before; });
    failures.insert(failures.end(), verdict.repeated.begin(), verdict.repeated.end());
    for (const Finding& finding : failures)
        out += "      <failure type=\"" + escaped_for_xml(finding.rule) + "\" message=\"" +
               escaped_for_xml(finding.title) + "\">" + escaped_for_xml(finding.text) + "</failure>\n";
    return out + "    </testcase>\n";
}

/// A path as a URI reference: RFC 3986 lets these characters stand as they are.
std::string as_uri(std::string_view path)
{
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/+@";
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string out = path.substr(0, 1) == "/" ? "file://" : "";
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        if (plain.find(c) != std::string_view::npos)
            out += c;
        else
            ((out += '%') += digits[byte >> 4]) += digits[byte & 15];
    }
    return out;
}

std::string location(std::string_view file, unsigned line, std::string_view message, std::string_view source_root)
{
    std::string out = R"({"physicalLocation":{"artifactLocation":{"uri":)";
    out += quoted_for_json(as_uri(suppress::below(source_root, file))) + "}";
    if (line != 0) out += R"(,"region":{"startLine":)" + std::to_string(line) + "}";
    out += "}";
    if (!message.empty()) out += R"(,"message":{"text":)" + quoted_for_json(message) + "}";
    return out + "}";
}

std::string result(const Finding& finding, const std::string& source_root)
{
    std::string out = R"({"ruleId":)" + quoted_for_json(finding.rule) + R"(,"level":"error","message":{"text":)";
    out += quoted_for_json(finding.title + "\n" + finding.text) + "}";
    if (!finding.file.empty()) out += R"(,"locations":[)" + location(finding.file, finding.line, "", source_root) + "]";
    if (!finding.blocks.empty()) {
        const suppress::NamedStack& stack = suppress::names_of(finding.blocks[0].stack);
        std::string frames;
        for (std::size_t i = stack.site; i < stack.end; ++i) {
            const Call& call = stack.calls[i]->call;
            if (call.file.empty()) continue;
            const std::string& function = call.short_function.empty() ? call.function : call.short_function;
            frames += (frames.empty() ? "" : ",") +
                      (R"({"location":)" + location(call.file, call.line, function, source_root)) + "}";
        }
        if (!frames.empty()) out += R"(,"stacks":[{"frames":[)" + frames + "]}]";
    }
    out += R"(,"properties":{"blocks":)" + std::to_string(finding.blocks.size());
    out += R"(,"bytes":)" + std::to_string(finding.blocks.bytes()) + "}}";
    return out;
}

} // namespace

std::string github_annotation(const Finding& finding, const std::string& source_root)
{
    std::string out = "::error ";
    if (!finding.file.empty()) {
        out += "file=" + escaped_for_github(suppress::below(source_root, finding.file), true) + ",";
        if (finding.line != 0) out += "line=" + std::to_string(finding.line) + ",";
    }
    return out + "title=" + escaped_for_github(finding.title, true) + "::" + escaped_for_github(finding.text, false) +
           "\n";
}

std::string sarif(const std::list<Finding>& findings, const std::string& source_root)
{
    std::string out = R"({"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[{"tool":)"
                      R"({"driver":{"name":"heapmark","rules":[{"id":"survivors","shortDescription":)"
                      R"({"text":"A test left memory behind"}},{"id":"faults","shortDescription":)"
                      R"({"text":"A test released memory wrongly"}}]}},"results":[)";
    std::string_view separator = "\n";
    for (const Finding& finding : findings) {
        (out += separator) += result(finding, source_root);
        separator = ",\n";
    }
    return out + "\n]}]}\n";
}

std::string junit(const std::list<NamedVerdict>& verdicts)
{
    std::map<std::string_view, const NamedVerdict*> last;
    for (const NamedVerdict& named : verdicts) last[named.name] = &named;
    std::string cases;
    std::size_t failed = 0;
    for (const NamedVerdict& named : verdicts) {
        if (last[named.name] != &named) continue;
        cases += test_case(named);
        failed += named.verdict.failed() ? 1 : 0;
    }
    const std::string numbers =
        " tests=\"" + std::to_string(last.size()) + "\" failures=\"" + std::to_string(failed) + "\"";
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + numbers + ">\n  <testsuite name=\"heapmark\"" +
           numbers + ">\n" + cases + "  </testsuite>\n</testsuites>\n";
}

} // namespace heapmark::adapters
