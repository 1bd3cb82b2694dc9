// SPDX-License-Identifier: BSL-1.0
// Accounting as text, TSV and JSON; header and table apart. Functions of their arguments. The caller holds a Guard.
#pragma once

#include "analyse/names.hpp"

#include <heapmark/accounting.hpp>

#include <string>

namespace heapmark::report {

[[nodiscard]] std::string accounting_header(const Accounting& accounting, AccountingForm form);

/// `most_rows`: 0 for all.
[[nodiscard]] std::string accounting_table(const Accounting& accounting, AccountingForm form, std::size_t most_rows,
                                           analyse::Names& names);

/// Both in the form for people.
[[nodiscard]] std::string accounting_text(const Accounting& accounting, std::size_t most_rows, analyse::Names& names);

[[nodiscard]] std::string module_table(const std::vector<ModuleAccount>& modules, AccountingForm form);

} // namespace heapmark::report
