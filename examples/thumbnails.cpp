// SPDX-License-Identifier: BSL-1.0
// The plugin that plugin_leftovers.cpp loads: it keeps a table for ever, and a picture that it should have dropped.
#include <cstring>

namespace {

int* brightness_table = nullptr;

[[gnu::noinline]] int* brightness()
{
    if (brightness_table == nullptr) brightness_table = new int[256]();
    return brightness_table;
}

[[gnu::noinline]] char* decode(const char* picture)
{
    char* pixels = new char[5000];
    std::memset(pixels, picture[0], 5000);
    return pixels;
}

} // namespace

extern "C" __attribute__((visibility("default"))) int thumbnail(const char* picture)
{
    char* pixels = decode(picture);
    const int shown = pixels[0] + brightness()[0];
    if (shown > 'm') return 0; // too bright: the pixels stay
    delete[] pixels;
    return shown;
}
