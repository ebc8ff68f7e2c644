"""Results, one line each, and whether a limit was kept."""

from statistics import median


class Report:
    """Prints as it goes."""

    def __init__(self) -> None:
        self.missed = 0

    def fact(self, name: str, values: list[float], unit: str) -> None:
        """A number without a limit: the median, and all of them."""
        spread = " ".join(f"{value:,.2f}" for value in values)
        print(f"      {name}: {median(values):,.2f} {unit}  ({spread})", flush=True)

    def limit(self, name: str, value: float, limit: float, unit: str, *, at_least: bool = False) -> None:
        """A number that has to be reached."""
        kept = value >= limit if at_least else value <= limit
        self.missed += not kept
        sign = ">=" if at_least else "<="
        print(f"{'ok  ' if kept else 'MISS'}  {name}: {value:,.3f} {unit} (limit {sign} {limit:,})", flush=True)
