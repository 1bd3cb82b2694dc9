#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs suites for Google Test under heapmark, and compares what fails with what should.

Usage: real.py [--missing NAMES] [--preload LIBRARY] [--bare PROGRAM] [--runs N] [--alone] [--write README] PROGRAM...

A test whose name ends in "_leaks" leaks and should be told to have lost memory, each other one must pass: in --runs runs
of all tests, and, with --alone, also each as the only one of its process. Of the leaks one in 20 may be missed: libraries
keep blocks with unused parts, and what is left there from an earlier use of that memory now and then is the address of a
lost block, in one run and not in another. With --preload, the program of --bare, which has no heapmark, also runs under
the preload library: it must do the same as without. Prints a table, the sum of all runs; --write puts it into a file,
between its marks. Exit status: 0 all is right, 1 not, 77 nothing to run.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

SKIP = 77
BEGIN, END = "<!-- table: real.py -->", "<!-- end of table -->"


def run(program: str, *arguments: str, **environment: str) -> tuple[str, int, float]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEAPMARK_", "GTEST_"))}
    began = time.monotonic()
    done = subprocess.run([program, *arguments], env={**kept, **environment}, text=True, check=False, timeout=280,
                          errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout, done.returncode, time.monotonic() - began


class Row:
    """What became of the tests of one library."""

    def __init__(self) -> None:
        self.run, self.seeded, self.flagged, self.right = 0, 0, 0, 0
        self.false_alarms: list[str] = []
        self.missed: list[str] = []
        self.broken: list[str] = []

    def judge(self, test: str, text: str, failed: bool) -> None:
        self.run += 1
        told = re.search(r"^heapmark: \S+ left .*, lost: ", text, re.M) is not None
        leaks = test.endswith("_leaks")
        self.seeded += leaks
        self.flagged += told
        self.right += told and leaks
        if told and not leaks:
            self.false_alarms.append(test)
        if leaks and not told:
            self.missed.append(test)
        if failed != told or ("Failure" in text and text.count(": Failure") + text.count("unknown file: Failure")
                              > text.count("\nheapmark: ")):
            self.broken.append(test) # it fails for something else


def judge_output(output: str, rows: dict[str, Row], name: str) -> None:
    for test, text, end in re.findall(r"^\[ RUN      \] (\S+)\n(.*?)^\[(       OK |  FAILED  )\] \1", output,
                                      re.M | re.S):
        library = name or test.split(".")[0]
        rows.setdefault(library, Row()).judge(test, text, "FAILED" in end)


def table(rows: dict[str, Row]) -> str:
    lines = ["| suite | tests run | leaks seeded | flagged | true leaks | false alarms | missed |",
             "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for name, row in rows.items():
        lines.append(f"| {name} | {row.run} | {row.seeded} | {row.flagged} | {row.right} | {len(row.false_alarms)} | "
                     f"{len(row.missed)} |")
    total = [sum(column) for column in zip(*((row.run, row.seeded, row.flagged, row.right, len(row.false_alarms),
                                              len(row.missed)) for row in rows.values()))]
    return "\n".join([*lines, "| all | " + " | ".join(map(str, total)) + " |"])


def compare_preloaded(bare: str, library: str) -> list[str]:
    """The program without heapmark: the same results, and no fault told, under the preload library."""
    plain, status, _ = run(bare)
    other, other_status, _ = run(bare, LD_PRELOAD=library, HEAPMARK_OPTIONS="report_at_exit=1")
    results = [set(re.findall(r"^\[(?:       OK |  FAILED  )\] \S+", text, re.M)) for text in (plain, other)]
    wrong = []
    if status != other_status or results[0] != results[1] or not results[0]:
        wrong.append(f"under the preload library: status {status} became {other_status}, "
                     f"results differ in {sorted(results[0] ^ results[1])}")
    if not re.search(r"^no faults$", other, re.M):
        wrong.append("under the preload library: faults, or no report\n" + other[-3000:])
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser()
    for option in ("missing", "preload", "bare", "write"):
        parser.add_argument("--" + option, default="")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("programs", nargs="*")
    given = parser.parse_args()
    if not given.programs:
        print("cannot run here: no suite was built; missing: " + given.missing)
        return SKIP

    rows: dict[str, Row] = {}
    alone: dict[str, Row] = {}
    wrong: list[str] = []
    for program in given.programs:
        name = "" if pathlib.Path(program).name == "real_suite" else "Google Test's samples"
        for _ in range(given.runs):
            output, status, _ = run(program)
            judge_output(output, rows, name)
        leaks = "_leaks" in output
        if status != leaks:
            wrong.append(f"{program} ended with {status}\n{output[-2000:]}")
        if given.alone:
            for test in re.findall(r"^\[ RUN      \] (\S+)", output, re.M):
                judge_output(run(program, f"--gtest_filter={test}")[0], alone, name)

    text = table(rows)
    if given.alone:
        text += "\n\nEach test as the first and only one of its process:\n\n" + table(alone)
    print(text)
    for found in (rows, alone):
        for name, row in found.items():
            for what in ("false_alarms", "broken"):
                if getattr(row, what):
                    wrong.append(f"{name}: {what.replace('_', ' ')}: {', '.join(getattr(row, what))}")
            if row.missed:
                print(f"{name}: missed: {', '.join(row.missed)}")
        missed, seeded = (sum(counts) for counts in zip(*((len(row.missed), row.seeded) for row in found.values()))) \
            if found else (0, 0)
        if missed > seeded / 20:
            wrong.append(f"{missed} of {seeded} leaks missed")
    if given.bare and given.preload:
        wrong += compare_preloaded(given.bare, given.preload)
        times = [min(run(program)[2] for _ in range(3)) for program in (given.bare, given.programs[0])]
        print(f"\nreal_suite: {times[0] * 1000:.0f} ms bare, {times[1] * 1000:.0f} ms with heapmark, names of the leaks "
              f"included")
    if given.missing:
        print("not there, and so not run: " + given.missing.replace(";", ", "))
    if given.write:
        file = pathlib.Path(given.write)
        before, rest = file.read_text().split(BEGIN)
        file.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}")
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
