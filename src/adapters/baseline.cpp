// SPDX-License-Identifier: BSL-1.0
#include "adapters/baseline.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <stdexcept>

namespace heapmark::adapters {

void Baseline::read(const std::string& path)
{
    std::ifstream file(path);
    if (!file.is_open() || file.peek() == std::ifstream::traits_type::eof())
        throw std::runtime_error("the baseline cannot be read from " + path + "; update_baseline=1 writes one");
    std::string line;
    for (unsigned number = 1; std::getline(file, line); ++number) {
        if (line.empty() || line.front() == '#') continue;
        const std::size_t first = line.find('\t');
        const std::size_t second = line.find('\t', first + 1);
        const std::string count = line.substr(0, first);
        if (second == std::string::npos || count.empty() || count.size() > 18 ||
            !std::all_of(count.begin(), count.end(), [](char c) { return c >= '0' && c <= '9'; }))
            throw std::runtime_error(path + ":" + std::to_string(number) +
                                     ": not a line of a baseline (blocks, test and site, with tabs between)");
        allowed_[{line.substr(first + 1, second - first - 1), line.substr(second + 1)}] = std::stoull(count);
    }
}

std::uint64_t Baseline::allowed(const std::string& test, const std::string& site) const
{
    const auto found = allowed_.find({test, site});
    return found == allowed_.end() ? 0 : found->second;
}

void Baseline::saw(const std::string& test, const std::string& site, std::uint64_t blocks)
{
    std::uint64_t& most = seen_[{test, site}];
    most = std::max(most, blocks);
}

std::string Baseline::shrinkable() const
{
    std::string lines;
    for (const auto& [key, count] : allowed_) {
        const auto found = seen_.find(key);
        const std::uint64_t now = found == seen_.end() ? 0 : found->second;
        if (now < count)
            lines += "  " + key.first + ", " + key.second + ": " + std::to_string(count) + " allowed, " +
                     std::to_string(now) + " left\n";
    }
    return lines;
}

int Baseline::write(const std::string& path) const
{
    std::ofstream file(path, std::ios::trunc);
    file << "# What tests leave at the moment: blocks, test, site. Lines and numbers should only go away.\n";
    for (const auto& [key, count] : seen_) file << count << '\t' << key.first << '\t' << key.second << '\n';
    file.close();
    return file.good() ? 0 : (errno == 0 ? EIO : errno);
}

} // namespace heapmark::adapters
