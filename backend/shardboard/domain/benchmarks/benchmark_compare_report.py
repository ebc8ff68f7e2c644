"""A comparison of benchmark runs as Markdown or CSV."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shardboard.domain.text import csv_text, markdown_text

NOISE = {True: "", False: " (within noise)", None: " (noise unknown)"}
CSV_COLUMNS = ("table", "row", "column", "mean", "least", "most", "deviation", "factor", "noise", "significant")


def markdown(comparison: Mapping[str, Any]) -> str:
    """Return a comparison in the format of the API as Markdown, with one table of factors for each figure."""
    lines = ["# Comparison of benchmark runs", ""]
    for title, columns, rows in _tables(comparison):
        header = ["", f"{columns[0]} (baseline)", *columns[1:]]
        lines += [f"## {title}", "", _line(header), _line(["---"] * len(header))]
        lines += [_line([row["label"], *_cells(row)]) for row in rows]
        lines.append("")
    if settings := comparison["settings"]:
        runs = [each["name"] for each in comparison["runs"]]
        lines += ["## Settings that differ", "", _line(["", *runs]), _line(["---"] * (len(runs) + 1))]
        lines += [_line([each["label"], *map(_text, each["values"])]) for each in settings]
        lines.append("")
    return "\n".join(lines)


def table(comparison: Mapping[str, Any]) -> str:
    """Return all tables as CSV, one line for each cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for title, columns, rows in _tables(comparison):
        for row in rows:
            for column, value, difference in zip(columns, row["values"], [None, *row["differences"]], strict=True):
                spread = [(value or {}).get(name) for name in ("mean", "least", "most", "deviation")]
                factor = [(difference or {}).get(name) for name in ("ratio", "noise", "stands_out")]
                names = map(csv_text, (title, row["label"], column))
                writer.writerow([*names, *("" if each is None else each for each in (*spread, *factor))])
    return text.getvalue()


def _tables(comparison: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[str], Sequence[Mapping[str, Any]]]]:
    """Return title, columns and rows of each table."""
    ratios = comparison["ratios"]
    if ratios is None:
        rows = [{**each, "label": each["name"]} for each in comparison["figures"]]
        yield "Figures", [f"{run['name']} ({run['uid']})" for run in comparison["runs"]], rows
        return
    for each in ratios["tables"]:
        yield f"{each['name']} by {ratios['group']}", ratios["columns"], each["rows"]


def _cells(row: Mapping[str, Any]) -> Iterator[str]:
    for value, difference in zip(row["values"], [None, *row["differences"]], strict=True):
        mean = _number(value["mean"]) if value is not None else "–"
        yield mean if difference is None else f"×{difference['ratio']:.2f}{NOISE[difference['stands_out']]}, {mean}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(markdown_text, cells)) + " |"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _text(value: Any) -> str:
    return "not set" if value is None else str(value)
