# SPDX-License-Identifier: BSL-1.0
# What heapmark must not do to the project that includes it.
foreach(name BUILD_TESTS BUILD_EXAMPLES BUILD_BENCHMARKS INSTALL)
  if(HEAPMARK_${name})
    message(FATAL_ERROR "HEAPMARK_${name} is on in a subproject")
  endif()
endforeach()
foreach(name CMAKE_CXX_FLAGS CMAKE_C_FLAGS CMAKE_POSITION_INDEPENDENT_CODE CMAKE_CXX_VISIBILITY_PRESET BUILD_TESTING)
  if(NOT "${${name}}" STREQUAL "")
    message(FATAL_ERROR "${name} is set to ${${name}}")
  endif()
endforeach()

# The command that compiles the user's file has the user's flags, and of heapmark's only the include folder.
add_test(NAME imposes_no_flags COMMAND ${CMAKE_COMMAND} -Dcommands=${CMAKE_BINARY_DIR}/compile_commands.json
  -P ${CMAKE_CURRENT_LIST_DIR}/imposes_no_flags.cmake)
