// SPDX-License-Identifier: BSL-1.0
// Accounts: sums, differences, and by module. Values to values; the caller holds a Guard.
#pragma once

#include "analyse/names.hpp"

#include <heapmark/accounting.hpp>

namespace heapmark::analyse {

/// Puts the rows in order, most net bytes first, and their sums into the header.
void complete(Accounting& accounting);

/// `newer` less `older`, without rows with which nothing happened. Completed.
[[nodiscard]] Accounting difference(const Accounting& newer, const Accounting& older);

/// Most net bytes first.
[[nodiscard]] std::vector<ModuleAccount> by_module(const Accounting& accounting, Names& names);

} // namespace heapmark::analyse
