// SPDX-License-Identifier: BSL-1.0
// A reading of the accounts.
#pragma once

#include <heapmark/accounting.hpp>

namespace heapmark::snapshot {

/// The caller holds a Guard.
[[nodiscard]] Accounting read_accounts();

} // namespace heapmark::snapshot
