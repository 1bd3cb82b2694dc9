# SPDX-License-Identifier: BSL-1.0
"""The curve of the cost of asking over the size of the heap, and its picture."""
import math
from dataclasses import dataclass, field

from machine import available_bytes
from measure import Plan
from process import NoFigure, run

BYTES_A_BLOCK = 400  # what a block costs at most in any of the runs below


@dataclass
class Series:
    name: str
    variant: str
    options: list[str]
    color: str
    points: list[tuple[int, float, float, float]] = field(default_factory=list)  # old blocks, median, quartiles; µs
    reasons: dict[int, str] = field(default_factory=dict)


def measure_curve(plan: Plan, sizes: list[int], say) -> list[Series]:
    together = Series("heapmark: survivors, new blocks side by side", "heapmark", [], "#1b6ca8")
    scattered = Series("heapmark: survivors, new blocks in holes all over the heap", "heapmark", ["--scattered"], "#2e8b57")
    sanitizer = Series("LeakSanitizer: check of the whole heap", "lsan", [], "#b5452c")
    for size in sizes:
        for series in (together, scattered, sanitizer):
            say(f"curve: {size} old blocks, {series.name}")
            if size * BYTES_A_BLOCK > available_bytes():
                series.reasons[size] = "too little memory"
                continue
            try:
                figures = run([f"{plan.built}/bench_{series.variant}", "million", "--size", str(size), "--seconds",
                               str(max(plan.seconds, 0.05)), *series.options], {}, plan.scratch, plan.timeout)
                series.points.append((size, figures["question_us"], figures["question_us_low"],
                                      figures["question_us_high"]))
            except (NoFigure, OSError) as failure:
                series.reasons[size] = str(failure) if isinstance(failure, NoFigure) else "not built"
    return [together, scattered, sanitizer]


WIDTH, HEIGHT = 760, 460
LEFT, RIGHT, TOP, BOTTOM = 80, 24, 76, 64


def in_words(value: float) -> str:
    """1000000 -> "1 M"; for axis labels, so powers of ten."""
    for unit, name in ((1e6, " M"), (1e3, " k")):
        if value >= unit:
            return f"{value / unit:g}{name}"
    return f"{value:g}"


def time_in_words(microseconds: float) -> str:
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:g} s"
    return f"{microseconds / 1e3:g} ms" if microseconds >= 1e3 else f"{microseconds:g} µs"


def svg(all_series: list[Series]) -> str:
    points = [point for series in all_series for point in series.points]
    if not points:
        return ""
    first, last = math.log10(min(p[0] for p in points)), math.log10(max(p[0] for p in points))
    low = math.floor(math.log10(min(p[2] for p in points)))
    high = max(math.ceil(math.log10(max(p[3] for p in points))), low + 1)

    def x(size: float) -> float:
        return LEFT + (math.log10(size) - first) / max(last - first, 1e-9) * (WIDTH - LEFT - RIGHT)

    def y(microseconds: float) -> float:
        return HEIGHT - BOTTOM - (math.log10(microseconds) - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
           ' font-size="13" fill="#222">', f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>']
    for power in range(low, high + 1):
        at = y(10.0**power)
        out.append(f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        out.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{time_in_words(10.0**power)}</text>')
    for power in range(math.ceil(first), math.floor(last) + 1):
        at = x(10.0**power)
        out.append(f'<path d="M{at:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>')
        out.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{in_words(10.0**power)}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 16}" text-anchor="middle">'
               "old live blocks on the heap, beside 100 new ones</text>")
    for row, series in enumerate(all_series):
        if not series.points:
            continue
        out.append(f'<g stroke="{series.color}" fill="{series.color}">')
        path = " ".join(f"{x(p[0]):.1f},{y(p[1]):.1f}" for p in series.points)
        out.append(f'<polyline points="{path}" fill="none" stroke-width="2"/>')
        for size, median, lower, upper in series.points:
            out.append(f'<path d="M{x(size):.1f} {y(lower):.1f}V{y(upper):.1f}"/>')
            out.append(f'<circle cx="{x(size):.1f}" cy="{y(median):.1f}" r="3.5" stroke="none"/>')
        out.append(f'<path d="M{LEFT} {18 + 18 * row}h24" stroke-width="2"/></g>')
        out.append(f'<text x="{LEFT + 32}" y="{22 + 18 * row}">{series.name}</text>')
    return "\n".join([*out, "</svg>", ""])
