# SPDX-License-Identifier: BSL-1.0
"""What real.py, googletest.py and installed.py share: runs of suites for Google Test, times, tables in README.md."""
import os
import pathlib
import re
import statistics
import subprocess
import time

TIMEOUT_S = 280


def environment(**more: str) -> dict[str, str]:
    """Of the caller, without what would change a suite. GLib's own pool of small blocks is off, as its manual says for
    memory checkers: a block in it is no block of malloc's."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("HEAPMARK_", "GTEST_", "G_SLICE", "G_DEBUG"))}
    return {**kept, "G_SLICE": "always-malloc", **more}


def run(program: str, *arguments: str, **more: str) -> tuple[str, int, float]:
    """What it printed, its exit status, and the seconds that it took."""
    began = time.monotonic()
    done = subprocess.run([program, *arguments], env=environment(**more), text=True, check=False, timeout=TIMEOUT_S,
                          errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout, done.returncode, time.monotonic() - began


def tests_in(output: str) -> list[tuple[str, str, bool]]:
    """(test, what it printed, whether it failed) of each test that a suite for Google Test ran."""
    return [(test, text, "FAILED" in end) for test, text, end in re.findall(
        r"^\[ RUN      \] (\S+)\n(.*?)^\[(       OK |  FAILED  |  SKIPPED )\] \1(?![^\s,])", output, re.M | re.S)]


def time_ratio(program: str, bare: str, *arguments: str, rounds: int = 10) -> float:
    """Time of the one ÷ time of the other: medians of runs in turn."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for one, list_of_times in zip((program, bare), times):
            list_of_times.append(run(one, *arguments)[2])
    return statistics.median(times[0]) / statistics.median(times[1])


def markdown(head: list[str], rows: list[list]) -> str:
    """The first column is words, the others are figures."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def write_table(readme: str, name: str, text: str) -> None:
    """Puts it between the marks of that name."""
    begin, end = f"<!-- table: {name} -->", f"<!-- end of table: {name} -->"
    file = pathlib.Path(readme)
    before, rest = file.read_text().split(begin)
    file.write_text(f"{before}{begin}\n\n{text}\n\n{end}{rest.split(end)[1]}")
