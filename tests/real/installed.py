#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the test programs that packages install (/usr/share/installed-tests) without and under the preload library.

Usage: installed.py [--only PATTERN]... [--write README] LIBRARY

Each program runs in a folder of its own. Under the preload library it must end with the same status, print the same
lines "ok" and "not ok" (Test Anything Protocol), and tell of no fault, nor may any process that it starts. Where
results differ, both run once more: a program that differs from itself without the library, or in one of two runs with
it, is counted as unsteady. Exit status: 0 all is right, 1 not, 77 no such program is installed.
"""
import argparse
import configparser
import fnmatch
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from runs import markdown, write_table

SKIP = 77
TIMEOUT_S = 300
TESTS = pathlib.Path("/usr/share/installed-tests")


class Outcome:
    """What a program did: its status, and its results."""

    def __init__(self, status: int, output: str, seconds: float) -> None:
        self.status, self.output, self.seconds = status, output, seconds
        # Without what differs from run to run: times, numbers of processes, names of temporary files.
        self.results = sorted(re.sub(r"#.*|0x[0-9a-f]+|/tmp/\S+", "", line).strip()
                              for line in output.splitlines() if re.match(r"(not )?ok\b", line))

    def same(self, other: "Outcome") -> bool:
        return (self.status, self.results) == (other.status, other.results)


def read(file: pathlib.Path) -> list[str]:
    """The command that it stands for, with its environment."""
    description = configparser.ConfigParser(interpolation=None, strict=False)
    description.read(file)
    settings = [word for word in description.get("Test", "TestEnvironment", fallback="").split(";") if word]
    command = shlex.split(description.get("Test", "Exec", fallback=""))
    return ["env", *settings, *command] if settings else command


def execute(command: list[str], **more: str) -> Outcome:
    folder = tempfile.mkdtemp(prefix="installed-test-")
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C.UTF-8", "TZ": "UTC",
                   "HOME": folder, "TMPDIR": folder, "XDG_RUNTIME_DIR": folder, **more}
    began = time.monotonic()
    # A session of its own, so that what it leaves running ends with it; output to a file, which that may keep open.
    with tempfile.TemporaryFile() as output:
        with subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                              stderr=subprocess.STDOUT, start_new_session=True) as process:
            try:
                status = process.wait(TIMEOUT_S)
            except subprocess.TimeoutExpired:
                status = 124
            seconds = time.monotonic() - began
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        output.seek(0)
        text = output.read().decode(errors="replace")
    shutil.rmtree(folder, ignore_errors=True)
    return Outcome(status, text, seconds)


class Row:
    """What became of the programs of one package."""

    def __init__(self) -> None:
        self.programs, self.tests, self.unsteady, self.different, self.faults, self.reports = 0, 0, 0, 0, 0, 0
        self.times: list[tuple[float, float]] = []


def judge(row: Row, name: str, command: list[str], library: str, reports: pathlib.Path) -> list[str]:
    plain = execute(command)
    options = f"report_at_exit=1:color=never:output={reports}/%p"
    preloaded = execute(command, LD_PRELOAD=library, HEAPMARK_OPTIONS=options)
    wrong = []
    row.programs += 1
    row.tests += len(plain.results)
    if not plain.same(preloaded):
        again = execute(command)
        preloaded_again = execute(command, LD_PRELOAD=library, HEAPMARK_OPTIONS=options)
        if not plain.same(again):
            row.unsteady += 1
            print(f"{name}: differs between two runs without the library")
        elif plain.same(preloaded_again):
            row.unsteady += 1
            print(f"{name}: differed in one of two runs under the library\n{preloaded.output[-1500:]}")
        else:
            row.different += 1
            lines = sorted(set(plain.results) ^ set(preloaded.results))
            wrong.append(f"{name}: status {plain.status} became {preloaded.status}; {lines[:10]}\n"
                         f"{preloaded.output[-3000:]}")
    else:
        row.times.append((plain.seconds, preloaded.seconds))
    for report in sorted(reports.iterdir()):
        text = report.read_text(errors="replace")
        if re.fullmatch(r"heapmark: process \d+ \(.*\) ended by _exit, so there is no report; .*\n", text):
            continue
        row.reports += 1
        if re.search("^no faults$", text, re.M):
            continue
        faults = re.search(r"^\d+ faults?: (.*)$", text, re.M)
        told = faults[1] if faults else "an incomplete report"
        row.faults += 1
        wrong.append(f"{name}: {told}\n{text[faults.start() if faults else -1500:][:4000]}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--write", default="")
    parser.add_argument("library")
    given = parser.parse_args()
    files = {str(file.relative_to(TESTS).with_suffix("")): file for file in sorted(TESTS.glob("**/*.test"))}
    if given.only:
        files = {name: file for name, file in files.items() if any(fnmatch.fnmatch(name, only) for only in given.only)}
    if not files:
        print("cannot run here: no such test program is installed")
        return SKIP
    rows: dict[str, Row] = {}
    wrong: list[str] = []
    for name, file in files.items():
        if command := read(file):
            row = rows.setdefault(name.split("/")[0], Row())
            with tempfile.TemporaryDirectory(prefix="reports-") as reports:
                wrong += judge(row, name, command, os.path.abspath(given.library), pathlib.Path(reports))
    columns = ["tests of", "programs", "tests", "unsteady", "different results", "faults told", "time ÷ bare"]
    text = markdown(columns, [
        [name, row.programs, row.tests, row.unsteady, row.different, row.faults,
         f"{sum(t[1] for t in row.times) / sum(t[0] for t in row.times):.2f}" if row.times else ""]
        for name, row in rows.items()])
    print(text)
    reports_read = sum(row.reports for row in rows.values())
    print(f"\n{reports_read} processes told of their faults")
    if reports_read < len(files):
        wrong.append("fewer than there are programs")
    if given.write:
        write_table(given.write, "installed.py", text)
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
