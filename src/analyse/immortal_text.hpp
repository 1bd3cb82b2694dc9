// SPDX-License-Identifier: BSL-1.0
// Text that is kept until the process ends, each distinct one once, and the lock of cold caches.
// Memory comes from malloc, not operator new: a program's own operator new is its code, and must not run under our lock.
#pragma once

#include <cstdlib>
#include <mutex>
#include <new>
#include <pthread.h>
#include <string_view>
#include <unordered_set>

namespace heapmark::analyse {

template <class T>
struct MallocAllocator {
    using value_type = T;
    MallocAllocator() noexcept = default;
    template <class U>
    MallocAllocator(const MallocAllocator<U>&) noexcept
    {}
    T* allocate(std::size_t count)
    {
        if (void* memory = std::malloc(count * sizeof(T))) return static_cast<T*>(memory);
        throw std::bad_alloc{};
    }
    void deallocate(T* memory, std::size_t) noexcept { std::free(memory); }
    friend bool operator==(MallocAllocator, MallocAllocator) noexcept { return true; }
};

/// An object that no destructor reaches, so that reports at exit and threads that outlive main may use it.
template <class T>
T& immortal()
{
    alignas(T) static unsigned char storage[sizeof(T)];
    static T* const object = new (storage) T;
    return *object;
}

/// A mutex that a forked child finds free and its data whole: fork waits for the holder. One mutex a tag type.
template <class Tag>
class ColdLock {
public:
    ColdLock()
    {
        static const int registered =
            pthread_atfork([] { mutex_.lock(); }, [] { mutex_.unlock(); }, [] { mutex_.unlock(); });
        static_cast<void>(registered); // without memory for a handler, forks are as unsafe as with any other mutex
        mutex_.lock();
    }
    ~ColdLock() { mutex_.unlock(); }
    ColdLock(const ColdLock&) = delete;
    ColdLock& operator=(const ColdLock&) = delete;

private:
    static constinit inline std::mutex mutex_;
};

/// Not synchronised: the owner holds a lock. The caller holds a Guard.
class ImmortalText {
public:
    /// A copy of `text` with the same address for the same text.
    std::string_view keep(std::string_view text);

private:
    std::unordered_set<std::string_view, std::hash<std::string_view>, std::equal_to<>,
                       MallocAllocator<std::string_view>>
        known_;
    char* chunk_ = nullptr;
    std::size_t left_ = 0;
};

/// keep() of the labels of groups. Thread-safe. The caller holds a Guard.
std::string_view intern_label(std::string_view text);

} // namespace heapmark::analyse
