# SPDX-License-Identifier: BSL-1.0
# A user's programs at C++17, and how each shows that its heap is tracked.
enable_testing()
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# The C++ and the C API.
add_executable(uses_api ${CMAKE_CURRENT_LIST_DIR}/uses_api.cpp)
target_link_libraries(uses_api PRIVATE heapmark::heapmark)
add_test(NAME uses_api COMMAND uses_api)

# A program whose only use of the heap is inside libc: nothing in it names malloc, or heapmark.
add_executable(only_strdup ${CMAKE_CURRENT_LIST_DIR}/only_strdup.c)
target_link_libraries(only_strdup PRIVATE heapmark::heapmark)
add_test(NAME only_strdup COMMAND only_strdup)
set_tests_properties(only_strdup PROPERTIES ENVIRONMENT "HEAPMARK_OPTIONS=report_at_exit=1"
  PASS_REGULAR_EXPRESSION "41 bytes")

# A program that knows nothing of heapmark, under the preload library.
add_executable(preloaded ${CMAKE_CURRENT_LIST_DIR}/only_strdup.c)
add_test(NAME preloaded COMMAND preloaded)
set_tests_properties(preloaded PROPERTIES PASS_REGULAR_EXPRESSION "41 bytes"
  ENVIRONMENT "HEAPMARK_OPTIONS=report_at_exit=1;LD_PRELOAD=$<TARGET_FILE:heapmark::preload>")
if(TARGET heapmark_preload)
  add_dependencies(preloaded heapmark_preload)
endif()
