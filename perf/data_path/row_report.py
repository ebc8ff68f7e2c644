"""Results, one per line, and whether each limit was met."""

from statistics import median


class Report:
    """Prints each result immediately."""

    def __init__(self) -> None:
        self.missed = 0

    def fact(self, name: str, values: list[float], unit: str) -> None:
        """Report a number without a limit: the median and all values."""
        values_text = " ".join(f"{value:,.2f}" for value in values)
        print(f"      {name}: {median(values):,.2f} {unit}  ({values_text})", flush=True)

    def limit(self, name: str, value: float, limit: float, unit: str, *, at_least: bool = False) -> None:
        """Report a number with a limit."""
        is_met = value >= limit if at_least else value <= limit
        self.missed += not is_met
        comparison_sign = ">=" if at_least else "<="
        print(
            f"{'ok  ' if is_met else 'MISS'}  {name}: {value:,.3f} {unit} (limit {comparison_sign} {limit:,})",
            flush=True,
        )
