// SPDX-License-Identifier: BSL-1.0
// Compares a text with tests/golden/<name>, byte for byte. HEAPMARK_GOLDEN=collect in the environment writes the files
// instead, for a change that is meant: look at their diff before committing it.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace heapmark::test {

inline void check_golden(const std::string& name, const std::string& text)
{
    const std::string path = std::string(HEAPMARK_GOLDEN_FOLDER) + "/" + name;
    const char* const mode = std::getenv("HEAPMARK_GOLDEN");
    if (mode != nullptr && std::string_view(mode) == "collect") {
        std::ofstream(path, std::ios::binary) << text;
        return;
    }
    std::ifstream file(path, std::ios::binary);
    REQUIRE_MESSAGE(file.good(), "no file " << path << "; HEAPMARK_GOLDEN=collect writes it");
    std::stringstream wanted;
    wanted << file.rdbuf();
    CHECK_MESSAGE(text == wanted.str(), path << " holds\n" << wanted.str() << "\nbut the text is\n" << text);
}

} // namespace heapmark::test
