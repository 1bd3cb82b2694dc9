#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks what the two libraries define and need.

preload library  exports exactly the list in src/cmake/preload.map, and needs only the C library and ld.so
static library   defines nothing that could collide with a program's own symbols: only listed functions, names with
                 "heapmark" in them, and weak ones (templates, inline functions)

Usage: library_symbols.py preload.map libheapmark_preload.so libheapmark.a
"""
import re
import subprocess
import sys

NEEDED = re.compile(r"libc\.so\.6|ld-linux[-\w]*\.so\.\d|ld64\.so\.\d")


def listed(map_text: str) -> set[str]:
    """The names of the map's global section."""
    text = re.sub(r"/\*.*?\*/", "", map_text, flags=re.S)
    section = re.search(r"global:(.*?)local:", text, re.S).group(1)
    return {name.strip() for name in section.split(";") if name.strip()}


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def defined(*command: str) -> list[tuple[str, str]]:
    """(type letter, name) of each defined symbol that `nm` prints."""
    return re.findall(r"^[0-9a-f]+ ([A-Za-z]) (\S+)$", output("nm", "--defined-only", *command), re.M)


def check(map_path: str, preload: str, archive: str) -> list[str]:
    with open(map_path, encoding="utf-8") as file:
        allowed = listed(file.read())
    exported = {name.split("@")[0] for _, name in defined("-D", preload)}
    wrong = [f"{preload} does not export {name}" for name in sorted(allowed - exported)]
    wrong += [f"{preload} exports {name}, which is not in {map_path}" for name in sorted(exported - allowed)]

    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-dW", preload))
    wrong += [f"{preload} needs {name}" for name in needed if not NEEDED.fullmatch(name)]
    if not needed:
        wrong.append(f"{preload} needs nothing, not even the C library: was it read?")

    globals_of_archive = [name for kind, name in defined("--extern-only", archive) if kind not in "WVuw"]
    wrong += [f"{archive} defines {name}" for name in sorted(set(globals_of_archive))
              if name not in allowed and "heapmark" not in name]
    if not {"malloc", "heapmark_anchor"} <= set(globals_of_archive):
        wrong.append(f"{archive} lacks malloc or heapmark_anchor")
    print(f"{len(exported)} exported functions, needs {', '.join(needed)}, {len(globals_of_archive)} archive symbols")
    return wrong


if __name__ == "__main__":
    mistakes = check(*sys.argv[1:4])
    print("\n".join(mistakes))
    sys.exit(bool(mistakes))
