// SPDX-License-Identifier: BSL-1.0
// Wrong releases as findings.
#pragma once

#include <heapmark/adapter.hpp>

#include <string>

namespace heapmark::adapters {

/// What a test did that ended in the fault.
Finding finding_of(const std::string& test, const Fault& fault, const std::string& source_root);

} // namespace heapmark::adapters
