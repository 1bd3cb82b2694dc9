# SPDX-License-Identifier: BSL-1.0
"""Writes what was measured as Markdown and JSON."""
import json
from pathlib import Path

from curve import Series, svg
from goals import Goal
from measure import LONG_SECONDS, Cell, Plan, Results, cells, spread
from peers import Peer

INTRODUCTION = """# Results

Written by `./dev bench`; [README.md](README.md) says what is measured, and how. Nothing here is edited by hand but the
text under "Remarks".
"""
HEADINGS = {
    "pair": "`pair`: malloc/free pairs, 1,000 blocks live in each thread, shallow stack",
    "pair-deep": "`pair-deep`: the same, 40 frames deeper",
    "pair-walk": "`pair-walk`: the same, each pair through 8 frames that were just entered, along one of 256 paths",
    "json": "`json`: nlohmann/json parses and indexes a document",
    "sqlite": "`sqlite`: inserts, joins and sorts in memory",
    "handoff": "`handoff`: blocks freed by another thread than allocated them",
    "compile": "`compile`: `clang++ -O2 -c` of a template-heavy file, preloaded",
}


def number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def with_spread(values: list[float]) -> str:
    if not values:
        return "–"
    median, low, high = spread(values)
    return number(median) if len(values) == 1 else f"{number(median)} ({number(low)}–{number(high)})"


def time_in_words(nanoseconds: float) -> str:
    for unit, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if nanoseconds >= unit:
            return f"{nanoseconds / unit:.3g} {name}"
    return f"{nanoseconds:.3g} ns"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def workload_table(workload: str, plan: Plan, peers: list[Peer], results: Results) -> str:
    columns = [cell for cell in cells(plan) if cell.workload == workload]
    threads = ["" if workload == "compile" else f", {c.threads} thread{'s' if c.threads > 1 else ''}" for c in columns]
    rows = []
    for peer in peers:
        if peer.name == "bare":
            times = [time_in_words(spread(values)[0]) if values else "–" for cell in columns
                     for values in [results.values(cell, "bare", "ns_per_operation")]]
            peaks = [f"{spread(values)[0] / 2**20:.3g} MiB" if values else "–" for cell in columns
                     for values in [results.values(cell, "bare", "peak_bytes")]]
        else:
            times = [with_spread(results.ratios(cell, peer.name, "ns_per_operation")) for cell in columns]
            peaks = [number(spread(values)[0]) if values else "–" for cell in columns
                     for values in [results.ratios(cell, peer.name, "peak_bytes")]]
        rows.append([peer.name, *times, *peaks])
    return table(["", *[f"time{t}" for t in threads], *[f"peak memory{t}" for t in threads]], rows)


def million_table(peers: list[Peer], results: Results) -> str:
    cell = Cell("million", 1)
    bare = results.values(cell, "bare", "growth_bytes")
    rows = []
    for peer in peers:
        question = results.values(cell, peer.name, "question_us")
        growth = results.values(cell, peer.name, "growth_bytes")
        blocks = results.values(cell, peer.name, "blocks")
        asked = results.reasons.get((cell, peer.name)) or peer.no_question or (
            time_in_words(spread(question)[0] * 1e3) if question else "–")
        more = f"{(spread(growth)[0] - spread(bare)[0]) / blocks[0]:.3g}" if growth and bare and blocks else "–"
        rows.append([peer.name, asked, more if peer.name != "bare" else "0"])
    return table(["", "one question", "memory, bytes a block over bare"], rows)


def reasons_list(plan: Plan, peers: list[Peer], results: Results) -> list[str]:
    """One line for each peer and reason, with the workloads it holds for."""
    lines = []
    for peer in peers:
        held: dict[str, list[str]] = {}
        for cell in cells(plan):
            if reason := results.reasons.get((cell, peer.name)):
                held.setdefault(reason, []).append(f"{cell.workload} ({cell.threads})")
        for reason, where in held.items():
            everywhere = len(where) == len(cells(plan))
            lines.append(f"- {peer.name}: {'all' if everywhere else ', '.join(where)}: {reason}")
    return lines


