#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the cases of tests/cases as tests of a suite, and counts for each the lost blocks that it is told of.

Usage: count.py PROGRAM

What a case says at its head is the right answer: so many blocks in all its rounds together, and none where it says that
all is reachable.
"""
import os
import re
import subprocess
import sys

LOST = {"01": 2, "02": 1, "06": 1, "15": 6, "16": 2, "17": 5}
HELD = {"03", "10", "11", "13", "18", "19", "20", "21"}


def main(program: str) -> int:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HEAPMARK_")}
    # An allocation of one list node has a stack for each round.
    done = subprocess.run([program], env={**environment, "HEAPMARK_OPTIONS": "max_groups=0"}, text=True, check=False,
                          timeout=120, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    parts = re.split(r"^case (\d\d)$", done.stdout, flags=re.M)
    told = {}
    for name, text in zip(parts[1::2], parts[2::2]):
        words = re.sub(r"\s+", " ", text)
        told[name] = sum(map(int, re.findall(r"left (\d+) blocks?, \d+ bytes?, lost: ", words)))
    expected = {**LOST, **dict.fromkeys(HELD, 0)}
    wrong = [f"case {name}: {told.get(name)} lost blocks told, {count} are right"
             for name, count in sorted(expected.items()) if told.get(name) != count]
    if "the case failed" in done.stdout:
        wrong.append("a case failed")
    print("\n".join([*wrong, done.stdout] if wrong else [f"{len(told)} cases, as they say"]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
