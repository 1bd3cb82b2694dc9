// SPDX-License-Identifier: BSL-1.0
// First uses of Google Mock, which leave nothing; and a call that it warns of, unless --gmock_verbose says otherwise.
#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace {

using testing::_;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Return;

const std::string long_text = "a text that is long enough not to fit into the string itself";

class Guest {
public:
    virtual ~Guest() = default;
    virtual std::string name(int number) = 0;
    virtual void greet(const std::vector<std::string>& words) = 0;
};
class MockGuest : public Guest {
public:
    MOCK_METHOD(std::string, name, (int number), (override));
    MOCK_METHOD(void, greet, (const std::vector<std::string>& words), (override));
};

TEST(FirstUse, Expectations)
{
    MockGuest guest;
    const testing::InSequence in_this_order;
    EXPECT_CALL(guest, name(1)).WillOnce(Return(long_text));
    EXPECT_CALL(guest, greet(ElementsAre("a", HasSubstr("b")))).Times(2);
    EXPECT_EQ(guest.name(1), long_text);
    guest.greet({"a", "abc"});
    guest.greet({"a", "b"});
}

TEST(FirstUse, Defaults)
{
    testing::NiceMock<MockGuest> guest;
    ON_CALL(guest, name(_)).WillByDefault(Return(long_text));
    EXPECT_EQ(guest.name(3), long_text);
    testing::DefaultValue<std::string>::Set(long_text);
    testing::StrictMock<MockGuest> other;
    EXPECT_CALL(other, name(_));
    EXPECT_EQ(other.name(4), long_text);
    testing::DefaultValue<std::string>::Clear();
    EXPECT_TRUE(testing::Mock::VerifyAndClearExpectations(&other));
}

TEST(FirstUse, Functions)
{
    testing::MockFunction<int(const std::string&)> function;
    EXPECT_CALL(function, Call(HasSubstr("text"))).WillRepeatedly([](const std::string& text) {
        return static_cast<int>(text.size());
    });
    EXPECT_GT(function.AsStdFunction()(long_text), 0);
}

TEST(FirstUse, Uninteresting)
{
    MockGuest guest;
    guest.greet({long_text});
}

} // namespace
