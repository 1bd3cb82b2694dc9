// SPDX-License-Identifier: BSL-1.0
// The C API.
#include <heapmark/heapmark.h>
#include <heapmark/report.hpp>

#include <cerrno>
#include <new>

#define HEAPMARK_C_API extern "C" __attribute__((visibility("default")))

HEAPMARK_C_API heapmark_generation heapmark_mark(const char* name)
{
    return static_cast<heapmark_generation>(heapmark::mark(name));
}

HEAPMARK_C_API heapmark_totals heapmark_counts(heapmark_generation since)
{
    const heapmark::Counts counts = heapmark::counts(heapmark::Generation{since});
    return {counts.blocks, counts.bytes};
}

HEAPMARK_C_API int heapmark_print(heapmark_generation since, FILE* out)
try {
    return heapmark::write_text(out, heapmark::survivors(heapmark::Generation{since}), heapmark::TextOptions{});
} catch (const std::bad_alloc&) {
    return ENOMEM;
}

HEAPMARK_C_API void heapmark_start_accounting(void) { heapmark::start_accounting(); }

HEAPMARK_C_API int heapmark_print_accounting(FILE* out)
try {
    return heapmark::print(heapmark::accounting(), out);
} catch (const std::bad_alloc&) {
    return ENOMEM;
}

HEAPMARK_C_API int heapmark_forget(const void* block) { return heapmark::forget(block) ? 1 : 0; }

HEAPMARK_C_API int heapmark_active(void) { return heapmark::active() ? 1 : 0; }
