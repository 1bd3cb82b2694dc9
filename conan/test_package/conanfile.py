# SPDX-License-Identifier: BSL-1.0
"""Builds the find_package consumer of tests/package against the Conan package, and runs its tests."""
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class HeapmarkTestConan(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "CMakeToolchain"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure(build_script_folder=os.path.join("..", "..", "tests", "package", "find_package"))
        cmake.build()

    def test(self):
        if can_run(self):
            CMake(self).ctest()
