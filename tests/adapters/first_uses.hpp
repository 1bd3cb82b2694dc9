// SPDX-License-Identifier: BSL-1.0
// Uses what allocates at its first use and keeps it. None of that is a test's.
#pragma once

#include <heapmark/adapter.hpp>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <filesystem>
#include <future>
#include <iomanip>
#include <iostream>
#include <locale>
#include <mutex>
#include <netdb.h>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#ifdef HEAPMARK_TEST_GMOCK
#include <gmock/gmock.h>
#endif

/// With libc++ the thread of std::async goes on for a while after get(), and what it was started with is left as long:
/// held, and so no finding but under Policy::survivors.
inline bool async_leaves_nothing()
{
#ifdef _LIBCPP_VERSION
    const heapmark::TestSession* session = heapmark::TestSession::current();
    return session == nullptr || session->options().policy != heapmark::Policy::survivors;
#else
    return true;
#endif
}

/// How many of them did what they should.
inline int first_uses()
{
    int done = 0;
    std::cout << "text " << 3.25 << std::endl;
    std::ostringstream out;
    out.imbue(std::locale(""));
    const std::time_t now = 1'000'000'000;
    out << std::put_time(std::localtime(&now), "%c %Z") << 1234567.5;
    done += out.str().empty() ? 0 : 1;
    done += std::regex_match("abc12", std::regex("[[:alpha:]]+[0-9]+")) ? 1 : 0;
    std::thread([&] {
        thread_local std::string text;
        text.assign(100, 'x');
        ++done;
    }).join();
    if (async_leaves_nothing()) done += std::async(std::launch::async, [] { return 1; }).get();
    static std::once_flag once;
    std::call_once(once, [&] { ++done; });
    try {
        throw std::runtime_error("a text that is long enough not to fit into the string itself");
    } catch (const std::exception&) {
        ++done;
    }
    addrinfo* found = nullptr;
    if (getaddrinfo("localhost", "80", nullptr, &found) == 0) freeaddrinfo(found);
    if (void* library = dlopen("libm.so.6", RTLD_NOW)) dlclose(library);
    done += std::filesystem::exists("/") ? 1 : 0;
#ifdef HEAPMARK_TEST_GMOCK
    {
        testing::MockFunction<int(const std::string&)> function; // Google Mock works in other frameworks, too
        EXPECT_CALL(function, Call(testing::HasSubstr("text"))).WillOnce(testing::Return(1));
        done += function.AsStdFunction()("a text that is long enough not to fit into the string itself");
    }
#endif
    return done;
}
