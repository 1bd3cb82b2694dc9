// SPDX-License-Identifier: BSL-1.0
// Accounting as people and programs read it, byte by byte.
#include "../analyse/invented_names.hpp"
#include "analyse/accounts.hpp"
#include "golden.hpp"
#include "report/accounting.hpp"

using namespace heapmark;
using namespace heapmark::test;

namespace {

struct Kernel {
    InventedNames names;
    Stacks stacks;
    Frame dup = names.call("dup_task_struct", "/src/kernel/fork.c", 171, "/boot/vmlinux");
    Frame load = names.calls(
        {{"reserve", "std::vector<int>::reserve(unsigned long)", "/usr/include/vector.tcc", 70, false, true},
         {"Table::load(char const*)", "Table::load(char const*)", "/src/a\tb.cpp", 12, false, false}},
        "/opt/plugins/\"codec\".so.3");
    Frame main = names.call("main", "/src/main.cpp", 7, "/src/app/program");
    Frame start = names.call("_start", {}, 0, "/src/app/program");
    Frame unnamed = names.call("", {}, 0, "/opt/plugins/libcodec.so.3");
    Frame nowhere = names.call("", {}, 0, "");

    Kernel()
    {
        names.set_return_offset(dup, 0x39);
        names.set_return_offset(load, 0x1c0);
        names.set_return_offset(main, 0x5);
    }

    static Account row(Stack stack, std::uint64_t total, std::uint64_t slack, std::int64_t net,
                       std::uint64_t allocations, std::uint64_t frees, std::uint64_t peak)
    {
        Account account;
        account.stack = stack;
        account.total_bytes = total;
        account.slack_bytes = slack;
        account.net_bytes = net;
        account.allocations = allocations;
        account.frees = frees;
        account.peak_bytes = peak;
        return account;
    }

