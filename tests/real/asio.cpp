// SPDX-License-Identifier: BSL-1.0
// Boost.Asio: objects that keep each other alive.
#include "scenario.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/streambuf.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace asio = boost::asio;

namespace {

struct Connection {
    explicit Connection(asio::io_context& io) : timer(io) {}
    asio::steady_timer timer;
    std::function<void()> on_end;
    std::string name = "a text that is long enough not to fit into the string itself";
};

} // namespace

SCENARIO(Asio, Context)
{
    auto* io = new asio::io_context;
    asio::post(*io, [] {});
    EXPECT(io->run() == 1);
    if (!leaks) delete io;
}

SCENARIO(Asio, CallbackThatHoldsItsOwner)
{
    asio::io_context io;
    auto connection = std::make_shared<Connection>(io);
    std::weak_ptr<Connection> weak = connection;
    if (leaks)
        connection->on_end = [connection] { connection->name.clear(); };
    else
        connection->on_end = [weak] { weak.lock()->name.clear(); };
    connection->on_end();
    connection->timer.cancel();
}

SCENARIO(Asio, Handler)
{
    asio::io_context io;
    asio::steady_timer timer(io, std::chrono::microseconds(10));
    auto* state = new std::string(100, 'x');
    timer.async_wait([state, leaks](const boost::system::error_code&) {
        state->clear();
        if (!leaks) delete state;
    });
    EXPECT(io.run() == 1);
}

SCENARIO(Asio, Worker)
{
    asio::io_context io;
    asio::post(io, [leaks] {
        auto* message = new std::string(100, 'x');
        if (!leaks) delete message;
    });
    std::thread([&io] { io.run(); }).join();
}

SCENARIO(Asio, Buffer)
{
    auto* buffer = new asio::streambuf;
    std::ostream(buffer) << "text";
    EXPECT(buffer->size() == 4);
    if (!leaks) delete buffer;
}
