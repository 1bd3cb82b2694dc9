// SPDX-License-Identifier: BSL-1.0
// What the system says is mapped: /proc/self/maps.
#pragma once

#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

inline constexpr std::uintptr_t page_bytes = 4096;

/// Whether each page of [begin, end) is mapped.
inline std::vector<bool> mapped_pages(std::uintptr_t begin, std::uintptr_t end)
{
    std::string text;
    const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    char buffer[16384];
    for (ssize_t count = 0; (count = read(file, buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(count));
    close(file);
    std::vector<bool> pages((end - begin) / page_bytes);
    for (std::size_t line = 0; line < text.size(); line = text.find('\n', line) + 1) {
        unsigned long long first = 0;
        unsigned long long last = 0;
        if (std::sscanf(text.c_str() + line, "%llx-%llx", &first, &last) != 2) break;
        for (std::uintptr_t at = first < begin ? begin : first; at < last && at < end; at += page_bytes)
            pages[(at - begin) / page_bytes] = true;
    }
    return pages;
}
