#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs a suite and checks that each leak seeded in its source is told of at its line, under both policies, and nothing
else is.

Usage: check_suite.py SOURCE PROGRAM [ARGUMENT...]
"""
import os
import re
import subprocess
import sys

# The place of a finding is on the line of its title, or on the one before, as the framework has it.
FOUND = re.compile(r"([^\s:()]+)(?::|\()(\d+)[^\n]*\n?[^\n]*?heapmark: (.+?) left \d+ blocks?,")


def run(command: list[str], options: str) -> subprocess.CompletedProcess:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HEAPMARK_")}
    environment["HEAPMARK_OPTIONS"] = options
    return subprocess.run(command, env=environment, text=True, check=False, timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def main(source: str, *command: str) -> int:
    with open(source, encoding="utf-8") as file:
        seeded = {(found[1], number) for number, line in enumerate(file, 1)
                  if (found := re.search(r"// LEAKS (.*)", line))}
    wrong = [] if seeded else ["nothing is seeded"]
    for policy in ("lost", "survivors"):
        done = run(list(command), f"policy={policy}")
        # Frameworks wrap long lines, and Catch2 puts words between place and title.
        text = done.stdout.replace("FAILED:\nexplicitly with message:\n", "").replace("adapter/", "")
        found = {(test, int(line)) for file, line, test in FOUND.findall(text) if source.endswith(file.split("/")[-1])}
        # Survivors are exact. The search for holders goes by what could be a pointer: now and then a word left over in
        # unused memory of the framework's holds a block, so that it may miss a leak, but may not invent one.
        right = found == seeded if policy == "survivors" else found <= seeded and bool(found)
        if not right or done.returncode == 0:
            wrong.append(f"{policy}: missed {sorted(seeded - found)}, invented {sorted(found - seeded)}, "
                         f"ended with {done.returncode}:\n{done.stdout}")
        count = len(re.findall(r"heapmark: .+? left \d+ blocks?,", text))
        if count != len(found):
            wrong.append(f"{policy}: {count} findings, {len(seeded)} seeded:\n{done.stdout}")
        if "suppressions=FILE" not in re.sub(r"\s+", " ", text):
            wrong.append(f"{policy}: no word of what to do")
    print("\n\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
