"""Prometheus text format (version 0.0.4): metric families with HELP and TYPE lines."""

from collections.abc import Iterable, Mapping, Sequence

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


class Exposition:
    """Lines by metric family, in the order in which the families were declared."""

    def __init__(self) -> None:
        self._families: dict[str, list[str]] = {}

    def family(self, name: str, kind: str, help_: str) -> None:
        """Declare a counter, gauge or histogram. Families without samples are not rendered."""
        text = help_.replace("\\", "\\\\").replace("\n", "\\n")
        self._families[name] = [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]

    def add(self, name: str, labels: str, value: float | None) -> None:
        """Add a sample. `labels` is the result of `render_labels`. None adds nothing: missing is not zero."""
        if value is not None:
            self._families[name].append(f"{name}{labels} {value!r}")

    def add_histogram(
        self, name: str, labels: Mapping[str, object], buckets: Iterable[tuple[float, int]], count: int, total: float
    ) -> None:
        """Add a histogram: cumulative (upper bound, count) pairs, the number of all values and their sum."""
        lines = self._families[name]
        for bound, cumulative in buckets:
            lines.append(f"{name}_bucket{render_labels({**labels, 'le': f'{bound:g}'})} {cumulative}")
        lines.append(f"{name}_bucket{render_labels({**labels, 'le': '+Inf'})} {count}")
        lines.append(f"{name}_sum{render_labels(labels)} {total!r}")
        lines.append(f"{name}_count{render_labels(labels)} {count}")

    def render(self) -> str:
        families: Sequence[list[str]] = [lines for lines in self._families.values() if len(lines) > 2]
        return "".join("\n".join(lines) + "\n" for lines in families)


def render_labels(labels: Mapping[str, object]) -> str:
    """Return `{name="value",…}`. Callers render it once for the many samples of one object."""
    return "{" + ",".join(f'{name}="{str(value).translate(_ESCAPES)}"' for name, value in labels.items()) + "}"
