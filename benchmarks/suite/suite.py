#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""What 10,000 tiny tests cost with heapmark, divided by their bare cost.

Usage: suite.py BARE HEAPMARK [ROUNDS]

In each round (21 unless told) both run, one after the other; the ratio is taken within the round, of processor time and
of time by the clock, and the median printed with its quartiles. Output goes into a file, as in continuous integration.
"""
import os
import statistics
import sys
import tempfile
import time


def run(program: str, output: int) -> tuple[float, float]:
    os.ftruncate(output, 0)
    began = time.monotonic()
    process = os.posix_spawn(program, [program], os.environ,
                             file_actions=[(os.POSIX_SPAWN_DUP2, output, 1), (os.POSIX_SPAWN_DUP2, output, 2)])
    _, status, used = os.wait4(process, 0)
    if status != 0:
        sys.exit(f"{program} ended with {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime, time.monotonic() - began


def main(bare: str, with_heapmark: str, rounds: str = "21") -> None:
    with tempfile.TemporaryFile() as file:
        samples = [(run(bare, file.fileno()), run(with_heapmark, file.fileno())) for _ in range(int(rounds))]
    for index, name in enumerate(("processor time", "time by the clock")):
        ratios = [other[index] / plain[index] for plain, other in samples]
        low, middle, high = statistics.quantiles(ratios, n=4)
        plain = statistics.median(plain[index] for plain, _ in samples)
        other = statistics.median(other[index] for _, other in samples)
        print(f"{name}: {plain * 1000:.1f} ms bare, {other * 1000:.1f} ms with heapmark; "
              f"ratio {middle:.3f} (quartiles {low:.3f} and {high:.3f})")


if __name__ == "__main__":
    main(*sys.argv[1:])
