// SPDX-License-Identifier: BSL-1.0
// Tests that leave nothing, though they are the first to use what allocates once and keeps it. Run alone, each one is
// the first. The macros, too, where they hold.
#include <heapmark/gtest.hpp>

#include "../first_uses.hpp"

#include <array>
#include <atomic>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <future>
#include <iomanip>
#include <iostream>
#include <locale>
#include <map>
#include <mutex>
#include <netdb.h>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace {

TEST(FirstUse, Nothing) {}

TEST(FirstUse, Iostream)
{
    std::cout << "text " << 3.25 << ' ' << std::hex << 255 << std::dec << std::endl;
    std::cerr << "";
    std::ostringstream out;
    out << std::setprecision(3) << 1.0 / 3 << std::put_time(std::gmtime(std::array<std::time_t, 1>{0}.data()), "%c");
    EXPECT_FALSE(out.str().empty());
}

TEST(FirstUse, Stdio)
{
    std::printf("%s %g\n", "printf", 1.5);
    std::fflush(stdout);
    std::FILE* file = std::tmpfile();
    ASSERT_NE(file, nullptr);
    std::fprintf(file, "%d", 12);
    std::fclose(file);
}

TEST(FirstUse, Locale)
{
    std::locale here("");
    std::ostringstream out;
    out.imbue(here);
    out << 1234567.5;
    const std::locale mixed(std::locale::classic(), new std::numpunct<char>);
    out.imbue(mixed);
    out << 1234567.5 << true;
    std::setlocale(LC_ALL, "");
    std::setlocale(LC_ALL, "C.UTF-8");
    EXPECT_EQ(std::toupper('a', here), 'A');
}

TEST(FirstUse, Regex)
{
    EXPECT_TRUE(std::regex_match("abc123", std::regex("[[:alpha:]]+([0-9]+)", std::regex::icase)));
}

TEST(FirstUse, Thread)
{
    thread_local int counter = 0;
    std::atomic<int> sum{0};
    std::thread([&] { sum += ++counter; }).join();
    std::thread threads[4];
    for (auto& thread : threads) thread = std::thread([&] { sum += ++counter; });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(sum, 5);
}

TEST(FirstUse, ThreadLocalObject)
{
    std::thread([] {
        thread_local std::map<int, std::string> names;
        names[1] = "a text that does not fit into the string itself";
    }).join();
}

TEST(FirstUse, Async)
{
    if (async_leaves_nothing()) EXPECT_EQ(std::async(std::launch::async, [] { return 3; }).get(), 3);
    std::promise<std::string> promise;
    promise.set_value("done");
    EXPECT_EQ(promise.get_future().get(), "done");
}

TEST(FirstUse, Exceptions)
{
    EXPECT_THROW(throw std::runtime_error("a text that does not fit into the string itself"), std::runtime_error);
    std::exception_ptr kept;
    try {
        throw std::logic_error("kept");
    } catch (...) {
        kept = std::current_exception();
    }
    EXPECT_THROW(std::rethrow_exception(kept), std::logic_error);
    std::thread([] {
        try {
            throw 1;
        } catch (int) {}
    }).join();
}

TEST(FirstUse, CallOnce)
{
    static std::once_flag once;
    int calls = 0;
    std::call_once(once, [&] { ++calls; });
    std::call_once(once, [&] { ++calls; });
    EXPECT_EQ(calls, 1);
}

TEST(FirstUse, Getaddrinfo)
{
    addrinfo* found = nullptr;
    if (getaddrinfo("localhost", "80", nullptr, &found) == 0) freeaddrinfo(found);
    found = nullptr;
    if (getaddrinfo("127.0.0.1", nullptr, nullptr, &found) == 0) freeaddrinfo(found);
    static_cast<void>(getservbyname("http", "tcp"));
}

TEST(FirstUse, Localtime)
{
    setenv("TZ", "Europe/Vienna", 1);
    tzset();
    const std::time_t now = 1'000'000'000;
    const std::tm* local = std::localtime(&now);
    char text[64];
    EXPECT_GT(std::strftime(text, sizeof text, "%c %Z", local), 0U);
}

TEST(FirstUse, Dlopen)
{
    void* library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr);
    EXPECT_NE(dlsym(library, "cos"), nullptr);
    EXPECT_EQ(dlsym(library, "there is no such function"), nullptr);
    EXPECT_NE(dlerror(), nullptr);
    dlclose(library);
    EXPECT_EQ(dlopen("there-is-no-such-library.so", RTLD_NOW), nullptr);
    EXPECT_NE(dlerror(), nullptr);
    if (void* z = dlopen("libz.so.1", RTLD_NOW)) dlclose(z);
}

