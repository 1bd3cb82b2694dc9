// SPDX-License-Identifier: BSL-1.0
#include "../analyse/invented_names.hpp"
#include "report/words.hpp"

#include <heapmark/report.hpp>

#include <doctest/doctest.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

using namespace heapmark;

TEST_CASE("bytes in words")
{
    using report::bytes_in_words;
    CHECK(bytes_in_words(0) == "0 bytes");
    CHECK(bytes_in_words(1) == "1 byte");
    CHECK(bytes_in_words(1023) == "1,023 bytes");
    CHECK(bytes_in_words(1024) == "1.0 KiB");
    CHECK(bytes_in_words(1212) == "1.2 KiB");
    CHECK(bytes_in_words(1024 * 1024 - 1) == "1.0 MiB");
    CHECK(bytes_in_words(1024 * 1024 - 100) == "1023.9 KiB");
    CHECK(bytes_in_words(3ULL << 30) == "3.0 GiB");
    CHECK(bytes_in_words(~0ULL) == "16.0 EiB");
}

TEST_CASE("counts take a plural and thousands")
{
    CHECK(report::count_of(0, "block") == "0 blocks");
    CHECK(report::count_of(1, "block") == "1 block");
    CHECK(report::count_of(999, "block") == "999 blocks");
    CHECK(report::count_of(1000, "block") == "1,000 blocks");
    CHECK(report::count_of(1234567, "block") == "1,234,567 blocks");
}

TEST_CASE("paths are made plain, and relative to the source root when below it")
{
    using report::shown_path;
    CHECK(shown_path("/a/b/./c/../d.cpp", "") == "/a/b/d.cpp");
    CHECK(shown_path("../x/d.cpp", "") == "../x/d.cpp");
    CHECK(shown_path("/../d.cpp", "") == "/../d.cpp");
    CHECK(shown_path("a//d.cpp", "") == "a/d.cpp");
    CHECK(shown_path("/src/app/d.cpp", "/src/app") == "d.cpp");
    CHECK(shown_path("/src/app/d.cpp", "/src/app//") == "d.cpp");
    CHECK(shown_path("/src/application/d.cpp", "/src/app") == "/src/application/d.cpp");
    CHECK(shown_path("/src/app/lib/../d.cpp", "/src/app/lib") == "/src/app/d.cpp");
    CHECK(shown_path("", "/src") == "");
}

TEST_CASE("a snapshot is written to streams and files alike, and colour only when asked for or on a terminal")
{
    Block block;
    block.size = 3;
    const Snapshot snapshot = Snapshot::of({block});
    TextOptions options;
    std::ostringstream stream;
    write_text(stream, snapshot, options);
    CHECK(stream.str().find("1 survivor, 3 bytes") == 0);

    char* text = nullptr;
    std::size_t size = 0;
    std::FILE* const file = open_memstream(&text, &size);
    CHECK(write_text(file, snapshot, options) == 0);
    std::fclose(file);
    CHECK(stream.str() == text);
    std::free(text);

    options.color = TextOptions::Color::always;
    std::ostringstream colored;
    write_text(colored, snapshot, options);
    CHECK(colored.str().find("\x1b[1m1 survivor") == 0);

    std::ostringstream inserted;
    inserted << Snapshot{};
    CHECK(inserted.str() == "no survivors in generation 0\n");
}

TEST_CASE("a failed write is an error value, and errno is kept")
{
    std::FILE* const full = std::fopen("/dev/full", "w");
    REQUIRE(full != nullptr);
    std::setvbuf(full, nullptr, _IONBF, 0);
    errno = 77;
    CHECK(write_text(full, Snapshot{}, TextOptions()) == ENOSPC);
    CHECK(errno == 77);
    std::fclose(full);
}

TEST_CASE("texts that are too long lose their middle")
{
    CHECK(report::cut_in_middle("as it is", 8) == "as it is");
    CHECK(report::cut_in_middle("abcdefghij", 9) == "abc...hij");
    CHECK(report::cut_in_middle("abcdefghij", 8) == "abc...ij");
    CHECK(report::cut_in_middle("äöüäöü", 7) == "ä...ü");
    CHECK(report::cut_in_middle("äöüäöü", 8) == "ä...ü");
    CHECK(report::cut_in_middle("abcdef", 2) == "abcdef");
}
