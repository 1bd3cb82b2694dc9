// SPDX-License-Identifier: BSL-1.0
// One lock over caches and back end. While it is held only the C library runs, never code of the program (which may
// replace operator new, but not what we call here), so it can be the innermost lock of any order.
#include "symbolise/symbolise.hpp"

#include "analyse/annotated_types.hpp"
#include "analyse/immortal_text.hpp"
#include "platform/modules.hpp"
#include "platform/safe_read.hpp"
#include "symbolise/debug_info.hpp"
#include "symbolise/plumbing.hpp"
#include "symbolise/short_name.hpp"
#include "symbolise/stack_types.hpp"

#include <cerrno>
#include <cstdlib>
#include <cxxabi.h>
#include <unordered_map>

namespace heapmark::symbolise {

namespace {

using analyse::CallName;
using analyse::FrameNames;
using analyse::MallocAllocator;

template <class Key, class Value>
using Table =
    std::unordered_map<Key, Value, std::hash<Key>, std::equal_to<Key>, MallocAllocator<std::pair<const Key, Value>>>;

class KeepErrno {
public:
    KeepErrno() noexcept : kept_(errno) {}
    ~KeepErrno() { errno = kept_; }
    KeepErrno(const KeepErrno&) = delete;
    KeepErrno& operator=(const KeepErrno&) = delete;

private:
    int kept_;
};

/// Demangled; the text itself when it is no mangled name. Valid until the next call.
class Demangler {
public:
    std::string_view operator()(const char* name)
    {
        if (name == nullptr) return {};
        if (name[0] != '_' || name[1] != 'Z') return name; // or "f", a function of C, would be the type float
        int status = 0;
        if (char* const text = abi::__cxa_demangle(name, buffer_, &bytes_, &status); text != nullptr && status == 0) {
            buffer_ = text; // grown by realloc where it had to
            return text;
        }
        return name;
    }

private:
    char* buffer_ = nullptr;
    std::size_t bytes_ = 0;
};

/// What a stack proves of its blocks.
struct StackType {
    std::size_t depth;
    Frame first;
    std::string_view type;

    [[nodiscard]] bool is_of(const Stack& stack) const noexcept { return depth == stack.size() && first == stack[0]; }
};

struct Caches {
    analyse::ImmortalText texts;
    Demangler demangle;
    Table<std::uint64_t, FrameNames> frames; // nodes stay where they are, so references to them are good for ever
    Table<std::uint64_t, std::string_view> types;
    Table<std::uint64_t, StackType> stack_types; ///< by where the frames lie
};

/// Appends what the back end tells about one frame.
class Calls final : public CallSink {
public:
    Calls(Caches& caches, std::string_view module) noexcept : caches_(caches), module_(module) {}

    void call(const char* function, const char* file, unsigned line) override
    {
        add(function, file == nullptr ? std::string_view{} : std::string_view{file}, line);
    }

    void add(const char* function, std::string_view file, unsigned line)
    {
        const std::string_view name = caches_.texts.keep(strip(caches_.demangle(function)));
        CallName& added = list_.emplace_back();
        added.file = caches_.texts.keep(file);
        added.line = line;
        set_function(added, name);
    }

    /// The symbol table's name where the debug information gives none, or only the last part of it.
    void prefer_symbol(const char* symbol)
    {
        if (symbol == nullptr) return;
        if (list_.empty()) return add(symbol, {}, 0);
        CallName& outermost = list_.back();
        const bool mangled = symbol[0] == '_' && symbol[1] == 'Z';
        const std::string_view name = strip(caches_.demangle(symbol));
        const bool says_more = mangled && outermost.function.find('(') == std::string_view::npos &&
                               name.find(outermost.function) != std::string_view::npos;
        if (outermost.function.empty() || says_more) set_function(outermost, caches_.texts.keep(name));
    }

    std::span<const CallName> finish()
    {
        if (list_.empty()) list_.emplace_back().plumbing = is_plumbing({}, {}, module_);
        for (std::size_t i = 0; i + 1 < list_.size(); ++i) list_[i].inlined = true;
        CallName* const kept = MallocAllocator<CallName>{}.allocate(list_.size());
        std::uninitialized_copy(list_.begin(), list_.end(), kept);
        return {kept, list_.size()};
    }

private:
    static std::string_view strip(std::string_view name) noexcept { return name.substr(0, name.find(" [clone ")); }

