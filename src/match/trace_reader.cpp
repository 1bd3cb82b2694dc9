// SPDX-License-Identifier: BSL-1.0
#include "match/trace_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <queue>
#include <sys/stat.h>
#include <unistd.h>

namespace heapmark::match {
namespace {

using trace::Kind;

constexpr std::uint64_t ns_per_second = 1'000'000'000;

/// What the matcher keeps of a record.
struct Kept {
    Words words;
    std::uint32_t thread;
};

std::size_t read_at(int descriptor, void* to, std::size_t bytes, std::uint64_t offset)
{
    std::size_t done = 0;
    while (done < bytes) {
        const ssize_t got =
            ::pread(descriptor, static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw std::runtime_error(std::strerror(errno));
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
    }
    return done;
}

Kind kind_of(const Words& words) noexcept { return static_cast<Kind>(trace::KindField::get(words[0])); }
std::uint64_t address_of(const Words& words) noexcept { return trace::AddressField::get(words[1]); }
std::uint64_t bytes_of(const Words& words) noexcept { return trace::SizeField::get(words[2]); }
std::uint32_t site_of(const Words& words) noexcept
{
    return static_cast<std::uint32_t>(trace::SiteHighField::get(words[2]) << 16 | trace::SiteLowField::get(words[1]));
}

} // namespace

bool is_trace(std::string_view beginning) noexcept
{
    return beginning.starts_with(std::string_view(trace::magic, sizeof trace::magic));
}

void TraceReader::read_header(int descriptor, std::uint32_t source)
{
    const auto header = std::make_unique<trace::FileHeader>();
    const std::size_t got = read_at(descriptor, static_cast<void*>(header.get()), sizeof *header, 0);
    if (got < sizeof *header || !is_trace(std::string_view(header->magic, sizeof header->magic)))
        throw std::runtime_error("cut off inside its header");
    if (header->version != trace::version || header->record_bytes != sizeof(trace::Record) ||
        header->chunk_bytes != trace::chunk_bytes)
        throw std::runtime_error("of another version of heapmark (format " + std::to_string(header->version) + ")");
    header->program[sizeof header->program - 1] = '\0';
    const std::string program(analyse::file_name(header->program));
    // Each trace is of one run, whatever number its process had.
    process_ = &matcher_.process(header->process, program, Place::of(source, 0));
    process_->program = program;
    if (const std::uint64_t dropped = header->dropped.load(); dropped != 0)
        listener_.warn(Place::of(source, 0), std::to_string(dropped) + " records are missing, since there was no space "
                                                                       "for them: what follows may be wrong");
}

void TraceReader::find_chunks(int descriptor)
{
    struct stat status {};
    if (fstat(descriptor, &status) != 0) throw std::runtime_error(std::strerror(errno));
    const auto size = static_cast<std::uint64_t>(status.st_size);
    for (std::uint64_t offset = trace::header_bytes; offset < size; offset += trace::chunk_bytes) {
        trace::ChunkHeader header{};
        if (read_at(descriptor, &header, sizeof header, offset) < sizeof header) break;
        // One that is being made, or could not be, is no chunk.
        if (header.magic == trace::ChunkHeader::right_magic) chunks_.push_back({header.begun_ns, offset});
    }
    std::sort(chunks_.begin(), chunks_.end(),
              [](const ChunkPlace& a, const ChunkPlace& b) { return a.begun_ns < b.begun_ns; });
}

/// False when there is no event in the chunk.
bool TraceReader::open_stream(int descriptor, const ChunkPlace& place, Stream& stream)
{
    stream.records.resize(trace::chunk_capacity);
    const std::size_t got = read_at(descriptor, stream.records.data(), stream.records.size() * sizeof(Words),
                                    place.offset + sizeof(trace::ChunkHeader));
    stream.records.resize(got / sizeof(Words));
    stream.next = 0;
    stream.time_ns = place.begun_ns;
    return to_next_event(stream);
}

/// On the way definitions are taken in, and records passed over that were begun and not finished.
bool TraceReader::to_next_event(Stream& stream)
{
    for (; stream.next < stream.records.size(); ++stream.next) {
        const Words& words = stream.records[stream.next];
        switch (kind_of(words)) {
        case Kind::allocate:
        case Kind::release:
        case Kind::resize_begin:
        case Kind::resize_end:
            // Where a signal handler came between, times may run backwards; the order in the chunk is right.
            stream.time_ns = std::max(stream.time_ns, trace::TimeField::get(words[0]));
            return true;
        case Kind::thread: stream.thread = static_cast<std::uint32_t>(trace::ThreadField::get(words[1])); break;
        case Kind::site: stacks_.define_site(words); break;
        case Kind::module: stacks_.define_module(words); break;
        case Kind::none: break;
        }
    }
    return false;
}

std::uint64_t TraceReader::read(int descriptor, std::uint32_t source)
{
    source_ = source;
    if (lseek(descriptor, 0, SEEK_CUR) < 0) // whatever is not read in order, either
        throw std::runtime_error("a heapmark trace must be read from a file, not from a pipe");
    read_header(descriptor, source);
    find_chunks(descriptor);

    std::vector<Stream> streams;
    std::vector<std::size_t> unused;
    // Of records of the same time releases come first: an address is given back before it is given out again.
    const auto is_later = [&streams](std::size_t a, std::size_t b) {
        const auto order = [&streams](std::size_t index) {
            const Stream& stream = streams[index];
            const Kind kind = kind_of(stream.records[stream.next]);
            return std::pair(stream.time_ns, kind == Kind::allocate || kind == Kind::resize_end);
        };
        return order(a) > order(b);
    };
    std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(is_later)> open(is_later);
    std::size_t next_chunk = 0;
    for (;;) {
        if (next_chunk < chunks_.size() &&
            (open.empty() || chunks_[next_chunk].begun_ns <= streams[open.top()].time_ns)) {
            if (unused.empty()) {
                unused.push_back(streams.size());
                streams.emplace_back();
            }
            if (open_stream(descriptor, chunks_[next_chunk++], streams[unused.back()])) {
                open.push(unused.back());
                unused.pop_back();
            }
            continue;
        }
        if (open.empty()) break;
        const std::size_t index = open.top();
        open.pop();
        event(streams[index]);
        ++streams[index].next;
        if (to_next_event(streams[index]))
            open.push(index);
        else
            unused.push_back(index);
    }
    matcher_.end(*process_);
    return events_;
}

void TraceReader::event(const Stream& stream)
{
    const Words& words = stream.records[stream.next];
    const Kept kept{words, stream.thread};
    const Matcher::Record record{Place::of(source_, ++events_), {reinterpret_cast<const char*>(&kept), sizeof kept}};
    const Release how = trace::WrongField::get(words[2]) != 0 ? Release::by_free : Release::right;
    if (listener_.wants(Verbosity::records)) {
        std::uint32_t site = 0;
        listener_.log(record.place, "record: " + trace_record_in_words(record.text, stacks_, site));
    }
    const std::uint64_t address = address_of(words);
    std::uint64_t old = 0;
    switch (kind_of(words)) {
    case Kind::allocate: matcher_.allocate(*process_, address, bytes_of(words), record); break;
    case Kind::release: matcher_.release(*process_, address, record, how); break;
    case Kind::resize_begin:
        matcher_.begin_resize(*process_, address, record, how);
        resizing_[stream.thread].push_back(address);
        break;
    default:
        if (std::vector<std::uint64_t>& begun = resizing_[stream.thread]; !begun.empty()) {
            old = begun.back();
            begun.pop_back();
        }
        matcher_.end_resize(*process_, old, address, bytes_of(words), record);
    }
    if (trace::IgnoredField::get(words[2]) != 0) matcher_.excuse(*process_, address);
}

std::string trace_record_in_words(std::string_view text, const TraceStacks& stacks, std::uint32_t& site)
{
    Kept kept{};
    std::memcpy(&kept, text.data(), std::min(text.size(), sizeof kept));
    site = site_of(kept.words);
    const std::uint64_t time = trace::TimeField::get(kept.words[0]);
    char line[160];
    int size = std::snprintf(line, sizeof line, "%llu.%09llu s  thread %u  ",
                             static_cast<unsigned long long>(time / ns_per_second),
                             static_cast<unsigned long long>(time % ns_per_second), kept.thread);
    std::string words(line, static_cast<std::size_t>(size));
    const auto address = static_cast<unsigned long long>(address_of(kept.words));
    switch (kind_of(kept.words)) {
    case Kind::release: size = std::snprintf(line, sizeof line, "release of 0x%llx", address); break;
    case Kind::resize_begin: size = std::snprintf(line, sizeof line, "realloc of 0x%llx begins", address); break;
    default: {
        const Api api = stacks.api(site);
        size = std::snprintf(line, sizeof line, "0x%llx = %s(%llu)", address,
                             api == Api::unknown ? "allocate" : to_string(api),
                             static_cast<unsigned long long>(bytes_of(kept.words)));
    }
    }
    return words.append(line, static_cast<std::size_t>(size));
}

} // namespace heapmark::match
