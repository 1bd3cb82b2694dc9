// SPDX-License-Identifier: BSL-1.0
// From what the record keeps of a fault to the public value.
#pragma once

#include "record/faults.hpp"

#include <heapmark/heapmark.hpp>

namespace heapmark {

Fault fault_of(const record::FaultDetail& detail) noexcept;

} // namespace heapmark