def goal_table(goals: list[Goal]) -> str:
    def figure(goal: Goal) -> str:
        return "–" if goal.measured is None else f"{goal.measured:.3g} {goal.unit}".strip()
    return table(["what", "goal", "measured", "", "beside it"],
                 [[g.what, f"≤ {g.limit:g} {g.unit}".strip(), figure(g), g.verdict(), g.remark] for g in goals])


def curve_table(curve: list[Series]) -> str:
    sizes = sorted({point[0] for series in curve for point in series.points} |
                   {size for series in curve for size in series.reasons})
    rows = []
    for series in curve:
        known = {point[0]: point for point in series.points}
        rows.append([series.name, *[time_in_words(known[size][1] * 1e3) if size in known
                                    else series.reasons.get(size, "–") for size in sizes]])
    return table(["old live blocks", *[f"{size:,}" for size in sizes]], rows)


def kept_remarks(path: Path) -> str:
    """What somebody wrote under the figures stays when they are measured anew."""
    text = path.read_text() if path.exists() else ""
    return text[text.index("\n## Remarks\n"):] if "\n## Remarks\n" in text else ""


def write(folder: Path, plan: Plan, peers: list[Peer], results: Results, curve: list[Series], parts: dict, goals: list,
          machine: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "survivors.svg").write_text(svg(curve))
    text = [INTRODUCTION, "## Goals\n", goal_table(goals), "\n## Machine\n",
            table(["", ""], [[name, value] for name, value in machine.items()]),
            f"\nRounds: {plan.rounds}; slow peers took part in every third, or in one where that took over {LONG_SECONDS:g} s. "
            f"Time of a run: {plan.seconds:g} s. A time is the "
            "median of its quotients by the bare run of the same round, quartiles in brackets; a peak is the median of "
            "such quotients. The row of the bare program is absolute: time an operation, and peak memory."]
    for workload, heading in HEADINGS.items():
        text += [f"\n## {heading}\n", workload_table(workload, plan, peers, results)]
    text += [f"\n## `million`: {plan.old_blocks:,} old live blocks of 24 to 200 bytes, and which of 100 new ones survive\n",
             million_table(peers, results),
             "\n## Survivors over the size of the heap\n", "![time of the question over old live blocks](survivors.svg)\n",
             curve_table(curve), "\n## Parts\n"]
    rows = [[f"`{name}`", time_in_words(figures["ns"]),
             *[next((time_in_words(value) + " a " + key[7:] for key, value in figures.items() if key != "ns"), "")]]
            for name, figures in parts.items()]
    text += [table(["", "one call", ""], rows) if rows else "Google Benchmark is not installed.",
             "\n## No figure, and why\n", "\n".join(reasons_list(plan, peers, results)) or "Nothing is missing.",
             "\n## Versions\n",
             table(["", "version"], [[p.name, p.version or ("this one" if "heapmark" in p.name else "–")] for p in peers])]
    target = folder / "RESULTS.md"
    remarks = kept_remarks(target)
    target.write_text("\n".join(text) + "\n" + remarks)
    samples = [{"workload": cell.workload, "threads": cell.threads, "peer": peer, "rounds": rounds}
               for (cell, peer), rounds in results.samples.items()]
    reasons = [{"workload": cell.workload, "threads": cell.threads, "peer": peer, "reason": reason}
               for (cell, peer), reason in results.reasons.items()]
    (folder / "RESULTS.json").write_text(json.dumps({
        "machine": machine, "versions": {p.name: p.version for p in peers},
        "goals": [{**vars(goal), "verdict": goal.verdict()} for goal in goals],
        "samples": samples, "reasons": reasons, "parts": parts,
        "curve": [{"name": s.name, "points": s.points, "reasons": s.reasons} for s in curve]}, indent=1) + "\n")
