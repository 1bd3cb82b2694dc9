#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs suites for Google Test under heapmark, and compares what fails with what should.

Usage: real.py [--missing NAMES] [--preload LIBRARY] [--runs N] [--alone] [--write README] [PROGRAM BARE_PROGRAM]...

A test whose name ends in "_leaks" leaks and should be told to have lost memory, each other one must pass: in --runs
runs of all tests, and, with --alone, also each as the only one of its process. Of the leaks one in 20 may be missed:
libraries keep blocks with unused parts, and what is left there from an earlier use of that memory now and then is the
address of a lost block, in one run and not in another. BARE_PROGRAM has no heapmark: the time of each library's tests
that leave nothing is compared with its time, and, with --preload, it must do the same under the preload library as
without. Prints a table, the sum of all runs; --write puts it into a file, between its marks. Exit status: 0 all is
right, 1 not, 77 nothing to run.
"""
import argparse
import pathlib
import re
import sys

from runs import markdown, run, tests_in, time_ratio, write_table

SKIP = 77
SAMPLES = "Google Test's samples"


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
    for test, text, failed in tests_in(output):
        rows.setdefault(name or test.split(".")[0], Row()).judge(test, text, failed)


def table(rows: dict[str, Row], times: dict[str, float]) -> str:
    columns = ["tests run", "leaks seeded", "flagged", "true leaks", "false alarms", "missed"]
    figures = {name: [row.run, row.seeded, row.flagged, row.right, len(row.false_alarms), len(row.missed)]
               for name, row in rows.items()}
    figures["all"] = [sum(column) for column in zip(*figures.values())]
    return markdown(["suite", *columns, "time ÷ bare"],
                    [[name, *row, f"{times[name]:.2f}" if name in times else ""] for name, row in figures.items()])


def compare_preloaded(bare: str, library: str) -> list[str]:
    """The program without heapmark: the same results, and no fault told, under the preload library."""
    plain, status, _ = run(bare)
    other, other_status, _ = run(bare, LD_PRELOAD=library, HEAPMARK_OPTIONS="report_at_exit=1")
    results = [{(test, failed) for test, _, failed in tests_in(text)} for text in (plain, other)]
    wrong = []
    if status != other_status or results[0] != results[1] or not results[0]:
        wrong.append(f"under the preload library: status {status} became {other_status}, "
                     f"results differ in {sorted(results[0] ^ results[1])}")
    if not re.search(r"^no faults$", other, re.M):
        wrong.append("under the preload library: faults, or no report\n" + other[-3000:])
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser()
    for option in ("missing", "preload", "write"):
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
    times: dict[str, float] = {}
    rounds = max(5, given.runs)
    for program, bare in zip(given.programs[::2], given.programs[1::2]):
        name = "" if pathlib.Path(program).name == "real_suite" else SAMPLES
        for _ in range(given.runs):
            output, status, _ = run(program)
            judge_output(output, rows, name)
        leaks = "_leaks" in output
        if status != leaks:
            wrong.append(f"{program} ended with {status}\n{output[-2000:]}")
        for library in [SAMPLES] if name else [*rows, "all"]:
            only = "*" if name else "*_clean" if library == "all" else f"{library}.*_clean"
            times[library] = time_ratio(program, bare, f"--gtest_filter={only}", rounds=rounds)
        if given.preload:
            wrong += compare_preloaded(bare, given.preload)
        if given.alone:
            for test in re.findall(r"^\[ RUN      \] (\S+)", output, re.M):
                judge_output(run(program, f"--gtest_filter={test}")[0], alone, name)

    text = table(rows, times)
    if given.alone:
        text += "\n\nEach test as the first and only one of its process:\n\n" + table(alone, {})
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
    if given.missing:
        print("not there, and so not run: " + given.missing.replace(";", ", "))
    if given.write:
        write_table(given.write, "real.py", text)
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
