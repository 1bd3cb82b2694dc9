# SPDX-License-Identifier: BSL-1.0
# The command-line program, target heapmark_program, called heapmark.
include_guard()
include(GNUInstallDirs)
find_path(HEAPMARK_CLI11_INCLUDE_DIR CLI/CLI.hpp)
mark_as_advanced(HEAPMARK_CLI11_INCLUDE_DIR)
if(NOT HEAPMARK_CLI11_INCLUDE_DIR)
  message(FATAL_ERROR "The heapmark program needs CLI11, headers alone (Debian and Ubuntu: libcli11-dev; Conan: cli11). "
    "HEAPMARK_BUILD_PROGRAM=OFF builds the libraries without it.")
endif()
find_package(pugixml QUIET)
if(NOT TARGET pugixml::pugixml)
  message(FATAL_ERROR "The heapmark program needs pugixml (Debian and Ubuntu: libpugixml-dev; Conan: pugixml). "
    "HEAPMARK_BUILD_PROGRAM=OFF builds the libraries without it.")
endif()

add_executable(heapmark_program
  program/diff_command.cpp program/main.cpp program/match_command.cpp program/preloadable.cpp
  program/run_command.cpp program/test_results.cpp)
heapmark_library_target(heapmark_program)
set_target_properties(heapmark_program PROPERTIES OUTPUT_NAME heapmark)
target_include_directories(heapmark_program SYSTEM PRIVATE ${HEAPMARK_CLI11_INCLUDE_DIR})
target_link_libraries(heapmark_program PRIVATE heapmark_rooms pugixml::pugixml)
# Where it finds the preload library once both are installed.
file(RELATIVE_PATH from_program /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
set_source_files_properties(program/main.cpp PROPERTIES COMPILE_DEFINITIONS HEAPMARK_VERSION="${PROJECT_VERSION}")
set_source_files_properties(program/run_command.cpp PROPERTIES
  COMPILE_DEFINITIONS HEAPMARK_LIBRARIES_FROM_PROGRAM="${from_program}")
