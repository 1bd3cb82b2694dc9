// SPDX-License-Identifier: BSL-1.0
// What is told while traces are read: warnings, and a log for those who want one.
#pragma once

#include "match/place.hpp"

#include <string_view>

namespace heapmark::match {

/// How much is logged; each says all that the one before it says.
enum class Verbosity : std::uint8_t {
    warnings,
    events,  ///< each allocation and release
    records, ///< and each record, and what is being done
    matched, ///< and the lines that had records
    lines,   ///< and all other lines
};

class Listener {
public:
    explicit Listener(Verbosity verbosity) noexcept : verbosity_(verbosity) {}
    [[nodiscard]] bool wants(Verbosity verbosity) const noexcept { return verbosity_ >= verbosity; }

    virtual void warn(Place place, std::string_view text) = 0;
    virtual void log(Place place, std::string_view text) = 0;

protected:
    ~Listener() = default;

private:
    Verbosity verbosity_;
};

} // namespace heapmark::match
