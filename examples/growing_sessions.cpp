// SPDX-License-Identifier: BSL-1.0
// A server that forgets a session now and then, beside a cache that fills and then keeps its size: only the first keeps
// growing.
#include <heapmark/growth.hpp>

#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

struct Session {
    std::string user;
};

std::vector<std::unique_ptr<Session>> sessions;
std::map<int, std::string> pages;

void open_session(int request)
{
    sessions.push_back(
        std::make_unique<Session>(Session{"a user with a name of some length, number " + std::to_string(request)}));
}

void load_page(int page) { pages.emplace(page, std::string(1000, 'p')); }

void serve(int request)
{
    open_session(request);
    load_page(request * 7919 % 60);
    if (request % 10 != 0) sessions.pop_back(); // the tenth is forgotten
}

} // namespace

int main()
{
    sessions.reserve(1000);
    heapmark::GrowthWatch watch;
    for (int request = 0; request < 800; ++request) {
        serve(request);
        if (request % 20 == 0) watch.read();
    }
    std::cout << watch;
    for (const heapmark::Growth& growth : watch.growing())
        if (growth.site.find("load_page") != std::string_view::npos) return 1;
    return watch.growing().empty() ? 1 : 0;
}
