// SPDX-License-Identifier: BSL-1.0
// The baseline: how many blocks each test may leave by each site, until somebody mends it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace heapmark::adapters {

class Baseline {
public:
    /// Errors: std::runtime_error, naming the file and the line, when it cannot be read or a line is none.
    void read(const std::string& path);

    /// How many blocks may be left there.
    [[nodiscard]] std::uint64_t allowed(const std::string& test, const std::string& site) const;

    /// Notes what was left. The most of all repetitions counts.
    void saw(const std::string& test, const std::string& site, std::uint64_t blocks);

    /// Lines for what is in the file and was not seen as often; "" for none.
    [[nodiscard]] std::string shrinkable() const;

    /// Writes what was seen. Returns 0 or an errno value.
    [[nodiscard]] int write(const std::string& path) const;

private:
    using Counts = std::map<std::pair<std::string, std::string>, std::uint64_t>; // test and site
    Counts allowed_;
    Counts seen_;
};

} // namespace heapmark::adapters
