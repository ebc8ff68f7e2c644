"""Result lines: what was measured, the limit, and whether it was met."""

from dataclasses import dataclass, field
from statistics import median


@dataclass
class Report:
    """Collects and prints results. `missed` counts the limits that were not met."""

    missed: int = 0
    lines: list[str] = field(default_factory=list)

    def limit(self, what: str, value: float, limit: float, unit: str, note: str = "") -> None:
        """Report a value that must be at most `limit`."""
        holds = value <= limit
        self.missed += not holds
        self._say(f"{'ok  ' if holds else 'MISS'}  {what}: {value:.3g} {unit} (limit {limit:g} {unit}){note}")

    def least(self, what: str, value: float, limit: float, unit: str, note: str = "") -> None:
        """Report a value that must be at least `limit`."""
        holds = value >= limit
        self.missed += not holds
        self._say(f"{'ok  ' if holds else 'MISS'}  {what}: {value:.3g} {unit} (at least {limit:g} {unit}){note}")

    def fact(self, what: str, values: list[float], unit: str) -> None:
        """Report median and range of values without a limit."""
        self._say(
            f"      {what}: median {median(values):.3g} {unit}, {min(values):.3g}-{max(values):.3g}, n={len(values)}"
        )

    def repeat(self, line: str) -> None:
        """Repeat a line that another process reported."""
        self.missed += line.startswith("MISS")
        self._say(line)

    def _say(self, line: str) -> None:
        self.lines.append(line)
        print(line, flush=True)
