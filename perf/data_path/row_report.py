"""Results, one per line, and whether each limit was met."""

from statistics import median


class Report:
    """Prints each result immediately."""

    def __init__(self) -> None:
        self.missed = 0

    def fact(self, name: str, values: list[float], unit: str) -> None:
        """Report a number without a limit: the median and all values."""
        spread = " ".join(f"{value:,.2f}" for value in values)
        print(f"      {name}: {median(values):,.2f} {unit}  ({spread})", flush=True)

    def limit(self, name: str, value: float, limit: float, unit: str, *, at_least: bool = False) -> None:
        """Report a number with a limit."""
        kept = value >= limit if at_least else value <= limit
        self.missed += not kept
        sign = ">=" if at_least else "<="
        print(f"{'ok  ' if kept else 'MISS'}  {name}: {value:,.3f} {unit} (limit {sign} {limit:,})", flush=True)
