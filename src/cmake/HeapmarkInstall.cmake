# SPDX-License-Identifier: BSL-1.0
# What `cmake --install` puts where: libraries, headers, and the CMake package "heapmark".
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/heapmark)

install(TARGETS heapmark heapmark_preload EXPORT heapmark_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET heapmark_program)
  install(TARGETS heapmark_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/heapmark DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT heapmark_targets FILE heapmark-targets.cmake NAMESPACE heapmark:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/heapmark-config.cmake.in
  ${PROJECT_BINARY_DIR}/heapmark-config.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a new minor version may change the API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/heapmark-config-version.cmake COMPATIBILITY SameMinorVersion)
# Test frameworks: their targets are made where they are used.
install(FILES ${CMAKE_CURRENT_LIST_DIR}/HeapmarkFrameworks.cmake DESTINATION ${package_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/adapters/ DESTINATION ${package_dir}/adapters
  FILES_MATCHING PATTERN "*_main.cpp" PATTERN "*_listener.cpp")
install(FILES ${PROJECT_BINARY_DIR}/heapmark-config.cmake ${PROJECT_BINARY_DIR}/heapmark-config-version.cmake
  DESTINATION ${package_dir})
