// SPDX-License-Identifier: BSL-1.0
// A viewer that maps tiles of a picture, and gives one back only in part. Run it with HEAPMARK_OPTIONS=mappings=1.
#include <heapmark/heapmark.hpp>

#include <iostream>
#include <sys/mman.h>

namespace {

constexpr std::size_t tile_bytes = 64 * 1024;
constexpr std::size_t header_bytes = 4096;

char* map_tile()
{
    void* tile = mmap(nullptr, tile_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return static_cast<char*>(tile);
}

void show_tile()
{
    char* tile = map_tile();
    munmap(tile, tile_bytes);
}

void show_header()
{
    char* tile = map_tile();
    munmap(tile + header_bytes, tile_bytes - header_bytes);
}

} // namespace

int main()
{
    if (!heapmark::mappings_recorded()) {
        std::cout << "run this with HEAPMARK_OPTIONS=mappings=1\n";
        return 2;
    }
    const heapmark::Generation g = heapmark::mark("show picture");
    show_tile();
    show_header();
    const heapmark::Snapshot left = heapmark::mapped(g);
    std::cout << left;
    return left.size() == 1 && left.bytes() == header_bytes ? 0 : 1;
}
