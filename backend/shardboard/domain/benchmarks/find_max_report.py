"""Tables and chart of a search for the highest rate, for reports of a run."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from shardboard.domain.text import number_text, plural

LATENCIES = {"average_ms": "Average latency", "p99_ms": "P99 latency"}
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 720, 240, 70, 24, 36
AXIS_LIMITS = 3
"""Height of the chart in multiples of the limit. The latency of an overloaded database would hide all other points."""
_PURPOSES = {"peak": "closed loop", "search": "search", "confirmation": "confirmation"}


def tables(run: Mapping[str, Any]) -> Iterable[tuple[str, list[list[str]]]]:
    """Return the titles and rows of the tables; empty if the run did not search."""
    found = (run.get("summary") or {}).get("find_max")
    if not found:
        return
    yield (
        "Highest rate within the limit",
        [
            ["Limit", "Rate (requests/s)", "Ops/sec", "Average (ms)", "P99 (ms)", "Confirmed", "Limited by"],
            [
                f"{LATENCIES[found['limit']]} ≤ {found['ms']:g} ms",
                *(number_text(found[name]) for name in ("rate", "ops_per_second", "average_ms", "p99_ms")),
                plural(found["confirmations"], "run") if found["confirmed"] else "no",
                found["limited_by"] or "unknown",
            ],
        ],
    )
    yield "Steps of the search", [_HEAD, *(_row(number, step) for number, step in enumerate(run["search"], 1))]


_HEAD = ["Step", "Type", "Rate (requests/s)", "Ops/sec", "Average (ms)", "P99 (ms)", "Limit met", "Limited by"]


def _row(number: int, step: Mapping[str, Any]) -> list[str]:
    met = {True: "yes", False: "no", None: "not measured"}[step["met"]]
    return [
        str(number),
        _PURPOSES[step["purpose"]],
        *(number_text(step[name]) for name in ("rate", "ops_per_second", "average_ms", "p99_ms")),
        f"{met}, unsteady" if step["steady"] is False else met,
        step["limited_by"] or "–",
    ]


def chart(run: Mapping[str, Any]) -> str:
    """Return an SVG chart of the limited latency by rate, with the limit and the found rate; empty if the run did not search."""
    found = (run.get("summary") or {}).get("find_max")
    column = 1 if found and found["limit"] == "average_ms" else 2
    points = (
        [(float(point[0]), float(point[column])) for point in found["curve"] if point[column] is not None]
        if found
        else []
    )
    if not found or not points:
        return ""
    top, right = float(found["ms"]) * AXIS_LIMITS, max(rate for rate, _ in points)
    title = f"{LATENCIES[found['limit']]} by rate"

    def x(rate: float) -> float:
        return LEFT + rate / right * (WIDTH - LEFT)

    def y(latency: float) -> float:
        return HEIGHT - min(1.0, latency / top) * (HEIGHT - TOP)

    drawn = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT + BOTTOM}" role="img" aria-label="{escape(title)}">',
        f'<text x="0" y="12">{escape(title)}, ms</text>',
        *_levels(top, y),
        f'<path d="{_path([(x(rate), y(latency)) for rate, latency in points])}" fill="none" stroke="#228be6" stroke-width="1.5"/>',
        *(
            f'<circle cx="{x(rate):.1f}" cy="{y(latency):.1f}" r="3" fill="#228be6">'
            f"<title>{number_text(rate)} requests/s: {number_text(latency)} ms</title></circle>"
            for rate, latency in points
        ),
        _line(LEFT, WIDTH, y(found["ms"]), y(found["ms"]), "#fa5252", f"limit: {found['ms']:g} ms"),
    ]
    if found["rate"]:
        at = x(found["rate"])
        drawn.append(_line(at, at, TOP, HEIGHT, "#40c057", f"found: {number_text(found['rate'])} requests/s"))
    legend = (
        f"0 to {number_text(right)} requests/s · limit: red, found rate: green · latencies above {top:g} ms are cut off"
    )
    return "".join([*drawn, f'<text x="{LEFT}" y="{HEIGHT + 16}">{legend}</text></svg>'])


def _levels(top: float, y: Any) -> Iterable[str]:
    for value in (0.0, top / 2, top):
        yield f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#8884"/>'
        yield f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{number_text(value)}</text>'


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _line(left: float, right: float, top: float, bottom: float, color: str, title: str) -> str:
    ends = f'x1="{left:.1f}" x2="{right:.1f}" y1="{top:.1f}" y2="{bottom:.1f}"'
    return f'<line {ends} stroke="{color}" stroke-dasharray="6 4"><title>{escape(title)}</title></line>'
