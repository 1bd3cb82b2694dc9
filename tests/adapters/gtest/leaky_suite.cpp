// SPDX-License-Identifier: BSL-1.0
// Tests with seeded leaks. check_gtest.py knows what each must be told: a line that ends in "LEAKS <test>" is where.
#include <heapmark/gtest.hpp>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

void* volatile sink; // what is stored here and stored over again is lost

void lose(void* block)
{
    sink = block;
    sink = nullptr;
}

char* copy_of(const char* text)
{
    char* copy = new char[std::strlen(text) + 1]; // LEAKS Plain.HelperFunction Fixture.TearDownLeaks
    std::strcpy(copy, text);
    return copy;
}

TEST(Plain, Empty) {}

TEST(Faults, DoubleFree)
{
    char* volatile text = copy_of("freed"); // volatile: lest the compiler sees through it
    delete[] text;
    delete[] text; // FAULT Faults.DoubleFree freed a block twice
    SUCCEED();     // or the release could be a jump
}

TEST(Faults, WrongDelete)
{
    char* volatile text = copy_of("freed");
    std::free(text); // FAULT Faults.WrongDelete released a block of new[] with free
    SUCCEED();
}

TEST(Plain, New)
{
    lose(new int(1)); // LEAKS Plain.New
}

TEST(Plain, Malloc)
{
    for (int i = 0; i < 3; ++i) lose(std::malloc(10)); // LEAKS Plain.Malloc
}

TEST(Plain, HelperFunction) { lose(copy_of("helper")); }

TEST(Plain, Library)
{
    lose(strdup("strdup")); // LEAKS Plain.Library
}

TEST(Plain, TwoSites)
{
    lose(new long(1));       // LEAKS Plain.TwoSites
    lose(std::malloc(1000)); // LEAKS Plain.TwoSites
}

TEST(Plain, StandardLibrary)
{
    lose(new std::string(100, 'x')); // LEAKS Plain.StandardLibrary
}

TEST(Plain, Cycle)
{
    struct Node {
        std::shared_ptr<Node> next;
    };
    auto a = std::make_shared<Node>();  // LEAKS Plain.Cycle
    a->next = std::make_shared<Node>(); // LEAKS Plain.Cycle
    a->next->next = a;
}

TEST(Plain, ChildThread)
{
    std::thread([] { lose(std::malloc(77)); }).join(); // LEAKS Plain.ChildThread
}

TEST(Plain, FailsToo)
{
    lose(new int(2)); // LEAKS Plain.FailsToo
    ADD_FAILURE() << "its own failure";
}

TEST(Plain, Throws)
{
    lose(new int(3)); // LEAKS Plain.Throws
    throw std::runtime_error("thrown");
}

TEST(Plain, Skips)
{
    lose(new int(4)); // LEAKS Plain.Skips
    GTEST_SKIP() << "for a reason that is told in a text long enough not to fit into the string itself";
}

class Fixture : public testing::Test {
protected:
    Fixture() : of_constructor_(new int(1)), kept_(new int(2)) {} // LEAKS Fixture.ConstructorLeaks
    ~Fixture() override
    {
        delete kept_;
        if (!forgets_) delete of_constructor_;
    }
    void TearDown() override
    {
        if (leaks_in_tear_down_) lose(copy_of("tear down"));
    }

    int* of_constructor_;
    int* kept_;
    bool forgets_ = false;
    bool leaks_in_tear_down_ = false;
};

TEST_F(Fixture, IsClean) {}
TEST_F(Fixture, ConstructorLeaks) { forgets_ = true; }
TEST_F(Fixture, TearDownLeaks) { leaks_in_tear_down_ = true; }

class SuiteSetUp : public testing::Test {
protected:
    static void SetUpTestSuite()
    {
        shared_ = new std::vector<int>(100);
        lose(std::malloc(55)); // LEAKS suite SuiteSetUp
    }
    static void TearDownTestSuite()
    {
        delete shared_;
        shared_ = nullptr;
    }
    static inline std::vector<int>* shared_ = nullptr;
};

TEST_F(SuiteSetUp, UsesIt) { EXPECT_EQ(shared_->size(), 100U); }
TEST_F(SuiteSetUp, UsesItAgain) { EXPECT_EQ(shared_->size(), 100U); }

class Environment : public testing::Environment {
public:
    void SetUp() override
    {
        lose(std::malloc(99)); // LEAKS environment
        released_ = std::make_unique<int>(1);
    }
    void TearDown() override { released_.reset(); }

private:
    std::unique_ptr<int> released_;
};
const auto* const environment = testing::AddGlobalTestEnvironment(new Environment);

class Numbers : public testing::TestWithParam<int> {};
TEST_P(Numbers, LeakAtTwo)
{
    if (GetParam() == 2) lose(std::malloc(12)); // LEAKS All/Numbers.LeakAtTwo/1
}
INSTANTIATE_TEST_SUITE_P(All, Numbers, testing::Values(1, 2, 3));

template <class T>
class Typed : public testing::Test {};
using Types = testing::Types<int, double>;
TYPED_TEST_SUITE(Typed, Types);
TYPED_TEST(Typed, LeaksOneOfEach)
{
    lose(new TypeParam{}); // LEAKS Typed/0.LeaksOneOfEach Typed/1.LeaksOneOfEach
}

// Held: no leak where holders are looked for.
std::vector<int*> registry;
TEST(Held, ByGlobal)
{
    registry.push_back(new int(6)); // SURVIVES Held.ByGlobal
}
TEST(Held, ByStatic)
{
    static const std::string text(100, 'x'); // SURVIVES Held.ByStatic
    EXPECT_EQ(text.size(), 100U);
}

TEST(Expected, AnyLeak)
{
    HEAPMARK_EXPECT_LEAK("it is known");
    lose(new int(1));
}
TEST(Expected, MendedLeak)
{
    HEAPMARK_EXPECT_LEAK("it is mended"); // LEAKS Expected.MendedLeak
}
TEST(Expected, ExactlyTwo)
{
    HEAPMARK_EXPECT_LEAK("two are known", "copy_of", 2);
    lose(copy_of("a"));
    lose(copy_of("b"));
}
TEST(Expected, OneOfTwo)
{
    HEAPMARK_EXPECT_LEAK("two were known", "copy_of", 2); // LEAKS Expected.OneOfTwo
    lose(copy_of("a"));
}
struct Guest {
    virtual ~Guest() = default;
    int number = 0;
};
TEST(Expected, OfAType)
{
    HEAPMARK_EXPECT_LEAK("two guests are known", "type:(anonymous namespace)::Guest", 2);
    lose(new Guest);
    lose(new Guest);
}
TEST(Expected, OneOfAType)
{
    HEAPMARK_EXPECT_LEAK("two guests were known", "type:(anonymous namespace)::Guest", 2); // LEAKS Expected.OneOfAType
    lose(new Guest);
}
TEST(Expected, OthersAreNot)
{
    HEAPMARK_EXPECT_LEAK("one is known", "copy_of");
    lose(copy_of("a"));
    lose(new int(5)); // LEAKS Expected.OthersAreNot
}

} // namespace
