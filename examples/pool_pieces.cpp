// SPDX-License-Identifier: BSL-1.0
// A pool that takes its memory in large buffers: which pieces of it were not given back, and by whom they were taken. To
// malloc they are one block.
#include <heapmark/allocator.hpp>
#include <heapmark/pmr.hpp>

#include <iostream>

namespace {

struct Message {
    char text[100];
};

Message* receive(std::pmr::memory_resource& pool)
{
    return static_cast<Message*>(pool.allocate(sizeof(Message), alignof(Message)));
}

void answer(std::pmr::memory_resource& pool, Message* message) { pool.deallocate(message, sizeof(Message)); }

void serve(std::pmr::memory_resource& pool)
{
    Message* first = receive(pool);
    Message* second = receive(pool);
    answer(pool, first);
    static_cast<void>(second); // forgotten
}

} // namespace

int main()
{
    const heapmark::Generation g = heapmark::mark("serve");
    heapmark::pmr::resource buffers(std::pmr::new_delete_resource(), "buffer");
    std::pmr::monotonic_buffer_resource pool(4096, &buffers);
    heapmark::pmr::resource messages(&pool, "message");
    serve(messages);

    const heapmark::Snapshot all = heapmark::tracked(g);
    std::cout << all.filter([](const heapmark::Block& piece) { return piece.tag == "message"; })
              << "\nbytes: " << heapmark::outermost(all).bytes() << " of buffers, the message in one of them\n";

    using Allocator = heapmark::allocator<int>;
    const std::vector<int, Allocator> numbers(10, 7, Allocator("numbers"));
    std::cout << "numbers: " << heapmark::tracked(g).bytes() - all.bytes() << " bytes\n";
    return all.size() == 2 && heapmark::outermost(all).size() == 1 ? 0 : 1;
}
