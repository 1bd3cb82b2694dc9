#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks that every public header compiles alone and twice, without a warning, and weighs what it may.

Usage: public_headers.py ROOT CXX CC
"""
import pathlib
import subprocess
import sys
import tempfile

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
# Adapters include their framework, which is not ours to weigh.
ADAPTERS = {"gtest.hpp", "gtest_assertions.hpp", "doctest.hpp", "catch2.hpp", "boost_test.hpp", "boost_stacktrace.hpp",
            "benchmark.hpp"}
# What a header may weigh: a number of lines, or the standard headers whose weight it may have, with some lines of
# its own. Weights are preprocessed lines, blank lines and line markers not counted.
FWD_LINES = 1000
OWN_LINES = 750
ALLOWED_STANDARD = {
    "heapmark.hpp": ["vector", "string_view", "iosfwd", "cstdio"],
    "call_site.hpp": ["vector", "string_view", "iosfwd", "cstdlib", "atomic"],
    "track.hpp": ["vector", "string_view", "iosfwd", "cstdio"],
    "allocator.hpp": ["vector", "string_view", "iosfwd", "cstdio", "memory"],
    "mappings.hpp": ["vector", "string_view", "iosfwd", "cstdio"],
    "trace.hpp": ["vector", "string_view", "iosfwd", "cstdio", "string"],
    "accounting.hpp": ["vector", "string_view", "iosfwd", "cstdio"],
    "modules.hpp": ["vector", "string_view", "iosfwd", "cstdio"],
    "growth.hpp": ["vector", "string_view", "iosfwd", "cstdio"],
    "pmr.hpp": ["vector", "string_view", "iosfwd", "cstdio", "memory_resource"],
    "explain.hpp": ["vector", "string_view", "iosfwd", "cstdio"],
    "report.hpp": ["vector", "string_view", "iosfwd", "cstdio", "string"],
    "suppressions.hpp": ["vector", "string_view", "iosfwd", "cstdio", "string"],
    "main_guard.hpp": ["vector", "string_view", "iosfwd", "cstdio", "string"],
    "adapter.hpp": ["vector", "string_view", "iosfwd", "cstdio", "string"],
}


def run(command: list[str], source: str = "") -> subprocess.CompletedProcess:
    return subprocess.run(command, input=source, capture_output=True, text=True, check=False)


def weight(compiler: str, include: str, headers: list[str]) -> int:
    source = "".join(f"#include <{header}>\n" for header in headers)
    done = run([compiler, "-std=c++17", "-E", "-x", "c++", f"-I{include}", "-"], source)
    return sum(1 for line in done.stdout.splitlines() if line.strip() and not line.startswith("#"))


def compile_alone(command: list[str], include: str, header: str) -> str:
    source = f"#include <heapmark/{header}>\n" * 2
    done = run([*command, *WARNINGS, f"-I{include}", "-fsyntax-only", "-"], source)
    return done.stderr


def link_twice(compiler: str, include: str, headers: list[str]) -> str:
    """Two translation units with every header, linked: what is defined in a header must be inline."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "all.cpp"
        source.write_text("".join(f"#include <heapmark/{header}>\n" for header in headers))
        objects = [f"{folder}/{name}.o" for name in "ab"]
        for name in objects:
            done = run([compiler, "-std=c++17", f"-I{include}", "-c", str(source), "-o", name])
            if done.returncode:
                return done.stderr
        return run([compiler, "-nostdlib", "-r", *objects, "-o", f"{folder}/both.o"]).stderr


def main(root: str, cxx: str, cc: str) -> int:
    include = f"{root}/include"
    headers = sorted(path.name for path in pathlib.Path(include, "heapmark").iterdir() if path.name not in ADAPTERS)
    wrong = [] if "heapmark.hpp" in headers else ["no heapmark.hpp"]
    for header in headers:
        wrong.append(compile_alone([cxx, "-std=c++17", "-x", "c++"], include, header))
        wrong.append(compile_alone([cxx, "-std=c++20", "-x", "c++"], include, header))
        if header.endswith(".h"):
            wrong.append(compile_alone([cc, "-std=c99", "-x", "c"], include, header))
        lines = weight(cxx, include, [f"heapmark/{header}"])
        limit = FWD_LINES
        if header in ALLOWED_STANDARD:
            limit = weight(cxx, include, ALLOWED_STANDARD[header]) + OWN_LINES
        print(f"{header}: {lines} preprocessed lines, {limit} allowed")
        if lines > limit or lines == 0:
            wrong.append(f"{header} weighs {lines} lines")
    wrong.append(link_twice(cxx, include, headers))
    wrong = [text for text in wrong if text]
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
