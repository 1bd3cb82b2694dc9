// SPDX-License-Identifier: BSL-1.0
// Pairs of malloc and free: 1,000 blocks of mixed sizes live in each thread, and each operation frees one of them, chosen
// at random, and allocates another.
#include "deep.hpp"
#include "workload.hpp"

#include <cstdlib>
#include <memory>

namespace bench {
namespace {

constexpr std::size_t live_blocks = 1000;
constexpr unsigned pairs_at_a_time = 2000;

class Pairs : public Worker {
public:
    explicit Pairs(unsigned index) : random_(index + 1)
    {
        for (void*& slot : slots_) slot = allocate();
    }
    ~Pairs() override
    {
        for (void* slot : slots_) std::free(slot);
    }

    std::uint64_t work() override
    {
        make_pairs(this);
        return pairs_at_a_time;
    }

protected:
    void* allocate()
    {
        auto* block = static_cast<char*>(opaque(std::malloc(random_.between(16, 512))));
        if (block == nullptr) std::abort();
        *block = 1;
        return block;
    }

    void make_pair()
    {
        void*& slot = slots_[random_.between(0, live_blocks)];
        std::free(slot);
        slot = allocate();
    }

    static void make_pairs(void* self)
    {
        for (unsigned i = 0; i < pairs_at_a_time; ++i) static_cast<Pairs*>(self)->make_pair();
    }

    Random random_;
    void* slots_[live_blocks];
};

class DeepPairs final : public Pairs {
public:
    using Pairs::Pairs;
    std::uint64_t work() override
    {
        descend<40>(make_pairs, this);
        return pairs_at_a_time;
    }
};

/// 12 frames that stay, and 8 that are left and entered again for each pair: 256 paths.
class WalkingPairs final : public Pairs {
public:
    using Pairs::Pairs;
    std::uint64_t work() override
    {
        descend<12>([](void* self) { static_cast<WalkingPairs*>(self)->walk_and_pair(); }, this);
        return pairs_at_a_time;
    }

private:
    void walk_and_pair()
    {
        for (unsigned i = 0; i < pairs_at_a_time; ++i)
            walk<8>(
                random_(), [](void* self) { static_cast<WalkingPairs*>(self)->make_pair(); }, this);
    }
};

template <class Kind>
void run(const Settings& settings)
{
    run_workers(settings, [](unsigned index) { return new Kind(index); });
}

} // namespace

void run_pair(const Settings& settings) { run<Pairs>(settings); }
void run_pair_deep(const Settings& settings) { run<DeepPairs>(settings); }
void run_pair_walk(const Settings& settings) { run<WalkingPairs>(settings); }

} // namespace bench