    void set_function(CallName& call, std::string_view name)
    {
        call.function = public_c_name(name, module_);
        call.short_function = caches_.texts.keep(short_function(call.function));
        call.plumbing = is_plumbing(call.function, call.file, module_);
    }

    Caches& caches_;
    std::string_view module_;
    std::vector<CallName, MallocAllocator<CallName>> list_;
};

class ProcessNames final : public analyse::Names {
public:
    const FrameNames& of_frame(Frame frame) override
    {
        const KeepErrno keep_errno;
        const analyse::ColdLock<ProcessNames> lock;
        Caches& caches = analyse::immortal<Caches>();
        const auto known = caches.frames.find(frame.bits);
        if (known != caches.frames.end()) return known->second;
        return caches.frames.emplace(frame.bits, look_up(frame, caches)).first->second;
    }

    std::string_view type_at(const void* block) override
    {
        const KeepErrno keep_errno;
        std::uintptr_t words[2] = {};
        if (!platform::safe_read(block, &words, sizeof words) && !platform::safe_read(block, &words, sizeof words[0]))
            return {};
        if (words[0] != 0) return type_by(words[0]);
        // A coroutine that has come to its end has no function to go on with, but one that destroys it.
        const std::string_view type = type_by(words[1]);
        return type.starts_with(coroutine_frame) ? type : std::string_view{};
    }

    std::string_view type_of(const Block& block) override
    {
        if (const std::string_view said = analyse::annotated_type(block); !said.empty()) return said;
        if (const std::string_view proved = type_of_stack(block.stack); !proved.empty()) return proved;
        return type_at(block.address);
    }

    std::string_view of_generation(Generation generation) override { return generation_name(generation); }

    VariableName variable(std::uintptr_t address)
    {
        const KeepErrno keep_errno;
        const platform::Module* const module = platform::module_at(address);
        if (module == nullptr) return {};
        const analyse::ColdLock<ProcessNames> lock;
        Caches& caches = analyse::immortal<Caches>();
        const Symbol symbol = symbol_at(*module, address - module->bias);
        if (symbol.name == nullptr) return {{}, module->path, 0};
        return {caches.texts.keep(caches.demangle(symbol.name)), module->path, address - module->bias - symbol.begin};
    }

    static std::string_view linkage_name(Frame frame)
    {
        const platform::Module* const module = platform::module_by_id(frame.module());
        if (module == nullptr) return {};
        const KeepErrno keep_errno;
        const analyse::ColdLock<ProcessNames> lock;
        const Symbol symbol = symbol_at(*module, call_address(frame) - module->bias);
        return symbol.name == nullptr ? std::string_view{} : analyse::immortal<Caches>().texts.keep(symbol.name);
    }

    static FrameNames in_module(const platform::Module& module, std::uintptr_t address)
    {
        const KeepErrno keep_errno;
        const analyse::ColdLock<ProcessNames> lock;
        return look_up(module, address, analyse::immortal<Caches>());
    }

private:
    static constexpr std::string_view coroutine_frame = "coroutine frame of ";

    /// What a block is that begins with this word.
    static std::string_view type_by(std::uintptr_t word)
    {
        const platform::Module* const module = platform::module_at(word);
        if (module == nullptr) return {};
        const analyse::ColdLock<ProcessNames> lock;
        Caches& caches = analyse::immortal<Caches>();
        const std::uint64_t key = Frame{word | std::uint64_t{module->id} << 48}.bits;
        const auto known = caches.types.find(key);
        if (known != caches.types.end()) return known->second;
        return caches.types.emplace(key, type_by(*module, word - module->bias, caches)).first->second;
    }

