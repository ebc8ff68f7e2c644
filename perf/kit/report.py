"""Result lines: what was measured, the limit, and whether it was met."""

import re
from dataclasses import dataclass, field
from statistics import median

_LINE = re.compile(
    r"(?:ok  |MISS)  (?P<name>.+): (?P<value>[\d.,e+-]+) (?P<unit>\S*) ?"
    r"\((?:limit (?P<sign><=|>=)?|(?P<least>at least))"
)
"""A line with a limit, of this module or of perf/data_path."""


@dataclass(frozen=True)
class Figure:
    """A measured value with a limit. `name` is the same in every run of a benchmark."""

    name: str
    value: float
    unit: str
    is_maximum: bool
    """Whether the limit is an upper one, so that smaller values are better."""


@dataclass
class Report:
    """Collects and prints results. `missed` counts the limits that were not met."""

    missed: int = 0
    lines: list[str] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)

    def limit(self, what: str, value: float, limit: float, unit: str, note: str = "") -> None:
        """Report a value that must be at most `limit`."""
        is_met = value <= limit
        self.missed += not is_met
        self.figures.append(Figure(what, value, unit, is_maximum=True))
        self._say(f"{'ok  ' if is_met else 'MISS'}  {what}: {value:.3g} {unit} (limit {limit:g} {unit}){note}")

    def minimum(self, what: str, value: float, limit: float, unit: str, note: str = "") -> None:
        """Report a value that must be at least `limit`."""
        is_met = value >= limit
        self.missed += not is_met
        self.figures.append(Figure(what, value, unit, is_maximum=False))
        self._say(f"{'ok  ' if is_met else 'MISS'}  {what}: {value:.3g} {unit} (at least {limit:g} {unit}){note}")

    def fact(self, what: str, values: list[float], unit: str) -> None:
        """Report median and range of values without a limit."""
        self._say(
            f"      {what}: median {median(values):.3g} {unit}, {min(values):.3g}-{max(values):.3g}, n={len(values)}"
        )

    def repeat(self, line: str) -> None:
        """Repeat a line that another process reported."""
        self.missed += line.startswith("MISS")
        if match := _LINE.match(line):
            value = float(match["value"].replace(",", ""))
            is_minimum = match["least"] is not None or match["sign"] == ">="
            self.figures.append(Figure(match["name"], value, match["unit"], is_maximum=not is_minimum))
        self._say(line)

    def _say(self, line: str) -> None:
        self.lines.append(line)
        print(line, flush=True)
