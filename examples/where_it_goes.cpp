// SPDX-License-Identifier: BSL-1.0
// Where the memory of a server goes, while it runs: what each caller has allocated since the start, and what the last
// hundred requests added.
#include <heapmark/heapmark.hpp>

#include <iostream>
#include <map>
#include <memory>
#include <vector>

namespace {

struct Session {
    char user[40];
};

std::vector<std::unique_ptr<Session>> sessions;
std::map<int, std::unique_ptr<char[]>> pages;

[[gnu::noinline]] void open_session() { sessions.push_back(std::make_unique<Session>()); }

[[gnu::noinline]] void load_page(int page) { pages.emplace(page, std::make_unique<char[]>(1000)); }

[[gnu::noinline]] void write_answer()
{
    const auto text = std::make_unique<char[]>(20'000);
    heapmark::escape(text.get());
}

void serve(int request)
{
    open_session();
    if (pages.count(request % 60) == 0) load_page(request % 60);
    write_answer();
    if (request % 10 != 0) sessions.pop_back(); // the tenth is forgotten
}

} // namespace

int main()
{
    sessions.reserve(1000);
    heapmark::start_accounting();
    for (int request = 0; request < 300; ++request) serve(request);
    const heapmark::Accounting so_far = heapmark::accounting();
    std::cout << so_far;

    for (int request = 300; request < 400; ++request) serve(request);
    const heapmark::Accounting lately = heapmark::accounting(so_far);
    std::cout << "\nthe last hundred requests:\n";
    heapmark::write_table(std::cout, lately);

    // Ten sessions more, and nothing else.
    return lately.net_bytes == 10 * 40 && lately.rows.front().net_bytes == 10 * 40 ? 0 : 1;
}
