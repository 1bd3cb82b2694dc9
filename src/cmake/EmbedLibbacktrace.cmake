# SPDX-License-Identifier: BSL-1.0
# heapmark_embed_libbacktrace(target...): a private copy of libbacktrace as one object among the targets' sources, and
# the same as static library heapmark_backtrace for programs that link the rooms as objects (an object library cannot
# hold a ready-made object).
# heapmark is linked into other people's programs, which may have a libbacktrace of their own: here every symbol but the
# four in use becomes local, those four get names of ours, and its calls of dl_iterate_phdr, open, its own sort and its
# own reader of debug information are sent to src/symbolise/debug_info_libbacktrace.cpp, which shows it one file, and one
# unit of that, at a time.
# HEAPMARK_LIBBACKTRACE names the archive; without it one in CMake's search paths is taken (a Conan package, a system's),
# else the one that comes with gcc, which also serves clang.
include_guard()

function(heapmark_find_libbacktrace)
  if(HEAPMARK_LIBBACKTRACE AND EXISTS "${HEAPMARK_LIBBACKTRACE}")
    return()
  endif()
  unset(HEAPMARK_LIBBACKTRACE CACHE)
  find_library(HEAPMARK_LIBBACKTRACE NAMES libbacktrace.a DOC "Static libbacktrace to embed")
  if(NOT HEAPMARK_LIBBACKTRACE)
    find_program(HEAPMARK_GXX NAMES g++ g++-14 g++-13 g++-12 g++-11 c++ gcc)
    mark_as_advanced(HEAPMARK_GXX)
    set(compilers ${HEAPMARK_GXX})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      list(PREPEND compilers "${CMAKE_CXX_COMPILER}")
    endif()
    foreach(compiler IN LISTS compilers)
      execute_process(COMMAND "${compiler}" -print-file-name=libbacktrace.a
        OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      if(IS_ABSOLUTE "${found}" AND EXISTS "${found}")
        set(HEAPMARK_LIBBACKTRACE "${found}" CACHE FILEPATH "Static libbacktrace to embed" FORCE)
        break()
      endif()
    endforeach()
  endif()
  if(NOT HEAPMARK_LIBBACKTRACE)
    message(FATAL_ERROR "heapmark needs a static libbacktrace to name functions and lines, and found none. "
      "On Debian and Ubuntu it comes with g++ (package libgcc-<version>-dev); elsewhere install libbacktrace "
      "(Conan: libbacktrace) and set HEAPMARK_LIBBACKTRACE to its libbacktrace.a.")
  endif()
  mark_as_advanced(HEAPMARK_LIBBACKTRACE)
endfunction()

function(heapmark_embed_libbacktrace)
  heapmark_find_libbacktrace()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/libbacktrace")
  file(MAKE_DIRECTORY "${folder}")
  set(used backtrace_create_state backtrace_pcinfo backtrace_syminfo backtrace_dwarf_add)
  list(TRANSFORM used PREPEND "-Wl,--undefined=" OUTPUT_VARIABLE take)
  # Through the compiler, which tells the linker the machine: lld cannot guess it from an archive.
  set(link "${CMAKE_CXX_COMPILER}" -nostdlib -r -Wl,--wrap=backtrace_qsort -Wl,--wrap=backtrace_dwarf_add)
  if(CMAKE_CXX_COMPILER_TARGET)
    list(APPEND link "${CMAKE_CXX_COMPILE_OPTIONS_TARGET}${CMAKE_CXX_COMPILER_TARGET}")
  endif()
  set(rename "--redefine-sym=dl_iterate_phdr=heapmark_backtrace_one_module"
    "--redefine-sym=open=heapmark_backtrace_open" "--redefine-sym=open64=heapmark_backtrace_open64"
    "--redefine-sym=__wrap_backtrace_qsort=heapmark_backtrace_qsort"
    "--redefine-sym=__wrap_backtrace_dwarf_add=heapmark_backtrace_instead_of_dwarf_add")
  set(keep "")
  foreach(name IN LISTS used)
    list(APPEND rename "--redefine-sym=${name}=heapmark_${name}")
    list(APPEND keep "--keep-global-symbol=heapmark_${name}")
  endforeach()
  # Renaming and hiding are two steps because GNU and LLVM objcopy do them in different order.
  add_custom_command(
    OUTPUT "${folder}/libbacktrace.o"
    COMMAND ${link} ${take} "${HEAPMARK_LIBBACKTRACE}" -o "${folder}/whole.o"
    COMMAND "${CMAKE_OBJCOPY}" --strip-debug ${rename} "${folder}/whole.o" "${folder}/renamed.o"
    COMMAND "${CMAKE_OBJCOPY}" ${keep} "${folder}/renamed.o" "${folder}/libbacktrace.o"
    DEPENDS "${HEAPMARK_LIBBACKTRACE}"
    COMMENT "Embedding ${HEAPMARK_LIBBACKTRACE}"
    VERBATIM)
  set_source_files_properties("${folder}/libbacktrace.o" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  add_library(heapmark_backtrace STATIC EXCLUDE_FROM_ALL "${folder}/libbacktrace.o")
  set_target_properties(heapmark_backtrace PROPERTIES LINKER_LANGUAGE CXX)
  foreach(target IN LISTS ARGN)
    target_sources(${target} PRIVATE "${folder}/libbacktrace.o")
    add_dependencies(${target} heapmark_backtrace) # or a parallel make might run the command twice at once
  endforeach()
endfunction()