    Accounting typical()
    {
        Accounting accounting;
        accounting.key = AccountingKey::callers;
        accounting.rows = {row(stacks.of({load}), 98'304, 4'096, 0, 24, 24, 65'536),
                           row(stacks.of({dup}), 16'842'752, 0, 212'992, 4'112, 4'060, 300'000),
                           row(stacks.of({unnamed}), 64, 24, 64, 1, 0, 64),
                           row(stacks.of({nowhere}), 48, 0, -16, 1, 2, 80),
                           row({}, 1'234'567'890'123, 9, 32, 1'234'567, 1'234'566, 1'000'000'000)};
        accounting.callers = 4;
        accounting.unrecorded_callers = 1'234'567;
        accounting.unrecorded_allocations = 3;
        accounting.unknown_frees = 2;
        analyse::complete(accounting);
        return accounting;
    }

    std::string table(const Accounting& accounting, AccountingForm form, std::size_t most_rows = 0)
    {
        return report::accounting_table(accounting, form, most_rows, names);
    }
};

} // namespace

TEST_CASE("the header")
{
    const Accounting accounting = Kernel().typical();
    check_golden("accounting_header.txt", report::accounting_header(accounting, AccountingForm::text));
    check_golden("accounting_header.tsv", report::accounting_header(accounting, AccountingForm::tsv));
    check_golden("accounting_header.json", report::accounting_header(accounting, AccountingForm::json));
}

TEST_CASE("the table: aligned for people, with most net bytes first")
{
    Kernel kernel;
    check_golden("accounting_table.txt", kernel.table(kernel.typical(), AccountingForm::text));
    check_golden("accounting_table_short.txt", kernel.table(kernel.typical(), AccountingForm::text, 2));
    check_golden("accounting_table.tsv", kernel.table(kernel.typical(), AccountingForm::tsv));
    check_golden("accounting_table.json", kernel.table(kernel.typical(), AccountingForm::json));
}

TEST_CASE("a long caller is cut in its middle, for people alone, and no column moves")
{
    Kernel kernel;
    const std::string name =
        "std::_Rb_tree<...>::_M_emplace_hint_unique<int&, std::unique_ptr<char []>>(int&, Grüße&&)";
    const Frame insert = kernel.names.call(name, "/usr/include/stl_tree.h", 7, "/src/app/program");
    kernel.names.set_return_offset(insert, 0x24);
    Accounting accounting = kernel.typical();
    accounting.rows.push_back(Kernel::row(kernel.stacks.of({insert}), 10, 0, 10, 1, 0, 10));
    const std::string table = kernel.table(accounting, AccountingForm::text);

    const std::size_t column = table.find("module\n");
    std::size_t lines = 0;
    for (std::size_t begin = 0; begin < table.size(); begin = table.find('\n', begin) + 1) {
        CHECK(table.substr(begin + column - 2, 2) == "  ");
        CHECK(table[begin + column] != ' ');
        ++lines;
    }
    CHECK(lines == 7);
    CHECK(table.find("  std::_Rb_tree<...>::_M_em") != std::string::npos);
    CHECK(table.find("(int&, Grüße&&)+0x24  program\n") != std::string::npos);
    CHECK(table.find(name) == std::string::npos);
    CHECK(kernel.table(accounting, AccountingForm::tsv).find(name) != std::string::npos);
    CHECK(kernel.table(accounting, AccountingForm::json).find(name) != std::string::npos);
}

TEST_CASE("stacks: who called the caller, up to main")
{
    Kernel kernel;
    Accounting accounting;
    accounting.key = AccountingKey::stacks;
    accounting.rows = {Kernel::row(kernel.stacks.of({kernel.load, kernel.main, kernel.start}), 100, 4, 100, 1, 0, 100),
                       Kernel::row(kernel.stacks.of({kernel.load, kernel.dup, kernel.dup, kernel.dup, kernel.main}), 60,
                                   0, 60, 2, 0, 60)};
    check_golden("accounting_stacks.txt", kernel.table(accounting, AccountingForm::text));
}

TEST_CASE("modules")
{
    Kernel kernel;
    const std::vector<ModuleAccount> modules = analyse::by_module(kernel.typical(), kernel.names);
    check_golden("accounting_modules.txt", report::module_table(modules, AccountingForm::text));
    check_golden("accounting_modules.json", report::module_table(modules, AccountingForm::json));
}

TEST_CASE("no rows")
{
    Kernel kernel;
    CHECK(kernel.table({}, AccountingForm::text) == "   total    slack      net alloc/free  caller  module\n");
    CHECK(kernel.table({}, AccountingForm::json) == "[]\n");
    CHECK(
        kernel.table({}, AccountingForm::tsv) ==
        "total_bytes\tslack_bytes\tnet_bytes\tpeak_bytes\tallocations\tfrees\tfunction\toffset\tmodule\tmodule_offset\t"
        "file\tline\tstack\n");
}

TEST_CASE("differences leave out what nothing happened to")
{
    Kernel kernel;
    const Accounting before = kernel.typical();
    Accounting after = before;
    for (Account& row : after.rows)
        if (row.caller() == kernel.dup) {
            row.total_bytes += 100;
            row.net_bytes -= 200;
            ++row.allocations;
            row.frees += 3;
        }
    after.rows.push_back(Kernel::row(kernel.stacks.of({kernel.main}), 8, 0, 8, 1, 0, 8));
    after.unknown_frees += 5;
    const Accounting between = analyse::difference(after, before);
    REQUIRE(between.rows.size() == 2);
    CHECK(between.callers == 2);
    CHECK(between.rows[0].caller() == kernel.main);
    CHECK(between.rows[1].net_bytes == -200);
    CHECK(between.rows[1].total_bytes == 100);
    CHECK(between.rows[1].peak_bytes == 300'000);
    CHECK(between.net_bytes == -192);
    CHECK(between.allocations == 2);
    CHECK(between.frees == 3);
    CHECK(between.unknown_frees == 5);
    CHECK(between.unrecorded_callers == 0);
    CHECK(analyse::difference(before, before).rows.empty());
}
