// SPDX-License-Identifier: BSL-1.0
// The columns are those of Mackall's /proc/kmalloc (linux-kernel, 2005), with the module behind the caller.
#include "report/accounting.hpp"

#include "analyse/group.hpp"
#include "report/fields.hpp"
#include "report/words.hpp"

#include <algorithm>
#include <charconv>

namespace heapmark::report {

namespace {

Record counters_of(const Accounting& accounting)
{
    return {{"total_bytes", accounting.total_bytes},
            {"slack_bytes", accounting.slack_bytes},
            {"net_bytes", accounting.net_bytes},
            {"allocations", accounting.allocations},
            {"frees", accounting.frees},
            {"callers", accounting.callers},
            {"unrecorded_callers", accounting.unrecorded_callers},
            {"unrecorded_allocations", accounting.unrecorded_allocations},
            {"unknown_frees", accounting.unknown_frees}};
}

/// How the text form calls them.
constexpr std::string_view counter_names[] = {"total bytes allocated", "slack bytes allocated", "net bytes allocated",
                                              "number of allocs",      "number of frees",       "number of callers",
                                              "unrecorded callers",    "unrecorded allocs",     "unknown frees"};

/// "build_index(Document const&)+0x4f"; "libxml2.so.2+0x41" where no function is known.
std::string with_offset(const analyse::FrameNames& frame)
{
    std::string label = analyse::call_label(frame, frame.calls.back());
    if (frame.calls.back().short_function.empty() || frame.return_offset == 0) return label;
    char digits[16];
    label += "+0x";
    return label.append(digits, std::to_chars(digits, digits + sizeof digits, frame.return_offset, 16).ptr);
}

std::string module_name(std::string_view path)
{
    return path.empty() ? "(no module)" : std::string(analyse::file_name(path));
}

/// A line of the text form: the figures, and what they are of.
struct Line {
    const AccountFigures* figures;
    std::string caller; ///< empty in a table of modules
    std::string module;
};

std::string aligned(const std::vector<Line>& lines, bool callers)
{
    constexpr std::size_t narrow = 8; // the least width of a column of bytes
    std::size_t total = narrow;
    std::size_t slack = narrow;
    std::size_t net = narrow;
    std::size_t allocations = 5;
    std::size_t frees = 4;
    std::size_t caller = callers ? std::string_view("caller").size() : 0;
    for (const Line& line : lines) {
        total = std::max(total, std::to_string(line.figures->total_bytes).size());
        slack = std::max(slack, std::to_string(line.figures->slack_bytes).size());
        net = std::max(net, std::to_string(line.figures->net_bytes).size());
        allocations = std::max(allocations, std::to_string(line.figures->allocations).size());
        frees = std::max(frees, std::to_string(line.figures->frees).size());
        caller = std::max(caller, line.caller.size());
    }
    std::string out = right_aligned("total", total) + " " + right_aligned("slack", slack) + " " +
                      right_aligned("net", net) + " " + right_aligned("alloc", allocations) + "/" +
                      left_aligned("free", frees) + "  ";
    out += callers ? left_aligned("caller", caller) + "  module\n" : "module\n";
    for (const Line& line : lines) {
        out += right_aligned(std::to_string(line.figures->total_bytes), total) + " " +
               right_aligned(std::to_string(line.figures->slack_bytes), slack) + " " +
               right_aligned(std::to_string(line.figures->net_bytes), net) + " " +
               right_aligned(std::to_string(line.figures->allocations), allocations) + "/" +
               left_aligned(std::to_string(line.figures->frees), frees) + "  ";
        if (callers) out += left_aligned(line.caller, caller) + "  ";
        out += line.module + "\n";
    }
    return out;
}

/// Behind the module: who called the caller, as far as it helps to tell stacks apart.
std::string outer_callers(const Stack& stack, analyse::Names& names)
{
    constexpr std::size_t shown = 3;
    std::string out;
    for (std::size_t i = 1; i < stack.size() && i <= shown; ++i) {
        const analyse::FrameNames& frame = names.of_frame(stack[i]);
        out += (i == 1 ? "  < " : " < ") + analyse::call_label(frame, frame.calls.back());
        if (frame.calls.back().function == "main") break;
    }
    return out;
}

constexpr std::size_t longest_caller = 64; ///< the forms for programs have them whole

std::string text_table(const Accounting& accounting, std::size_t rows, analyse::Names& names)
{
    std::vector<Line> lines;
    for (std::size_t i = 0; i < rows; ++i) {
        const Account& row = accounting.rows[i];
        Line& line = lines.emplace_back(Line{&row, "(unknown)", "(no module)"});
        if (row.stack.empty()) continue;
        const analyse::FrameNames& frame = names.of_frame(row.caller());
        line.caller = cut_in_middle(with_offset(frame), longest_caller);
        line.module = module_name(frame.module) + outer_callers(row.stack, names);
    }
    std::string out = aligned(lines, true);
    if (rows < accounting.rows.size()) {
        AccountFigures rest;
        for (std::size_t i = rows; i < accounting.rows.size(); ++i) rest += accounting.rows[i];
        out += "and " + count_of(accounting.rows.size() - rows, "more row") + ": total " +
               std::to_string(rest.total_bytes) + ", net " + std::to_string(rest.net_bytes) + "\n";
    }
    return out;
}

Record figures_of(const AccountFigures& figures)
{
    return {{"total_bytes", figures.total_bytes}, {"slack_bytes", figures.slack_bytes},
            {"net_bytes", figures.net_bytes},     {"peak_bytes", figures.peak_bytes},
            {"allocations", figures.allocations}, {"frees", figures.frees}};
}

/// The function is the one that the return address lies in, whatever is inlined there, and the line is its own.
Record record_of(const Account& row, analyse::Names& names)
{
    static const analyse::FrameNames no_frame;
    static const analyse::CallName no_call;
    const analyse::FrameNames& frame = row.stack.empty() ? no_frame : names.of_frame(row.caller());
    const analyse::CallName& call = row.stack.empty() ? no_call : frame.calls.back();
    std::string stack;
    for (const Frame each : row.stack) {
        const analyse::FrameNames& its = names.of_frame(each);
        stack += (stack.empty() ? "" : " < ") + analyse::call_label(its, its.calls.back());
    }
    Record record = figures_of(row);
    record.emplace_back("function", call.function);
    record.emplace_back("offset", frame.return_offset);
    record.emplace_back("module", frame.module);
    record.emplace_back("module_offset", row.stack.empty() ? 0 : frame.offset + 1);
    record.emplace_back("file", call.file);
    record.emplace_back("line", call.line);
    record.emplace_back("stack", stack);
    return record;
}

Record record_of(const ModuleAccount& module)
{
    Record record = figures_of(module);
    record.emplace_back("callers", module.callers);
    record.emplace_back("module", module.module);
    return record;
}

std::string written(const Record& example, const std::vector<Record>& records, AccountingForm form)
{
    return form == AccountingForm::tsv ? tsv_lines(example, records) : json_array(records) + "\n";
}

} // namespace

std::string accounting_header(const Accounting& accounting, AccountingForm form)
{
    const Record counters = counters_of(accounting);
    if (form == AccountingForm::tsv) return tsv_lines(counters, {counters});
    if (form == AccountingForm::json) return json_object(counters) + "\n";
    std::string out;
    for (std::size_t i = 0; i < counters.size(); ++i)
        out += left_aligned(std::string(counter_names[i]) + ":", 24) + right_aligned(counters[i].value, 16) + "\n";
    return out;
}

std::string accounting_table(const Accounting& accounting, AccountingForm form, std::size_t most_rows,
                             analyse::Names& names)
{
    const std::size_t rows = most_rows == 0 ? accounting.rows.size() : std::min(accounting.rows.size(), most_rows);
    if (form == AccountingForm::text) return text_table(accounting, rows, names);
    std::vector<Record> records;
    for (std::size_t i = 0; i < rows; ++i) records.push_back(record_of(accounting.rows[i], names));
    return written(record_of(Account{}, names), records, form);
}

std::string accounting_text(const Accounting& accounting, std::size_t most_rows, analyse::Names& names)
{
    return accounting_header(accounting, AccountingForm::text) + "\n" +
           accounting_table(accounting, AccountingForm::text, most_rows, names);
}

std::string module_table(const std::vector<ModuleAccount>& modules, AccountingForm form)
{
    if (form == AccountingForm::text) {
        std::vector<Line> lines;
        for (const ModuleAccount& module : modules) lines.push_back({&module, "", module_name(module.module)});
        return aligned(lines, false);
    }
    std::vector<Record> records;
    for (const ModuleAccount& module : modules) records.push_back(record_of(module));
    return written(record_of(ModuleAccount{}), records, form);
}

} // namespace heapmark::report
