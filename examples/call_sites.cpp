// SPDX-License-Identifier: BSL-1.0
// A record for each place that allocates, counted without looking at the stack: which places were used how often, and
// which never.
#include <heapmark/call_site.hpp>

#include <iostream>
#include <memory>
#include <string>

namespace {

struct Order {
    std::string customer;
    int items;
};

std::unique_ptr<Order> take_order(int items) { return std::unique_ptr<Order>(HEAPMARK_NEW(Order){"Ada", items}); }

char* print_receipt(const Order& order)
{
    const std::size_t bytes = order.customer.size() + 20;
    return static_cast<char*>(HEAPMARK_MALLOC(bytes));
}

double* audit(std::size_t orders) { return HEAPMARK_NEW_ARRAY(double, orders); }

} // namespace

int main(int argc, char**)
{
    for (int items = 1; items <= 1000; ++items) {
        const std::unique_ptr<Order> order = take_order(items);
        if (items % 100 == 0) std::free(print_receipt(*order));
    }
    if (argc > 1) delete[] audit(1000);
    const auto sites = heapmark::call_sites();
    std::cout << sites;
    return sites.size() == 3 && sites[0].calls == 1000 && sites[1].calls == 10 && sites[2].calls == 0 ? 0 : 1;
}
