# SPDX-License-Identifier: BSL-1.0
"""Runs every workload under every peer in turn, and keeps a figure or a reason for each."""
import statistics
from dataclasses import dataclass, field
from typing import Callable

from peers import Peer
from process import NoFigure, run


SLOW_SHARE = 10  # slow peers read a document so many times smaller; its peak memory is not compared
LONG_SECONDS = 3.0  # a slow peer whose run took longer is not run again


@dataclass(frozen=True)
class Cell:
    """A workload with a number of threads."""
    workload: str
    threads: int


@dataclass
class Plan:
    built: str  # folder of the programs
    scratch: str
    rounds: int
    seconds: float  # that one run of a workload works for
    timeout: float
    old_blocks: int  # of `million`
    document_bytes: int
    tables: int  # how much the compiler gets to do
    compiler: str  # that workload `compile` runs; "" when there is none
    source: str
    threads: list[int]
    slow_in_cells: bool  # False: peers that are slow only in the first workload


@dataclass
class Results:
    samples: dict[tuple[Cell, str], dict[int, dict[str, float]]] = field(default_factory=dict)  # by round
    reasons: dict[tuple[Cell, str], str] = field(default_factory=dict)

    def paired(self, cell: Cell, peer: str, base_cell: Cell, base_peer: str, figure: str) -> list[float]:
        """Quotients of what two took in the same round."""
        ours, base = self.samples.get((cell, peer), {}), self.samples.get((base_cell, base_peer), {})
        return [ours[r][figure] / base[r][figure] for r in sorted(ours)
                if r in base and base[r].get(figure, 0) > 0 and figure in ours[r]]

    def ratios(self, cell: Cell, peer: str, figure: str) -> list[float]:
        return self.paired(cell, peer, cell, "bare", figure)

    def values(self, cell: Cell, peer: str, figure: str) -> list[float]:
        return [sample[figure] for sample in self.samples.get((cell, peer), {}).values() if figure in sample]


def spread(values: list[float]) -> tuple[float, float, float]:
    """Median and quartiles."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return statistics.median(values), low, high


def cells(plan: Plan) -> list[Cell]:
    by_threads = [Cell(workload, threads) for workload in ("pair", "pair-deep", "pair-walk", "json", "sqlite")
                  for threads in plan.threads]
    handoffs = [Cell("handoff", threads) for threads in plan.threads if threads % 2 == 0]
    return by_threads + handoffs + [Cell("million", 1), Cell("compile", 1)]


def command_of(cell: Cell, peer: Peer, plan: Plan) -> tuple[list[str], dict[str, str]]:
    if cell.workload == "compile":
        environment = peer.environment if peer.foreign is None else peer.foreign
        return [*peer.wrapper, plan.compiler, "-O2", "-std=c++17", "-c", f"-DTABLES={plan.tables}", plan.source,
                "-o", f"{plan.scratch}/compiled.o"], environment
    command = [*peer.wrapper, f"{plan.built}/bench_{peer.variant}", cell.workload, "--threads", str(cell.threads),
               "--seconds", str(plan.seconds)]
    if cell.workload == "million":
        command += ["--size", str(plan.old_blocks)]
    if cell.workload == "json":
        command += ["--size", str(plan.document_bytes // (SLOW_SHARE if peer.slow else 1))]
    return command, peer.environment


def why_not(cell: Cell, peer: Peer, plan: Plan) -> str:
    """A reason known beforehand; "" when there is none."""
    if peer.missing:
        return peer.missing
    if cell.workload == "compile" and (peer.no_foreign or not plan.compiler):
        return peer.no_foreign or "clang++ is not installed"
    if peer.slow and not plan.slow_in_cells and cell != Cell("pair", 1):
        return "left out of a quick run, which takes slow peers once only"
    return ""


def takes_part(cell: Cell, peer: Peer, turn: int, taken: dict[int, dict[str, float]]) -> bool:
    if peer.slow and any(sample["wall_seconds"] > LONG_SECONDS for sample in taken.values()):
        return False  # far from the others: once is enough
    if cell.workload == "million":  # asks thousands of times in one run
        return turn == 0 or (turn < 3 and not peer.slow)
    return turn % 3 == 0 or not peer.slow


def measure(plan: Plan, peers: list[Peer], say: Callable[[str], None]) -> Results:
    results = Results()
    for turn in range(plan.rounds):
        for cell in cells(plan):
            say(f"round {turn + 1} of {plan.rounds}: {cell.workload}, threads: {cell.threads}")
            for peer in peers:
                key = (cell, peer.name)
                if key in results.reasons or not takes_part(cell, peer, turn, results.samples.get(key, {})):
                    continue
                if reason := why_not(cell, peer, plan):
                    results.reasons[key] = reason
                    continue
                command, environment = command_of(cell, peer, plan)
                try:
                    figures = run(command, environment, plan.scratch, plan.timeout)
                except NoFigure as failure:
                    results.reasons[key] = str(failure)
                    results.samples.pop(key, None)
                    continue
                if cell.workload == "compile":
                    figures["ns_per_operation"] = figures["wall_seconds"] * 1e9
                    figures["peak_bytes"] = figures["tree_peak_bytes"]
                if cell.workload == "json" and peer.slow:
                    figures.pop("peak_bytes", None)
                results.samples.setdefault(key, {})[turn] = figures
    return results


def gaps(plan: Plan, peers: list[Peer], results: Results) -> list[str]:
    """Cells with neither a figure nor a reason, and failures of our own."""
    wrong = []
    for cell in cells(plan):
        for peer in peers:
            reason = results.reasons.get((cell, peer.name), "")
            what = f"{peer.name}, {cell.workload}, {cell.threads} threads"
            if not reason and not results.samples.get((cell, peer.name)):
                wrong.append(f"{what}: neither figure nor reason")
            if reason and (peer.ours or peer.name == "bare") and reason != why_not(cell, peer, plan):
                wrong.append(f"{what}: {reason}")
    return wrong
