# SPDX-License-Identifier: BSL-1.0
"""Conan 2 recipe: builds heapmark from this checkout and packages what `cmake --install` puts."""
import os

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class HeapmarkConan(ConanFile):
    name = "heapmark"
    version = "0.1.0"
    description = "Mark a generation, run something, see what it left on the heap"
    license = "BSL-1.0"
    topics = ("memory-leak", "testing", "malloc")
    settings = "os", "arch", "compiler", "build_type"
    options = {"fPIC": [True, False]}
    default_options = {"fPIC": True}
    package_type = "static-library"

    def validate(self):
        if self.settings.get_safe("compiler.cppstd"):
            check_min_cppstd(self, 17)

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "include/*", "src/*"):
            copy(self, pattern, root, self.export_sources_folder)

    def requirements(self):
        # Boost.Intrusive, in the sources alone.
        self.requires("boost/[>=1.74 <2]", visible=False, libs=False, options={"header_only": True})
        # The command line of the program, headers too.
        self.requires("cli11/[>=2.1 <3]", visible=False, libs=False)
        self.requires("pugixml/[>=1.13 <2]", visible=False)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES", "BENCHMARKS"):
            toolchain.cache_variables[f"HEAPMARK_BUILD_{part}"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # The package's own config file says more than Conan could: the preload target and the link option.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "heapmark")]
