# SPDX-License-Identifier: BSL-1.0
# Interface targets for test frameworks, in heapmark's own build and in the installed package alike. Their sources are
# compiled in the user's target, with the framework that is there, so heapmark itself needs none of them.
include_guard(GLOBAL)

# heapmark_framework_target(name LINKS target... [SOURCE file])
function(heapmark_framework_target name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE" "LINKS")
  if(TARGET heapmark::${name})
    return()
  endif()
  add_library(heapmark::${name} INTERFACE IMPORTED GLOBAL)
  target_link_libraries(heapmark::${name} INTERFACE heapmark::heapmark ${arg_LINKS})
  if(arg_SOURCE)
    target_sources(heapmark::${name} INTERFACE ${arg_SOURCE})
  endif()
endfunction()

# heapmark_find_framework(name [target...])
# Looks for a package, unless the first target is there, and makes what it brings visible to the whole build: a user who
# links our target need not look for it too.
function(heapmark_find_framework package)
  if(TARGET ${ARGV1})
    return()
  endif()
  find_package(${package} QUIET)
  foreach(target IN LISTS ARGN)
    if(TARGET ${target})
      get_target_property(imported ${target} IMPORTED)
      if(imported)
        set_target_properties(${target} PROPERTIES IMPORTED_GLOBAL ON)
      endif()
    endif()
  endforeach()
endfunction()

# heapmark_add_framework(component source_folder): the targets of a component, if its framework is there.
function(heapmark_add_framework component sources)
  if(component STREQUAL "gtest")
    heapmark_find_framework(GTest GTest::gtest GTest::gtest_main GTest::gmock GTest::gmock_main)
    if(TARGET GTest::gtest)
      heapmark_framework_target(gtest LINKS GTest::gtest)
      heapmark_framework_target(gtest_main LINKS GTest::gtest SOURCE ${sources}/gtest_main.cpp)
    endif()
  endif()
endfunction()
