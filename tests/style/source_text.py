#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks what every source file has: a licence line, lines of bearable length, no stray blanks.

Usage: source_text.py ROOT
"""
import pathlib
import sys

FOLDERS = ["include", "src", "tests", "examples", "benchmarks", "conan"]
SUFFIXES = {".cpp", ".hpp", ".c", ".h", ".S", ".inc", ".py", ".cmake"}
LONGEST_LINE = 130


def check(path: pathlib.Path) -> list[str]:
    lines = path.read_text().splitlines()
    wrong = []
    if not any("SPDX-License-Identifier: BSL-1.0" in line for line in lines[:2]):
        wrong.append("no licence line")
    wrong += [f"line {number} has {len(line)} characters" for number, line in enumerate(lines, 1)
              if len(line) > LONGEST_LINE]
    wrong += [f"line {number} has a tab or blanks at its end" for number, line in enumerate(lines, 1)
              if "\t" in line or line != line.rstrip()]
    return wrong


def main(root: pathlib.Path) -> int:
    files = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*"))
             if path.suffix in SUFFIXES or path.name == "CMakeLists.txt"]
    mistakes = [f"{path.relative_to(root)}: {what}" for path in files for what in check(path)]
    print(f"{len(files)} files read")
    print("\n".join(mistakes))
    return bool(mistakes) or len(files) < 20


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
