// SPDX-License-Identifier: BSL-1.0
// Abseil: containers, texts, status, and what its threads keep.
#include "scenario.hpp"

#include <absl/cleanup/cleanup.h>
#include <absl/container/btree_map.h>
#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>
#include <absl/container/node_hash_map.h>
#include <absl/memory/memory.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/cord.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/synchronization/mutex.h>
#include <absl/synchronization/notification.h>
#include <absl/time/time.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

struct Guest {
    std::string name = "a name that is long enough not to fit into the string itself";
};

absl::StatusOr<Guest*> find_guest(bool there)
{
    if (!there) return absl::NotFoundError("a message that is long enough not to fit into the string itself");
    return new Guest;
}

} // namespace

SCENARIO(abseil, FlatMapOfPointers)
{
    absl::flat_hash_map<std::string, Guest*> guests;
    for (int i = 0; i < 20; ++i) guests[absl::StrCat("guest ", i)] = new Guest;
    if (leaks) guests.erase("guest 7"); // the others are deleted
    for (const auto& [seat, guest] : guests) delete guest;
}

SCENARIO(abseil, NodeMap)
{
    auto* guests = new absl::node_hash_map<int, Guest>;
    for (int i = 0; i < 20; ++i) (*guests)[i].name += 'x';
    EXPECT(guests->size() == 20);
    if (!leaks) delete guests;
}

SCENARIO(abseil, Tree)
{
    auto* guests = new absl::btree_map<int, std::string>;
    for (int i = 0; i < 200; ++i) guests->emplace(i, Guest().name);
    EXPECT(guests->size() == 200);
    if (!leaks) delete guests;
}

SCENARIO(abseil, SpilledVector)
{
    auto* numbers = new absl::InlinedVector<int, 4>;
    for (int i = 0; i < 50; ++i) numbers->push_back(i);
    EXPECT(numbers->size() == 50);
    if (!leaks) delete numbers;
}

SCENARIO(abseil, Cord)
{
    auto* cord = new absl::Cord(std::string(5000, 'x'));
    cord->Append(std::string(3000, 'y'));
    EXPECT(cord->size() == 8000);
    if (!leaks) delete cord;
}

SCENARIO(abseil, CordOfForeignMemory)
{
    auto* text = new std::string(1000, 'x');
    const absl::Cord cord = absl::MakeCordFromExternal(*text, [text, leaks] {
        if (!leaks) delete text;
    });
    EXPECT(cord.size() == 1000);
}

SCENARIO(abseil, StatusOr)
{
    EXPECT(!find_guest(false).ok());
    const absl::StatusOr<Guest*> found = find_guest(true);
    EXPECT(found.ok());
    if (!leaks) delete *found;
}

SCENARIO(abseil, Status)
{
    auto* status = new absl::Status(absl::StatusCode::kInternal, Guest().name);
    status->SetPayload("guest", absl::Cord("Ada"));
    EXPECT(!status->ok());
    if (!leaks) delete status;
}

SCENARIO(abseil, CancelledCleanup)
{
    auto* guest = new Guest;
    auto cleanup = absl::MakeCleanup([guest] { delete guest; });
    if (leaks) std::move(cleanup).Cancel();
}

SCENARIO(abseil, Released)
{
    std::unique_ptr<Guest> owner = absl::WrapUnique(new Guest);
    if (leaks) EXPECT(owner.release() != nullptr);
}

SCENARIO(abseil, Split)
{
    std::vector<std::string*> words;
    for (const auto word : absl::StrSplit("Ada,Grace,Barbara", ','))
        words.push_back(new std::string(std::string(word) + Guest().name));
    EXPECT(words.size() == 3);
    for (std::string* word : words)
        if (!leaks) delete word;
}

SCENARIO(abseil, Thread)
{
    absl::Mutex mutex;
    absl::Notification ready;
    Guest* guest = nullptr;
    std::thread thread([&] {
        const absl::MutexLock lock(&mutex);
        guest = new Guest;
        ready.Notify();
    });
    ready.WaitForNotification();
    thread.join();
    const absl::MutexLock lock(&mutex);
    if (!leaks) delete guest;
}

// Time zones are cached for good, in both: no leak.
SCENARIO(abseil, BesideATimeZone)
{
    absl::TimeZone zone;
    EXPECT(absl::LoadTimeZone(leaks ? "Asia/Tokyo" : "Europe/Vienna", &zone) || zone == absl::UTCTimeZone());
    auto* text = new std::string(absl::FormatTime(absl::RFC3339_full, absl::FromUnixSeconds(1'000'000'000), zone));
    if (!leaks) delete text;
}
