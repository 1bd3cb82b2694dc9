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

FINDING = re.compile(r"heapmark: (.+?) left \d+ blocks?,")
PLACE = re.compile(r"([^\s:()]+)(?::|\()(\d+)")


def findings(text: str) -> list[tuple[str, str, int]]:
    """(file, test, line) of each. The place is on the line of the title, or on the one before, as the framework has it."""
    told = []
    before = ""
    for line in text.splitlines():
        if title := FINDING.search(line):
            places = PLACE.findall(line[:title.start()]) or PLACE.findall(before) or [("", "0")]
            told.append((places[-1][0], title[1], int(places[-1][1])))
        before = line
    return told


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
        told = findings(text)
        found = {(test, line) for file, test, line in told if file and source.endswith(file.split("/")[-1])}
        if found != seeded or done.returncode == 0:
            wrong.append(f"{policy}: missed {sorted(seeded - found)}, invented {sorted(found - seeded)}, "
                         f"ended with {done.returncode}:\n{done.stdout}")
        if len(told) != len(found):
            wrong.append(f"{policy}: {len(told)} findings, {len(seeded)} seeded:\n{done.stdout}")
        if "suppressions=FILE" not in re.sub(r"\s+", " ", text):
            wrong.append(f"{policy}: no word of what to do")
    print("\n\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
