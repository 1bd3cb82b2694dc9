// SPDX-License-Identifier: BSL-1.0
// The trace file, for who writes and who reads it; docs/trace.md describes it. Little-endian words, as they lie in memory.
//
//     header, 4096 bytes | chunk | chunk | ...
//
// A chunk is a header of two records' size and then records of three words. Each thread fills chunks of its own. The file
// is zero where nothing was written; a record counts from the moment its first word is not.
#pragma once

#include "base/bits.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heapmark::trace {

inline constexpr char magic[16] = "heapmark trace\n";
inline constexpr std::uint32_t version = 1;
inline constexpr std::size_t header_bytes = 4096;
inline constexpr std::size_t chunk_bytes = std::size_t{1} << 16;

struct FileHeader {
    char magic[16];
    std::uint32_t version;
    std::uint32_t record_bytes;
    std::uint32_t chunk_bytes;
    std::uint32_t process;
    std::uint32_t parent;             ///< of a forked child that writes a trace of its own; else 0
    std::uint32_t clean;              ///< 1: the trace was stopped, so nothing is missing at its end
    std::uint64_t start_monotonic_ns; ///< times of records count from here
    std::uint64_t start_realtime_ns;
    std::atomic<std::uint64_t> dropped; ///< records for which there was no space
    char program[3840];                 ///< path, ends with a zero byte
};
static_assert(sizeof(FileHeader) <= header_bytes && offsetof(FileHeader, dropped) == 56);

struct Record {
    std::atomic<std::uint64_t> words[3];
};
static_assert(sizeof(Record) == 24);

struct ChunkHeader {
    static constexpr std::uint64_t right_magic = 0x6b6e'7568'6370'6168; ///< "hapchunk"
    std::uint64_t magic;
    std::uint64_t begun_ns;          ///< no record of the chunk is older
    std::atomic<std::uint32_t> used; ///< records begun; may exceed the capacity
    std::uint32_t trace;             ///< the writer's own number
    std::uint64_t reserved[3];
};
static_assert(sizeof(ChunkHeader) == 2 * sizeof(Record));

inline constexpr std::uint32_t chunk_capacity = (chunk_bytes - sizeof(ChunkHeader)) / sizeof(Record);

struct Chunk {
    ChunkHeader header;
    Record records[chunk_capacity];
};
static_assert(sizeof(Chunk) <= chunk_bytes);

enum class Kind : std::uint8_t {
    none = 0,
    allocate = 1,
    release = 2,
    resize_begin = 3, ///< realloc is about to be called with this address; the thread's next resize_end belongs to it
    resize_end = 4,   ///< what it gave; address 0: it failed
    thread = 5,       ///< who fills the chunk from here on
    site = 6,         ///< two frames of a stack
    module = 7,       ///< sixteen bytes of what is known of a program or library
};

/// The low four bits of the first word.
using KindField = base::Field<0, 4>;

// allocate, release, resize_begin, resize_end
using TimeField = base::Field<4, 60>;    ///< word 0: ns since the start
using AddressField = base::Field<0, 48>; ///< word 1
using SiteLowField = base::Field<48, 16>;
using SizeField = base::Field<0, 48>; ///< word 2: requested bytes; 0 in a release and a resize_begin
using SiteHighField = base::Field<48, 9>;
using WrongField = base::Field<57, 1>;   ///< the address was not that of a live block
using IgnoredField = base::Field<58, 1>; ///< allocated in a heapmark::ignore scope

// thread: word 0 as above
using ThreadField = base::Field<0, 32>; ///< word 1: ThreadId
using SystemThreadField = base::Field<32, 32>;

// site: words 1 and 2 are Frame::bits
using SiteField = base::Field<4, 25>; ///< word 0
using PairField = base::Field<29, 5>; ///< which two frames, innermost first
using DepthField = base::Field<34, 6>;
using ApiField = base::Field<40, 8>;

// module
using ModuleField = base::Field<4, 16>; ///< word 0: the upper 16 bits of Frame::bits
using PartField = base::Field<20, 4>;
using PieceField = base::Field<24, 16>;

enum class Part : std::uint8_t {
    place = 0,    ///< word 1: bias; word 2: bytes of the build id
    build_id = 1, ///< pieces of 16 bytes
    path = 2,     ///< the same, until one with a zero byte
};

} // namespace heapmark::trace
