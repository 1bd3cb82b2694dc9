// SPDX-License-Identifier: BSL-1.0
// A library that allocates while it is loaded, and, dlopened, while it is unloaded.
#include <cstdlib>
#include <string>

extern "C" {
void* library_block = nullptr;
void* library_array = nullptr;
}

namespace {

struct Loaded {
    Loaded()
    {
        library_block = std::malloc(1001);
        library_array = new char[1002];
    }
    ~Loaded()
    {
        text.assign(5000, 'z'); // allocates on the way out
        text.clear();
        text.shrink_to_fit();
        std::free(library_block);
        delete[] static_cast<char*>(library_array);
    }
    std::string text;
} loaded;

} // namespace
