# SPDX-License-Identifier: BSL-1.0
# What heapmark's own targets have in common. Nothing here reaches a user's target.
include_guard()

# The language, the warnings and the visibility of our sources.
function(heapmark_own_target target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wshadow>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${HEAPMARK_WARNINGS_AS_ERRORS}>>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # Sees overlapping copies inside std::string at -O3 (GCC bug 105651).
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
  endif()
endfunction()

# A part of the library: as above; hidden visibility, because exported names are marked one by one; and
# position-independent, because the same objects go into the static and into the shared library.
function(heapmark_library_target target)
  heapmark_own_target(${target})
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_include_directories(${target} SYSTEM PRIVATE ${HEAPMARK_BOOST_INCLUDE_DIR})
endfunction()
