// SPDX-License-Identifier: BSL-1.0
// Protocol Buffers: who owns a message, a field, an arena.
#include "scenario.hpp"

#include "guests.pb.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <memory>
#include <string>

namespace {

constexpr const char* long_name = "a name that is long enough not to fit into the string itself";

real::Party party_of_two()
{
    real::Party party;
    for (const char* city : {"London", "New York"}) {
        real::Guest* guest = party.add_guests();
        guest->set_name(long_name);
        guest->mutable_address()->set_city(city);
        guest->add_dishes("soup");
    }
    (*party.mutable_by_seat())["window"] = party.guests(0);
    return party;
}

} // namespace

SCENARIO(protobuf, Message)
{
    auto* party = new real::Party(party_of_two());
    EXPECT(party->guests_size() == 2);
    if (!leaks) delete party;
}

SCENARIO(protobuf, ReleasedText)
{
    real::Party party = party_of_two();
    std::string* name = party.mutable_guests(0)->release_name();
    EXPECT(*name == long_name);
    if (!leaks) delete name;
}

SCENARIO(protobuf, ReleasedMessage)
{
    real::Party party = party_of_two();
    real::Address* address = party.mutable_guests(1)->release_address();
    EXPECT(address->city() == "New York");
    if (!leaks) delete address;
}

SCENARIO(protobuf, ReleasedElement)
{
    real::Party party = party_of_two();
    real::Guest* last = party.mutable_guests()->ReleaseLast();
    EXPECT(party.guests_size() == 1);
    if (!leaks) delete last;
}

SCENARIO(protobuf, ReleasedChoice)
{
    real::Party party;
    party.mutable_inside()->set_city(long_name);
    real::Address* inside = party.release_inside();
    EXPECT(party.place_case() == real::Party::PLACE_NOT_SET);
    if (!leaks) delete inside;
}

SCENARIO(protobuf, NeverHandedOver)
{
    real::Party party = party_of_two();
    auto* guest = new real::Guest;
    guest->set_name(long_name);
    if (leaks) return; // an early return before the party owns it
    party.mutable_guests()->AddAllocated(guest);
}

SCENARIO(protobuf, ParsedFromPrototype)
{
    const std::string bytes = party_of_two().SerializeAsString();
    google::protobuf::Message* copy = real::Party::default_instance().New();
    EXPECT(copy->ParseFromString(bytes));
    if (!leaks) delete copy;
}

// One for each request. The one that a thread used last is held by a cache of the library.
SCENARIO(protobuf, Arena)
{
    for (int request = 0; request < 2; ++request) {
        auto* arena = new google::protobuf::Arena;
        auto* party = google::protobuf::Arena::CreateMessage<real::Party>(arena);
        *party = party_of_two();
        if (!leaks || request == 1) delete arena;
    }
}

SCENARIO(protobuf, OwnedByArena)
{
    google::protobuf::Arena arena;
    auto* guest = new real::Guest;
    guest->set_name(long_name);
    if (!leaks) arena.Own(guest);
}

SCENARIO(protobuf, Dynamic)
{
    google::protobuf::DynamicMessageFactory factory;
    google::protobuf::Message* guest = factory.GetPrototype(real::Guest::descriptor())->New();
    guest->GetReflection()->SetString(guest, guest->GetDescriptor()->FindFieldByName("name"), long_name);
    EXPECT(guest->ByteSizeLong() > 40);
    if (!leaks) delete guest;
}

SCENARIO(protobuf, Descriptors)
{
    google::protobuf::FileDescriptorProto file;
    real::Guest::descriptor()->file()->CopyTo(&file);
    auto* pool = new google::protobuf::DescriptorPool;
    EXPECT(pool->BuildFile(file) != nullptr);
    if (!leaks) delete pool;
}

SCENARIO(protobuf, Stream)
{
    std::string bytes;
    auto* output = new google::protobuf::io::StringOutputStream(&bytes);
    EXPECT(party_of_two().SerializeToZeroCopyStream(output));
    if (!leaks) delete output;
}

SCENARIO(protobuf, ReturnOnError)
{
    auto guest = std::make_unique<real::Guest>();
    guest->set_name(long_name);
    real::Guest* parsed = guest.release();
    if (!parsed->ParseFromString("\xff\xff") && leaks) return;
    delete parsed;
}
