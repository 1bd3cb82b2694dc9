# SPDX-License-Identifier: BSL-1.0
# How a test is declared: heapmark_unit_test for the rooms alone, heapmark_override_test for a program whose heap is
# tracked.
include_guard()
find_package(doctest REQUIRED)
find_package(Threads REQUIRED)

add_library(heapmark_doctest_main OBJECT ${CMAKE_CURRENT_LIST_DIR}/doctest_main.cpp)
heapmark_own_target(heapmark_doctest_main)
target_link_libraries(heapmark_doctest_main PUBLIC doctest::doctest)

# heapmark_unit_test(name source... [LIBRARIES library...])
# A doctest program (main is supplied) of the rooms; it links no override. The test is called unit.<name>.
function(heapmark_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES")
  add_executable(unit_${name} ${arg_UNPARSED_ARGUMENTS})
  heapmark_own_target(unit_${name})
  target_link_libraries(unit_${name} PRIVATE heapmark_rooms heapmark_doctest_main doctest::doctest ${arg_LIBRARIES})
  add_test(NAME unit.${name} COMMAND unit_${name})
  set_tests_properties(unit.${name} PROPERTIES TIMEOUT 120)
endfunction()

# heapmark_override_test(name source... [PRELOAD] [PRELOAD_ONLY] [DOCTEST] [LIBRARIES library...] [ARGS argument...]
#                        [ENVIRONMENT variable=value...])
# A program in its own process, linked with heapmark::heapmark; the test, called override.<name>, passes when it exits
# with 0. DOCTEST supplies doctest's main.
# PRELOAD builds the program a second time, without heapmark but with HEAPMARK_TEST_PRELOADED=1 defined, and runs it
# with LD_PRELOAD as preload.<name>: such a program may use only the C API, declared weak or found with dlsym.
function(heapmark_override_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PRELOAD;PRELOAD_ONLY;DOCTEST" "" "LIBRARIES;ARGS;ENVIRONMENT")
  if(arg_DOCTEST)
    list(APPEND arg_LIBRARIES heapmark_doctest_main doctest::doctest)
  endif()
  if(NOT arg_PRELOAD_ONLY)
    add_executable(override_${name} ${arg_UNPARSED_ARGUMENTS})
    heapmark_own_target(override_${name})
    target_link_libraries(override_${name} PRIVATE heapmark::heapmark ${arg_LIBRARIES})
    add_test(NAME override.${name} COMMAND override_${name} ${arg_ARGS})
    set_tests_properties(override.${name} PROPERTIES TIMEOUT 120 ENVIRONMENT "${arg_ENVIRONMENT}")
  endif()
  if(arg_PRELOAD OR arg_PRELOAD_ONLY)
    add_executable(preload_${name} ${arg_UNPARSED_ARGUMENTS})
    heapmark_own_target(preload_${name})
    target_compile_definitions(preload_${name} PRIVATE HEAPMARK_TEST_PRELOADED=1)
    target_include_directories(preload_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(preload_${name} PRIVATE Threads::Threads ${CMAKE_DL_LIBS} ${arg_LIBRARIES})
    add_dependencies(preload_${name} heapmark_preload)
    add_test(NAME preload.${name} COMMAND preload_${name} ${arg_ARGS})
    set_tests_properties(preload.${name} PROPERTIES TIMEOUT 120
      ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:heapmark::preload>;${arg_ENVIRONMENT}")
  endif()
endfunction()
