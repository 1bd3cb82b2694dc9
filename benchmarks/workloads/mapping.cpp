// SPDX-License-Identifier: BSL-1.0
// Mappings that come and go: one of 100 live ones, chosen at random, is unmapped, and one of 1 to 16 pages mapped. They are
// not touched, so that what is measured is the calls.
#include "workload.hpp"

#include <cstdlib>
#include <sys/mman.h>

namespace bench {
namespace {

class Mapper : public Worker {
public:
    explicit Mapper(unsigned index) : random_(index + 1)
    {
        for (Mapping& mapping : mappings_) map(mapping);
    }
    Mapper(const Mapper&) = delete;
    Mapper& operator=(const Mapper&) = delete;
    ~Mapper() override
    {
        for (const Mapping& mapping : mappings_) munmap(mapping.address, mapping.bytes);
    }

    std::uint64_t work() override
    {
        constexpr std::uint64_t count = 256;
        for (std::uint64_t i = 0; i < count; ++i) {
            Mapping& mapping = mappings_[random_.between(0, live)];
            munmap(mapping.address, mapping.bytes);
            map(mapping);
        }
        return count;
    }

private:
    static constexpr std::size_t live = 100;
    struct Mapping {
        void* address;
        std::size_t bytes;
    };

    void map(Mapping& mapping)
    {
        mapping.bytes = random_.between(1, 17) * 4096;
        mapping.address = mmap(nullptr, mapping.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapping.address == MAP_FAILED) std::abort();
    }

    Random random_;
    Mapping mappings_[live]{};
};

} // namespace

void run_mapping(const Settings& settings)
{
    run_workers(settings, [](unsigned index) { return new Mapper(index); });
}

} // namespace bench
