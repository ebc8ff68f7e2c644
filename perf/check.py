"""`python -m perf --check`: compares the figures of short benchmarks with those of perf/figures.toml.

A limit is what users are promised; it is often far above what is reached. The table holds what was reached, so that a figure
which becomes worse is noticed while it still meets its limit.
"""

import time
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from perf.kit.report import Figure, Report

TABLE = Path(__file__).with_name("figures.toml")
CHECKED = ("small", "sixty", "paper", "slots", "metrics", "collection-128", "agreement", "load")
"""Benchmarks that need less than five minutes each on two cores."""
TOLERANCES = {"x": 0.25, "": 0.25, "s": 0.5, "ms": 0.5, "cores": 0.25, "MB": 0.15, "B": 0.05, "GB": 0.05}
"""Relative tolerances of new figures by unit. Figures of other units have none. Ratios of perf/data_path have no unit."""


@dataclass(frozen=True)
class Reference:
    """A figure of the table. `tolerance` is relative to `value`."""

    value: float
    unit: str
    tolerance: float


def load_table(path: Path) -> dict[str, dict[str, Reference]]:
    """Return the references by benchmark and figure."""
    tables = tomllib.loads(path.read_text()) if path.exists() else {}
    return {name: {figure: Reference(**row) for figure, row in rows.items()} for name, rows in tables.items()}


def save_table(table: Mapping[str, Mapping[str, Reference]], path: Path) -> None:
    """Write the references."""
    lines = [
        "# Figures that `python -m perf --check` compares. They were reached on two cores.",
        "# A figure that is worse than its value by more than its tolerance (relative) fails the check.",
        "# `python -m perf --record NAME…` writes new values; give the reason in the commit message.",
    ]
    for name, figures in sorted(table.items()):
        lines += ["", f"[{name}]"]
        lines += [
            f'"{figure}" = {{ value = {row.value:.3g}, unit = "{row.unit}", tolerance = {row.tolerance:g} }}'
            for figure, row in figures.items()
        ]
    path.write_text("\n".join(lines) + "\n")


def worst_of(figures: Iterable[Figure]) -> dict[str, Figure]:
    """Return the worst figure of each name. Some benchmarks report a figure once per round."""
    worst: dict[str, Figure] = {}
    for figure in figures:
        previous = worst.setdefault(figure.name, figure)
        if figure.value > previous.value if figure.is_maximum else figure.value < previous.value:
            worst[figure.name] = figure
    return worst


def compare(figures: Iterable[Figure], references: Mapping[str, Reference]) -> list[str]:
    """Return a line for each figure that is worse than its reference, has none, or was not measured."""
    measured = worst_of(figures)
    lines = [f"{name}: in the table, but not measured" for name in references if name not in measured]
    for name, figure in measured.items():
        reference = references.get(name)
        if reference is None:
            lines.append(f"{name}: not in the table")
            continue
        factor = 1 + reference.tolerance if figure.is_maximum else 1 - reference.tolerance
        limit = reference.value * factor
        # The table has three digits.
        tolerance = 0.005 * reference.value
        if figure.value > limit + tolerance if figure.is_maximum else figure.value < limit - tolerance:
            lines.append(
                f"{name}: {figure.value:.3g} {figure.unit} instead of {reference.value:.3g} (tolerated: {limit:.3g})"
            )
    return lines


def check(report: Report, benchmarks: Mapping[str, Callable[[], None]], *, record: bool = False) -> bool:
    """Run the benchmarks and compare their figures, or record them. Return whether none is worse."""
    table, regressions = load_table(TABLE), []
    for name, benchmark in benchmarks.items():
        start, before = time.monotonic(), len(report.figures)
        benchmark()
        figures = report.figures[before:]
        print(f"      {name}: {time.monotonic() - start:.0f} s", flush=True)
        references = table.get(name, {})
        if record:
            table[name] = {key: _recorded(each, references.get(key)) for key, each in worst_of(figures).items()}
        else:
            regressions += [f"{name}: {line}" for line in compare(figures, references)]
    if record:
        save_table(table, TABLE)
    for line in regressions:
        print(f"WORSE {line}", flush=True)
    return not regressions


def _recorded(figure: Figure, previous: Reference | None) -> Reference:
    tolerance = previous.tolerance if previous else TOLERANCES.get(figure.unit, 0.0)
    return Reference(figure.value, figure.unit, tolerance)
