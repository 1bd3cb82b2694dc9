#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Counts how many of the seeded tests are told to have lost memory, under the default policy.

Usage: count.py PROGRAM [ARGUMENT...]

Each of the 200 tests must be told of.
"""
import os
import re
import subprocess
import sys

TESTS = 200


def main(*command: str) -> int:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HEAPMARK_")}
    done = subprocess.run(command, env=environment, text=True, check=False, timeout=300, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    told = re.split(r"^seeded leak \d+$", done.stdout, flags=re.M)[1:]
    lost = sum(", lost: " in re.sub(r"\s+", " ", text) for text in told)
    held = re.findall(r"^  \d+ blocks?, .*held by .*$", done.stdout, re.M)
    print(f"{lost} of {len(told)} tests lost memory, {len(held)} stacks seemed held; exit status {done.returncode}")
    print("\n".join(held))
    failed = done.returncode == 0 or len(told) != TESTS or lost < TESTS
    if failed:
        print(done.stdout)
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
