#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Counts how many of the seeded tests are told to have lost memory, under the default policy.

Usage: count.py PROGRAM [ARGUMENT...]

Each of the 200 tests must be told of, and no block may seem held, however long the environment is: where blocks and
frames lie, and so what dead words happen to point to, hangs on it.
"""
import os
import re
import subprocess
import sys

TESTS = 200
LENGTHS = (0, 1000, 3333)


def fails(command: tuple[str, ...], length: int) -> bool:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HEAPMARK_")}
    environment["PADDING"] = length * "x"
    done = subprocess.run(command, env=environment, text=True, check=False, timeout=300, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    told = re.split(r"^seeded leak \d+$", done.stdout, flags=re.M)[1:]
    lost = sum(", lost: " in re.sub(r"\s+", " ", text) for text in told)
    held = re.findall(r"^  \d+ blocks?, .*held by .*$", done.stdout, re.M)
    print(f"{lost} of {len(told)} tests lost memory, {len(held)} stacks seemed held; exit status {done.returncode}")
    print("\n".join(held))
    failed = done.returncode == 0 or len(told) != TESTS or lost < TESTS or bool(held)
    if failed:
        print(done.stdout)
    return failed


def main(*command: str) -> int:
    return any([fails(command, length) for length in LENGTHS])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
