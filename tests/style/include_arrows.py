#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks the #include lines of src/ and include/ against the table of rooms in src/README.md.

Usage: include_arrows.py ROOT
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
# The public headers must stay light: these would cost every test file thousands of lines.
TOO_HEAVY = {"iostream", "chrono", "memory", "functional", "map", "unordered_map", "sstream", "fstream", "thread"}

# What such a header is about, and who includes it has already: std::allocator_traits.
MAY_INCLUDE = {"allocator.hpp": {"memory"}}

# Adapters include the library that they adapt to.
ADAPTERS = {"gtest.hpp", "gtest_assertions.hpp", "doctest.hpp", "catch2.hpp", "boost_test.hpp", "boost_stacktrace.hpp",
            "benchmark.hpp"}


def read_rooms(readme: str) -> dict[str, set[str]]:
    """Room -> rooms that it may include, from the table's first and third column."""
    rooms = {}
    for line in readme.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 6 and re.fullmatch(r"[a-z]+", cells[0]) and cells[0] != "room":
            rooms[cells[0]] = {room.strip() for room in cells[2].split(",") if room.strip()}
    return rooms


def ring(rooms: dict[str, set[str]]) -> list[str]:
    """Rooms that can be reached from themselves."""
    found = []
    for start in rooms:
        seen, todo = set(), list(rooms[start])
        while todo:
            room = todo.pop()
            if room not in seen:
                seen.add(room)
                todo += rooms.get(room, ())
        if start in seen:
            found.append(start)
    return found


def check_room_file(room: str, text: str, rooms: dict[str, set[str]]) -> list[str]:
    wrong = []
    for bracket, target in INCLUDE.findall(text):
        if bracket == "<":
            continue
        other = target.split("/")[0]
        if "/" not in target or other not in rooms:
            wrong.append(f'"{target}" is not written as "room/file"')
        elif other != room and other not in rooms[room]:
            wrong.append(f'"{target}": {room} may not include {other}')
    return wrong


def check_public_header(text: str, name: str = "") -> list[str]:
    wrong = []
    for bracket, target in INCLUDE.findall(text):
        if bracket == '"':
            wrong.append(f'"{target}": public headers include with <>')
        elif "/" in target and not target.startswith("heapmark/"):
            wrong.append(f"<{target}>: public headers include only heapmark and the standard library")
        elif target in TOO_HEAVY - MAY_INCLUDE.get(name, set()):
            wrong.append(f"<{target}> is too heavy for a public header")
    return wrong


def check_tree(root: pathlib.Path) -> list[str]:
    rooms = read_rooms((root / "src/README.md").read_text())
    wrong = [f"src/README.md: {room} can reach itself" for room in ring(rooms)]
    wrong += [f"src/{folder.name}: no row in src/README.md" for folder in sorted((root / "src").iterdir())
              if folder.is_dir() and folder.name not in rooms | {"cmake": set()}]
    file_count = 0
    for room in rooms:
        for path in sorted((root / "src" / room).rglob("*.[chisS]*")):
            file_count += 1
            wrong += [f"{path.relative_to(root)}: {what}" for what in check_room_file(room, path.read_text(), rooms)]
    for path in sorted((root / "include/heapmark").iterdir()):
        file_count += 1
        if path.name not in ADAPTERS:
            wrong += [f"{path.relative_to(root)}: {what}" for what in check_public_header(path.read_text(), path.name)]
    if file_count < 10 or len(rooms) < 5:
        wrong.append(f"only {file_count} files and {len(rooms)} rooms found: is {root} the root?")
    return wrong


def self_test() -> list[str]:
    rooms = {"base": set(), "record": {"base"}}
    ok = [
        not check_room_file("record", '#include "base/bits.hpp"\n#include <vector>', rooms),
        len(check_room_file("base", '#include "record/map.hpp"', rooms)) == 1,
        len(check_room_file("record", '  #  include "map.hpp"', rooms)) == 1,
        len(check_public_header("#include <iostream>\n#include <boost/x.hpp>\n#include <vector>")) == 2,
        ring({"a": {"b"}, "b": {"a"}, "c": {"a"}}) == ["a", "b"],
    ]
    return [f"self-test {index} failed" for index, passed in enumerate(ok) if not passed]


if __name__ == "__main__":
    mistakes = self_test() + check_tree(pathlib.Path(sys.argv[1]))
    print("\n".join(mistakes) or "all arrows point the right way")
    sys.exit(bool(mistakes))
