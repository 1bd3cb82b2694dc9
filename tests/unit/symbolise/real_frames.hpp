// SPDX-License-Identifier: BSL-1.0
// Frames of this process, and a loaded library.
#pragma once

#include "platform/modules.hpp"

#include <heapmark/report.hpp>

#include <doctest/doctest.h>

#include <dlfcn.h>
#include <string>

namespace heapmark::test {

inline Frame frame_of(const void* return_address)
{
    const auto address = reinterpret_cast<std::uintptr_t>(return_address);
    const platform::Module* const module = platform::module_at(address - 1);
    return Frame{address | (module == nullptr ? 0 : std::uint64_t{module->id} << 48)};
}

class Library {
public:
    explicit Library(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
    {
        REQUIRE_MESSAGE(handle_ != nullptr, dlerror());
    }
    ~Library() { close(); }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    void close()
    {
        if (handle_ == nullptr) return;
        dlclose(handle_);
        platform::note_unload();
        handle_ = nullptr;
    }

    template <class T>
    T* symbol(const char* name)
    {
        void* const found = dlsym(handle_, name);
        REQUIRE(found != nullptr);
        return reinterpret_cast<T*>(found);
    }

    /// A return address inside fixtures/plugin.cpp, behind its inlined calls.
    Frame run()
    {
        void* address = nullptr;
        symbol<void(void**)>("plugin_run")(&address);
        return frame_of(address);
    }

private:
    void* handle_;
};

inline std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

} // namespace heapmark::test
