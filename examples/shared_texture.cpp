// SPDX-License-Identifier: BSL-1.0
// Resources that are no heap blocks: a texture that two users share, one of whom never lets go of it.
#include <heapmark/heapmark.hpp>

#include <iostream>

namespace {

const void* load_texture(std::uintptr_t number)
{
    const void* texture = heapmark::handle(number); // of a driver that heapmark knows nothing of
    heapmark::track(texture, 4096, "texture");
    return texture;
}

class Sprite {
public:
    explicit Sprite(const void* texture) : texture_(texture) { heapmark::retain(texture_, "texture", this); }
    Sprite(const Sprite&) = delete;
    Sprite& operator=(const Sprite&) = delete;
    ~Sprite() { heapmark::release(texture_, "texture", this); }

private:
    const void* texture_;
};

void warm_cache(const void* texture) { heapmark::retain(texture, "texture", "cache"); }

void draw_frame()
{
    const void* texture = load_texture(7);
    const Sprite sprite(texture);
    warm_cache(texture);
}

} // namespace

int main()
{
    const heapmark::Generation g = heapmark::mark("draw_frame");
    draw_frame();
    const heapmark::Snapshot textures = heapmark::tracked(g);
    const heapmark::Snapshot references = heapmark::references(g);
    std::cout << "What was not given back:\n" << textures << "Who still holds a reference:\n" << references;
    return textures.size() == 1 && references.size() == 1 ? 0 : 1;
}
