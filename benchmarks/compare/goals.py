# SPDX-License-Identifier: BSL-1.0
"""The goals, and what this run has to say about each."""
from dataclasses import dataclass

from measure import Cell, Results, spread

LINKED = "heapmark, linked"
ACCOUNTING = "heapmark, linked, accounting"


@dataclass
class Goal:
    what: str
    limit: float
    unit: str
    measured: float | None
    remark: str = ""

    def verdict(self) -> str:
        if self.measured is None:
            return "no figure"
        return "met" if self.measured <= self.limit else "not met"


def median_of(values: list[float]) -> float | None:
    return spread(values)[0] if values else None


def scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def all_goals(results: Results, curve: list, parts: dict[str, dict[str, float]], report: dict[str, float],
              lost: dict[str, list[float]]) -> list[Goal]:
    def ratio(workload: str, threads: int, peer: str = LINKED) -> float | None:
        return median_of(results.ratios(Cell(workload, threads), peer, "ns_per_operation"))

    def scaling(peer: str) -> float | None:
        # A figure is wall time by operations of all threads, so two threads halve it.
        return scaled(median_of(results.paired(Cell("pair", 2), peer, Cell("pair", 1), peer, "ns_per_operation")), 2)

    def point(series: int, size: int) -> float | None:
        return next((p[1] for p in curve[series].points if p[0] == size), None)

    def part(name: str, figure: str) -> float | None:
        return parts.get(name, {}).get(figure)

    def told(value: float | None, before: str, unit: str, after: str = "") -> str:
        return "" if value is None else f"{before}{value:.3g}{unit}{after}"

    million = Cell("million", 1)
    asked = lambda figure: median_of(results.values(million, LINKED, figure))  # noqa: E731
    growth, bare_growth = asked("growth_bytes"), median_of(results.values(million, "bare", "growth_bytes"))
    requested, blocks = asked("requested_bytes"), asked("blocks")
    memory = per_heap = per_block = None
    if growth and bare_growth and requested and blocks:
        memory, per_heap = (growth - bare_growth) / requested, (growth - bare_growth) / bare_growth
        per_block = (growth - bare_growth) / blocks

    goals = [
        Goal("`pair`, shallow, full stacks, 1 thread, ÷ bare", 2.3, "", ratio("pair", 1)),
        Goal("the same, 2 threads, ÷ its own 1-thread figure", 1.05, "", scaling(LINKED),
             told(scaling("bare"), "bare: ", "")),
        Goal("`pair`, `depth=1`, 1 thread, ÷ bare", 1.4, "", ratio("pair", 1, "heapmark, linked, depth=1")),
        Goal("`json`, 1 thread, ÷ bare", 1.15, "", ratio("json", 1)),
        Goal("`json`, 2 threads, ÷ bare", 1.15, "", ratio("json", 2)),
        Goal("`pair` with accounting, 1 thread, ÷ bare", 2.3, "", ratio("pair", 1, ACCOUNTING)),
        Goal("the same, 2 threads, ÷ its own 1-thread figure", 1.05, "", scaling(ACCOUNTING)),
        Goal("`json` with accounting, 1 thread, ÷ bare", 1.2, "", ratio("json", 1, ACCOUNTING)),
        Goal("capture without frame pointers, the whole walk", 4, "ns/frame",
             part("whole_walk/32_without_frame_pointers", "ns_per_frame"),
             told(part("unchanged/32_without_frame_pointers", "ns_per_frame"), "", " ns/frame",
                  " where the stack is as it was")),
    ]
    for series, how in ((0, "side by side"), (1, "in holes all over the heap")):
        for size, name in ((1_000_000, "1 M"), (4_000_000, "4 M")):
            goals.append(Goal(f"`survivors` of 100 new blocks, {how}, among {name} old ones", 50, "µs",
                              point(series, size), "" if point(series, size) else "not among the sizes of this run"))
    lost_ratio = median_of([ours / theirs for ours, theirs in zip(lost["heapmark"], lost["lsan"])])
    lost_told = (told(median_of(lost["heapmark"]), "", " ms") + told(median_of(lost["lsan"]), ", LeakSanitizer ", " ms")
                 or "LeakSanitizer is not there")
    return [*goals,
            Goal("`explain` of 10 lost blocks beside 1 M live ones of 64 bytes, ÷ LeakSanitizer's check of the same heap", 0.5,
                 "", lost_ratio, lost_told),
            Goal("`counts(g)` when nothing survived", 2, "µs", scaled(asked("counts_ns"), 1e-3)),
            Goal("`mark`", 50, "ns", asked("mark_ns"),
                 told(part("mark_and_first_birth", "ns"), "", " ns", " with the first birth after it")),
            Goal("memory of map and depot ÷ live heap, blocks of 24–200 bytes", 0.25, "", memory,
                 told(per_heap, "", "", " of what the allocator takes for them") +
                 told(per_block, "; ", " bytes a block")),
            Goal("symbolised report of 1,000 distinct stacks, first time", 1, "s", report.get("report_seconds"),
                 told(report.get("second_report_seconds"), "second time ", " s"))]
