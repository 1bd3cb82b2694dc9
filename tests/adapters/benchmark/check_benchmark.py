#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks the columns of allocations of Google Benchmark against what the benchmarks are known to allocate.

Usage: check_benchmark.py HEAPMARK BARE
"""
import json
import subprocess
import sys

# Allocations an iteration, bytes at once, bytes left.
KNOWN = {"allocates_nothing": (0, 0, 0), "allocates_three_of_100": (3, 100, 0),
         "keeps_1000_each_time": (None, 1000, 1000), "holds_ten_of_500": (10, 5000, 0)}


def results(program: str) -> dict[str, dict]:
    done = subprocess.run([program, "--benchmark_format=json", "--benchmark_min_time=0.01"], check=True, timeout=100,
                          stdout=subprocess.PIPE)
    return {each["name"]: each for each in json.loads(done.stdout)["benchmarks"]}


def main(with_heapmark: str, bare: str) -> int:
    wrong = []
    told = results(with_heapmark)
    if set(told) != set(KNOWN):
        wrong.append(f"benchmarks {sorted(told)}")
    for name, (allocations, at_once, left) in KNOWN.items():
        result = told[name]
        if allocations is not None and result["allocs_per_iter"] != allocations:
            wrong.append(f"{name}: {result['allocs_per_iter']} allocations an iteration")
        if result["max_bytes_used"] != at_once:
            wrong.append(f"{name}: {result['max_bytes_used']} bytes at once")
        if result["net_heap_growth"] != left:
            wrong.append(f"{name}: {result['net_heap_growth']} bytes left")
    if told["allocates_three_of_100"].get("total_allocated_bytes") not in {300 * runs for runs in range(1, 17)}:
        wrong.append(f"three blocks of 100: {told['allocates_three_of_100']}")
    if any("allocs_per_iter" in result for result in results(bare).values()):
        wrong.append("without heapmark there are columns too")
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