TEST(FirstUse, Filesystem)
{
    namespace fs = std::filesystem;
    const fs::path folder = fs::temp_directory_path() / ("heapmark-" + std::to_string(::getpid()));
    fs::create_directories(folder / "a" / "b");
    std::ofstream(folder / "a" / "file") << "text";
    int entries = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) entries += entry.exists() ? 1 : 0;
    EXPECT_EQ(entries, 3);
    fs::remove_all(folder);
}

TEST(FirstUse, GtestItself)
{
    SUCCEED() << "a text that is long enough not to fit into the string itself, so that it is allocated";
    RecordProperty("a_property", "a value that is long enough not to fit into the string itself");
    SCOPED_TRACE("a trace that is long enough not to fit into the string itself");
    EXPECT_EQ(testing::PrintToString(std::map<int, std::string>{{1, "a"}}), "{ (1, \"a\") }");
}

TEST(FirstUse, Skipped) { GTEST_SKIP() << "a reason that is long enough not to fit into the string itself"; }

TEST(FirstUse, BackgroundThread)
{
    // Not started by the test that it disturbs: nothing here may be blamed on the next test.
    SUCCEED();
}

TEST(MacroTest, NoSurvivors)
{
    EXPECT_NO_SURVIVORS({
        const std::string text(100, 'x');
        heapmark::escape(text.data());
    });
    ASSERT_NO_SURVIVORS(static_cast<void>(0));
}

TEST(MacroTest, Survivors)
{
    void* volatile block = nullptr;
    EXPECT_SURVIVORS(block = std::malloc(30), 1, 30);
    EXPECT_SURVIVORS(block = std::malloc(30), 1, testing::Le(100U));
    EXPECT_SURVIVORS(block = std::malloc(30), heapmark::gtest::Bytes(30U));
    EXPECT_SURVIVORS(block = std::malloc(30), heapmark::gtest::By("TestBody", heapmark::gtest::Blocks(1U)));
    using heapmark::gtest::Blocks;
    using heapmark::gtest::By;
    using heapmark::gtest::Bytes;
    using heapmark::gtest::Survivors;
    EXPECT_SURVIVORS(block = std::malloc(30),
                     Survivors(Blocks(1), Bytes(testing::Le(100U)), By("TestBody", Blocks(1))));
    static_cast<void>(block); // judged above: not judged again at the end

    const testing::Matcher<const heapmark::Snapshot&> both = Survivors(Blocks(1), Bytes(testing::Le(100U)));
    EXPECT_FALSE(both.Matches(heapmark::Snapshot{}));
    std::ostringstream text;
    both.DescribeTo(&text);
    EXPECT_EQ(text.str(), "number of blocks is equal to 1, and number of bytes is <= 100");
}

/// What a failing budget says: the macros report a failure of the test they are in.
testing::AssertionResult within(heapmark::gtest::detail::Budget budget, std::uint64_t limit)
{
    const heapmark::gtest::detail::Statement statement;
    for (int i = 0; i < 3; ++i) {
        const std::vector<char> bytes(1000 + 100 * static_cast<std::size_t>(i));
        heapmark::escape(bytes.data());
    }
    return heapmark::gtest::detail::within(budget, "the statement", statement.ended(), limit);
}

TEST(MacroTest, Budgets)
{
    int number = 0;
    EXPECT_NO_ALLOCATIONS(++number);
    const auto three = [] {
        for (int i = 0; i < 3; ++i) {
            const std::vector<char> bytes(1000 + 100 * static_cast<std::size_t>(i));
            heapmark::escape(bytes.data());
        }
    };
    EXPECT_ALLOCATIONS_LE(three(), 3);
    ASSERT_ALLOCATIONS_LE(three(), 100);
    EXPECT_PEAK_BYTES_LE(three(), 1200);
}

TEST(MacroTest, BudgetsOverdrawn)
{
    using heapmark::gtest::detail::Budget;
    EXPECT_TRUE(within(Budget::allocations, 3));
    EXPECT_TRUE(within(Budget::peak_bytes, 1200));
    const testing::AssertionResult many = within(Budget::allocations, 2);
    EXPECT_FALSE(many);
    const std::string text = many.message();
    EXPECT_NE(text.find("the statement\nmade 3 allocations of 3300 bytes, at most 1200 bytes at once\n"
                        "expected: at most 2 allocations\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("clean_suite.cpp:"), std::string::npos) << text; // a stack
    const std::string high = within(Budget::peak_bytes, 1199).message();
    EXPECT_NE(high.find("expected: at most 1199 bytes at once\n"), std::string::npos) << high;
}

using DeathTest = testing::Test;
TEST_F(DeathTest, ThreadsafeStyle)
{
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_DEATH(std::abort(), "");
    EXPECT_EXIT(std::exit(3), testing::ExitedWithCode(3), "");
}
TEST_F(DeathTest, FastStyle)
{
    testing::FLAGS_gtest_death_test_style = "fast";
    EXPECT_DEATH(std::abort(), "");
    EXPECT_EXIT(std::_Exit(3), testing::ExitedWithCode(3), "");
}

} // namespace
