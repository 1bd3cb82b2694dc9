#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compares heapmark with its peers: `./dev bench` builds what is needed and starts this.

Every workload runs bare and under each peer in turn, round after round, so that all meet the same machine.
"""
import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import curve
import goals
import machine
import measure
import peers
import process
import report

BENCHMARKS = Path(__file__).resolve().parent.parent


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True, help="build folder (./dev bench fills this in)")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, one round: checks that all works, no more")
    parser.add_argument("--rounds", type=int, default=7, help="how often each peer has its turn (default: 7)")
    parser.add_argument("--seconds", type=float, default=0.2, help="that one run of a workload works for (default: 0.2)")
    parser.add_argument("--output", type=Path, help="folder for the results (default: benchmarks; of a quick run, the "
                                                    "build folder)")
    return parser.parse_args()


def make_plan(chosen: argparse.Namespace, built: Path, scratch: str) -> measure.Plan:
    quick = chosen.quick
    return measure.Plan(
        built=str(built), scratch=scratch, rounds=1 if quick else chosen.rounds, seconds=0.01 if quick else chosen.seconds,
        timeout=40 if quick else 60, old_blocks=5_000 if quick else 1_000_000,
        document_bytes=20_000 if quick else 2_000_000, tables=1 if quick else 2,
        compiler=shutil.which("clang++") or "", source=str(BENCHMARKS / "workloads/templates.cpp"),
        threads=[1, 2] if quick else [1, 2, 8], slow_in_cells=not quick)


def measure_parts(plan: measure.Plan, quick: bool) -> dict[str, dict[str, float]]:
    """{benchmark: {"ns": of one call, "ns_per_frame" or the like: where it has that}}, medians of repetitions."""
    program = Path(plan.built, "bench_parts")
    if not program.exists():
        return {}
    done = subprocess.run([program, "--benchmark_format=json", f"--benchmark_min_time={0.001 if quick else 0.1}",
                           f"--benchmark_repetitions={1 if quick else 5}"],
                          capture_output=True, text=True, check=True, cwd=plan.scratch)
    taken: dict[str, dict[str, list[float]]] = {}
    for run in json.loads(done.stdout)["benchmarks"]:
        if run.get("run_type") != "iteration":
            continue
        if run.get("error_occurred"):
            raise process.NoFigure(f"{run['name']}: {run['error_message']}")
        to_ns = {"ns": 1, "us": 1e3, "ms": 1e6}[run["time_unit"]]
        name = run["name"].split("/iterations:")[0]
        figures = taken.setdefault(name, {})
        figures.setdefault("ns", []).append(run["cpu_time"] * to_ns)
        for key in ("per_frame", "per_survivor"):
            if key in run:
                figures.setdefault(f"ns_{key}", []).append(run[key] * 1e9)
    return {name: {key: measure.spread(values)[0] for key, values in figures.items()} for name, figures in taken.items()}


def measure_report(plan: measure.Plan) -> dict[str, float]:
    return process.run([f"{plan.built}/bench_heapmark", "report"], {}, plan.scratch, plan.timeout)


def measure_lost(plan: measure.Plan) -> dict[str, list[float]]:
    """Milliseconds of heapmark and of LeakSanitizer, in turn; [] where one cannot run."""
    taken: dict[str, list[float]] = {"heapmark": [], "lsan": []}
    for _ in range(plan.rounds):
        for variant, values in taken.items():
            command = [f"{plan.built}/bench_{variant}", "lost", "--size", str(plan.old_blocks), "--seconds", str(plan.seconds)]
            try:
                values.append(process.run(command, {}, plan.scratch, plan.timeout)["lost_ms"])
            except (process.NoFigure, OSError) as failure:
                say(f"lost, {variant}: {failure}")
    return taken


def say(text: str) -> None:
    print(text, flush=True)


def main() -> int:
    chosen = arguments()
    started = time.monotonic()
    built = chosen.build.resolve() / "benchmarks"
    build = json.loads((built / "build.json").read_text())
    output = chosen.output or (built / "results" if chosen.quick else BENCHMARKS)
    with tempfile.TemporaryDirectory(prefix="heapmark-bench-") as scratch:
        plan = make_plan(chosen, built, scratch)
        described = machine.describe(build)
        everybody = peers.all_peers(build, str(built), scratch)
        say(table_of_peers(everybody))
        parts = measure_parts(plan, chosen.quick)
        reported = measure_report(plan)
        lost = measure_lost(plan)
        results = measure.measure(plan, everybody, say)
        sizes = [1_000, 10_000] if chosen.quick else [10_000, 100_000, 1_000_000, 4_000_000, 10_000_000]
        curves = curve.measure_curve(plan, sizes, say)
    reached = goals.all_goals(results, curves, parts, reported, lost)
    report.write(output, plan, everybody, results, curves, parts, reached, described)
    say("\n" + report.goal_table(reached))
    if chosen.quick:
        say("\nThese are the figures of a quick run: they tell nothing of speed.")
    say(f"\n{time.monotonic() - started:.0f} s; written: RESULTS.md, RESULTS.json and survivors.svg in {output}")
    wrong = measure.gaps(plan, everybody, results)
    wrong += [f"{s.name}: no point of the curve" for s in curves[:2] if not s.points]
    wrong += [f"goal without a figure: {g.what}" for g in reached
              if g.measured is None and not g.remark and not missing(plan, g)]
    for line in wrong:
        print(f"WRONG: {line}", file=sys.stderr)
    return 1 if wrong else 0


def missing(plan: measure.Plan, goal: goals.Goal) -> bool:
    """Whether the figure needs something that is not installed where this was built."""
    return goal.unit == "ns/frame" and not Path(plan.built, "bench_parts").exists()


def table_of_peers(everybody: list[peers.Peer]) -> str:
    lines = [f"  {p.name:34} {p.missing or p.version or 'yes'}" for p in everybody]
    return "\n".join(["peers:", *lines])


if __name__ == "__main__":
    sys.exit(main())
