// SPDX-License-Identifier: BSL-1.0
// What one program, shared library or plugin leaves behind, also after it was unloaded. Included by heapmark.hpp.
//
//     const heapmark::module_scope plugin("./codec.so");
//     load_use_and_unload("./codec.so");
//     CHECK(plugin.survivors().empty());
//
// Snapshot::group_by(by_module) and accounting_by_module() tell of all modules at once.
#ifndef HEAPMARK_MODULES_HPP
#define HEAPMARK_MODULES_HPP

#include <heapmark/heapmark.hpp>

namespace heapmark {

/// One module, and a generation that begins with the scope.
/// A module that is unloaded keeps its name and those of its functions; another one that comes to lie at the same
/// addresses is another one. A file that is loaded again is the same module, wherever it lies.
/// Shape: a value, which may outlive the module.
class module_scope {
public:
    /// By path, or by what in_module takes: the end of the path after a '/', or the file name up to ".so". It need not be
    /// loaded yet, so what its constructors allocate can be in the scope. A path with a '/' in it is taken from the current
    /// directory, and symbolic links in it are followed.
    explicit module_scope(const char* path);

    /// By the handle that dlopen returned. What loading it has allocated is older than the scope.
    /// Errors: throws std::invalid_argument when it is not the handle of a loaded module.
    explicit module_scope(void* handle);

    /// The generation that began with the scope.
    [[nodiscard]] Generation first() const noexcept { return first_; }

    /// As it was given; for a handle the module's path. Valid until the process ends.
    [[nodiscard]] std::string_view module() const noexcept { return name_; }

    /// Whether a frame of the block's stack is in the module: so it, or what it called, asked for the block.
    /// Only the frames that were kept can tell: `depth` of HEAPMARK_OPTIONS, 32 unless told.
    [[nodiscard]] bool is_from(const Block& block) const;

    /// The live blocks born since the scope began that are from the module. Otherwise as heapmark::survivors().
    [[nodiscard]] Snapshot survivors() const;

private:
    Generation first_;
    std::string_view name_;
    std::string_view path_; ///< absolute; empty where only the name is known
};

} // namespace heapmark

#endif
