// SPDX-License-Identifier: BSL-1.0
// A list of survivors says what is still there. This program asks why: which of them nothing can reach any more, and who
// holds the others.
#include <heapmark/heapmark.hpp>

#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace {

struct Session {
    virtual ~Session() = default;
    std::string user = "somebody with quite a long name";
};

struct Registry {
    std::vector<std::unique_ptr<Session>> sessions;
};

Registry registry;

struct Widget {
    std::shared_ptr<Widget> parent;
    std::shared_ptr<Widget> child;
};

[[gnu::noinline]] void open_sessions()
{
    for (int i = 0; i < 3; ++i) registry.sessions.push_back(std::make_unique<Session>());
}

[[gnu::noinline]] void build_dialog()
{
    auto window = std::make_shared<Widget>();
    window->child = std::make_shared<Widget>();
    window->child->parent = window; // should have been a weak_ptr
}

/// Clears what returned functions left on the stack, which would count as holders.
[[gnu::noinline]] void clear_dead_stack()
{
    char dead[8192];
    std::memset(dead, 0, sizeof dead);
    heapmark::escape(dead);
}

} // namespace

int main()
{
    registry.sessions.reserve(8);
    const heapmark::Generation before = heapmark::mark("one request");
    open_sessions();
    build_dialog();
    clear_dead_stack();

    const heapmark::Explanation why = heapmark::explain(heapmark::survivors(before));
    std::cout << why;
    return why.complete() && why.lost().size() == 2 && why.held().size() == 6 ? 0 : 1;
}
