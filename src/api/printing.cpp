// SPDX-License-Identifier: BSL-1.0
// Reports onto streams.
#include "api/printing.hpp"

#include "api/color.hpp"
#include "platform/options.hpp"
#include "report/text.hpp"
#include "symbolise/symbolise.hpp"

#include <heapmark/report.hpp>

#include <cerrno>
#include <cstdlib>
#include <unistd.h>
#if __has_include(<ext/stdio_sync_filebuf.h>)
#include <ext/stdio_filebuf.h>
#include <ext/stdio_sync_filebuf.h>
#define HEAPMARK_STDIO_BUFFERS 1
#endif

namespace heapmark {

namespace {

/// File descriptor that a standard stream writes to, or -1 when the stream's kind does not tell.
int descriptor_of(const std::ostream& out)
{
#ifdef HEAPMARK_STDIO_BUFFERS // libstdc++'s buffers of std::cout with, and without, sync_with_stdio
    if (auto* synced = dynamic_cast<__gnu_cxx::stdio_sync_filebuf<char>*>(out.rdbuf())) return fileno(synced->file());
    if (auto* own = dynamic_cast<__gnu_cxx::stdio_filebuf<char>*>(out.rdbuf())) return own->fd();
#endif
    static_cast<void>(out);
    return -1;
}

} // namespace

int write_to(std::FILE* out, const std::string& text)
{
    const int kept = errno;
    errno = 0;
    const bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
    const int error = written ? 0 : errno != 0 ? errno : EIO;
    errno = kept;
    return error;
}

bool wants_color(TextOptions::Color color, int descriptor)
{
    if (color != TextOptions::Color::automatic) return color == TextOptions::Color::always;
    const char* const no_color = std::getenv("NO_COLOR"); // NOLINT(concurrency-mt-unsafe)
    if ((no_color != nullptr && *no_color != '\0') || descriptor < 0) return false;
    const int kept = errno;
    const bool terminal = isatty(descriptor) == 1;
    errno = kept;
    return terminal;
}

TextOptions::TextOptions()
{
    const platform::Guard guard;
    const platform::Options& options = platform::options();
    color = static_cast<Color>(options.color);
    plumbing = options.plumbing != 0;
    max_groups = options.max_groups;
    source_root = options.source_root;
}

void write_text(std::ostream& out, const Snapshot& snapshot, const TextOptions& options)
{
    const bool color = wants_color(options.color, descriptor_of(out));
    write_to(out, [&] { return report::survivors_text(snapshot, options, color, symbolise::process_names()); });
}

int write_text(std::FILE* out, const Snapshot& snapshot, const TextOptions& options)
{
    const platform::Guard guard;
    const bool color = wants_color(options.color, fileno(out));
    return write_to(out, report::survivors_text(snapshot, options, color, symbolise::process_names()));
}

void write_text(std::ostream& out, const Faults& faults, const TextOptions& options)
{
    const bool color = wants_color(options.color, descriptor_of(out));
    write_to(out, [&] { return report::faults_text(faults, options, color, symbolise::process_names()); });
}

std::ostream& operator<<(std::ostream& out, const Snapshot& snapshot)
{
    write_text(out, snapshot, TextOptions());
    return out;
}

void print(const Snapshot& snapshot, std::FILE* out) { write_text(out, snapshot, TextOptions()); }

} // namespace heapmark
