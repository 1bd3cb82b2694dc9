// SPDX-License-Identifier: BSL-1.0
// Findings and verdicts in the forms that continuous integration reads.
#pragma once

#include <heapmark/adapter.hpp>

#include <list>

namespace heapmark::adapters {

/// A line that GitHub turns into an annotation:
/// https://docs.github.com/actions/reference/workflow-commands-for-github-actions
[[nodiscard]] std::string github_annotation(const Finding& finding, const std::string& source_root);

/// A log in SARIF 2.1.0: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
[[nodiscard]] std::string sarif(const std::list<Finding>& findings, const std::string& source_root);

/// Of a test, or of a suite that left something.
struct NamedVerdict {
    std::string name;
    Verdict verdict;
};

/// JUnit XML: a test case each, with what it allocated and left as properties, and its findings as failures. Of verdicts
/// of one name the last.
[[nodiscard]] std::string junit(const std::list<NamedVerdict>& verdicts);

} // namespace heapmark::adapters