    /// Stacks of the record stay where they are; those of other snapshots are looked at anew if they share a place.
    std::string_view type_of_stack(const Stack& stack)
    {
        if (stack.empty()) return {};
        const auto key = reinterpret_cast<std::uintptr_t>(stack.begin());
        {
            const analyse::ColdLock<ProcessNames> lock;
            Table<std::uint64_t, StackType>& known = analyse::immortal<Caches>().stack_types;
            if (const auto found = known.find(key); found != known.end() && found->second.is_of(stack))
                return found->second.type;
        }
        const std::string type = type_by_stack(stack, *this); // asks for names, which takes the lock
        const KeepErrno keep_errno;
        const analyse::ColdLock<ProcessNames> lock;
        Caches& caches = analyse::immortal<Caches>();
        const StackType kept{stack.size(), stack[0], caches.texts.keep(type)};
        caches.stack_types.insert_or_assign(key, kept);
        return kept.type;
    }

    /// The return address may be the first of the next line, or of the next function.
    static std::uintptr_t call_address(Frame frame) noexcept { return frame.address() - 1; }

    static FrameNames look_up(Frame frame, Caches& caches)
    {
        FrameNames names;
        const platform::Module* const module = platform::module_by_id(frame.module());
        if (module == nullptr) {
            names.offset = call_address(frame);
            names.calls = Calls(caches, {}).finish();
            return names;
        }
        return look_up(*module, call_address(frame) - module->bias, caches);
    }

    static FrameNames look_up(const platform::Module& module, std::uintptr_t address, Caches& caches)
    {
        FrameNames names;
        names.module = module.path;
        names.offset = address;
        Calls calls(caches, names.module);
        calls_at(module, address, calls);
        const Symbol symbol = symbol_at(module, address);
        calls.prefer_symbol(symbol.name);
        if (symbol.name != nullptr) names.return_offset = address + 1 - symbol.begin;
        names.calls = calls.finish();
        return names;
    }

    /// The linked name of the coroutine that a part belongs to. clang's parts have it; those of g++ have it in the name
    /// of their parameter's type, behind its length: "...18_Z8count_upi.Frame".
    static std::string coroutine_of(std::string_view part)
    {
        constexpr std::string_view frame = ".Frame";
        if (!part.ends_with(frame)) return std::string(part);
        for (std::size_t begin = part.find("_Z", 2); begin != std::string_view::npos;
             begin = part.find("_Z", begin + 2))
            if (part.substr(0, begin).ends_with(std::to_string(part.size() - begin)))
                return std::string(part.substr(begin, part.size() - begin - frame.size()));
        return std::string(part);
    }

    static std::string_view type_by(const platform::Module& module, std::uintptr_t address, Caches& caches)
    {
        const Symbol symbol = symbol_at(module, address);
        if (symbol.name == nullptr) return {};
        // Compilers keep a coroutine's frame behind the addresses of its two parts, which are named after it.
        const std::string_view linked = symbol.name;
        for (const std::string_view part : {".actor", ".resume", ".destroy"})
            if (address == symbol.begin && linked.ends_with(part)) {
                const std::string function = coroutine_of(linked.substr(0, linked.size() - part.size()));
                return caches.texts.keep(std::string(coroutine_frame) +
                                         short_function(caches.demangle(function.c_str())));
            }
        // Itanium C++ ABI 2.5.2: an object's first word points into "vtable for X", past the offset and type_info words.
        if (address < symbol.begin + 2 * sizeof(void*)) return {};
        constexpr std::string_view prefix = "vtable for ";
        const std::string_view name = caches.demangle(symbol.name);
        return name.starts_with(prefix) ? caches.texts.keep(short_type(name.substr(prefix.size())))
                                        : std::string_view{};
    }
};

constinit ProcessNames names;

} // namespace

analyse::Names& process_names() noexcept { return names; }

analyse::FrameNames names_in(const platform::Module& module, std::uintptr_t address)
{
    return ProcessNames::in_module(module, address);
}

std::string_view linkage_name(Frame frame) { return ProcessNames::linkage_name(frame); }

VariableName variable_at(const void* address) { return names.variable(reinterpret_cast<std::uintptr_t>(address)); }

std::string_view module_path(Frame frame) noexcept
{
    const platform::Module* const module = platform::module_by_id(frame.module());
    return module == nullptr ? std::string_view{} : module->path;
}

} // namespace heapmark::symbolise
