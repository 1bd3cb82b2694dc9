#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs Google Test's and Google Mock's own tests with heapmark and without, and compares the results.

Usage: googletest.py [--runs N] [--write README] PROGRAM BARE_PROGRAM [PROGRAM BARE_PROGRAM]...

None of them loses memory, so each must do the same with heapmark as without, and be told of nothing. --write puts the
table into a file, between its marks.
"""
import argparse
import pathlib
import re
import sys

from runs import markdown, run, tests_in, time_ratio, write_table

TOLD = re.compile(r"^heapmark: (?:\S+|the environment|suite \S+) (?:left .*, lost: |freed |released )", re.M)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--write", default="")
    parser.add_argument("programs", nargs="+")
    given = parser.parse_args()
    wrong: list[str] = []
    rows: list[list] = []
    for program, bare in zip(given.programs[::2], given.programs[1::2]):
        name = pathlib.Path(program).name
        plain, plain_status, _ = run(bare)
        expected = {(test, failed) for test, _, failed in tests_in(plain)}
        if not expected:
            wrong.append(f"{name}: no test ran\n{plain[-1000:]}")
        ran, false_alarms, others = 0, 0, 0
        for _ in range(given.runs):
            output, status, _ = run(program)
            results = {(test, failed) for test, _, failed in tests_in(output)}
            ran += len(results)
            for told in TOLD.finditer(output):
                false_alarms += 1
                wrong.append(f"{name}:\n{output[told.start():told.start() + 2000]}")
            different = expected ^ results
            others += len({test for test, _ in different})
            if different or status != plain_status:
                wrong.append(f"{name}: status {plain_status} became {status}, other results of {sorted(different)}"
                             f"\n{output[-3000:]}")
        rows.append([name, ran, false_alarms, others, f"{time_ratio(program, bare):.2f}"])
    text = markdown(["program", "tests run", "false alarms", "other results", "time ÷ bare"], rows)
    print(text)
    if given.write:
        write_table(given.write, "googletest.py", text)
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
