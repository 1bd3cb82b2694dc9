// SPDX-License-Identifier: BSL-1.0
// Blocks by module. A module is known by the path that it was loaded from, since it may be loaded again elsewhere.
#include "analyse/signature.hpp"
#include "platform/modules.hpp"
#include "platform/thread_state.hpp"
#include "record/texts.hpp"
#include "symbolise/symbolise.hpp"

#include <heapmark/heapmark.hpp>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <dlfcn.h>
#include <link.h>
#include <new>
#include <stdexcept>
#include <vector>

namespace heapmark {
namespace {

/// The text as long as the process lives.
std::string_view kept(const char* text)
{
    const record::TextId id = record::intern_text(text);
    if (id == record::no_text && *text != '\0') throw std::bad_alloc();
    return record::text(id);
}

/// Absolute and without symbolic links; "" for what has no '/' in it, or is not there.
std::string_view followed(const char* path)
{
    const int saved_errno = errno;
    char buffer[PATH_MAX];
    const bool found = std::string_view(path).find('/') != std::string_view::npos && realpath(path, buffer) != nullptr;
    errno = saved_errno;
    return found ? kept(buffer) : std::string_view{};
}

const platform::Module* module_of_handle(void* handle) noexcept
{
    const link_map* loaded = nullptr;
    if (handle == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &loaded) != 0 || loaded == nullptr) return nullptr;
    return platform::module_at(reinterpret_cast<std::uintptr_t>(loaded->l_ld)); // its dynamic section
}

bool is_meant(std::string_view name, std::string_view path, std::string_view module)
{
    if (module.empty()) return false;
    if (module == path || analyse::means_module(name, module)) return true;
    return !path.empty() && followed(module.data()) == path; // a module's path ends with a zero
}

} // namespace

module_scope::module_scope(const char* path)
{
    const platform::Guard guard;
    name_ = kept(path == nullptr ? "" : path);
    path_ = followed(name_.data());
    first_ = mark(path);
}

module_scope::module_scope(void* handle)
{
    const platform::Guard guard;
    const platform::Module* module = module_of_handle(handle);
    if (module == nullptr) throw std::invalid_argument("heapmark::module_scope: not a handle of a loaded module");
    name_ = path_ = module->path;
    first_ = mark(module->path);
}

bool module_scope::is_from(const Block& block) const
{
    const platform::Guard guard;
    for (const Frame frame : block.stack)
        if (is_meant(name_, path_, symbolise::module_path(frame))) return true;
    return false;
}

Snapshot module_scope::survivors() const
{
    const platform::Guard guard;
    enum class Answer : char { unknown, no, yes };
    std::vector<Answer> answers; // by module number
    return heapmark::survivors(first_).filter([&](const Block& block) {
        for (const Frame frame : block.stack) {
            if (frame.module() >= answers.size()) answers.resize(frame.module() + std::size_t{1});
            Answer& answer = answers[frame.module()];
            if (answer == Answer::unknown)
                answer = is_meant(name_, path_, symbolise::module_path(frame)) ? Answer::yes : Answer::no;
            if (answer == Answer::yes) return true;
        }
        return false;
    });
}

} // namespace heapmark
