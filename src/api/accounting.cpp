// SPDX-License-Identifier: BSL-1.0
// Accounting: start, readings, and writing them.
#include "api/printing.hpp"

#include "analyse/accounts.hpp"
#include "record/accounts.hpp"
#include "report/accounting.hpp"
#include "snapshot/accounts.hpp"
#include "symbolise/symbolise.hpp"

namespace heapmark {

Generation start_accounting(AccountingKey key) noexcept
{
    // The mark has each thread begin a context, which is accounted.
    return record::start_accounting(static_cast<record::AccountKey>(key)) ? mark("accounting") : current_generation();
}

Accounting accounting()
{
    const platform::Guard guard;
    Accounting reading = snapshot::read_accounts();
    analyse::complete(reading);
    return reading;
}

Accounting accounting(const Accounting& since)
{
    const platform::Guard guard;
    return analyse::difference(accounting(), since);
}

std::vector<ModuleAccount> accounting_by_module(const Accounting& accounting)
{
    const platform::Guard guard;
    return analyse::by_module(accounting, symbolise::process_names());
}

void write_header(std::ostream& out, const Accounting& accounting, AccountingForm form)
{
    write_to(out, [&] { return report::accounting_header(accounting, form); });
}

void write_table(std::ostream& out, const Accounting& accounting, AccountingForm form, std::size_t most_rows)
{
    write_to(out, [&] { return report::accounting_table(accounting, form, most_rows, symbolise::process_names()); });
}

void write_table(std::ostream& out, const std::vector<ModuleAccount>& modules, AccountingForm form)
{
    write_to(out, [&] { return report::module_table(modules, form); });
}

std::ostream& operator<<(std::ostream& out, const Accounting& accounting)
{
    write_to(out, [&] { return report::accounting_text(accounting, 0, symbolise::process_names()); });
    return out;
}

int print(const Accounting& accounting, std::FILE* out)
{
    const platform::Guard guard;
    return write_to(out, report::accounting_text(accounting, 0, symbolise::process_names()));
}

} // namespace heapmark
