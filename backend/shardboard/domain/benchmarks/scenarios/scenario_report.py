"""A scenario run as text: Markdown, CSV, and a single self-contained HTML file. `run` is a run in the format of the API."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from shardboard.domain.benchmarks.benchmark_report import PAGE, markdown_row
from shardboard.domain.text import csv_text, markdown_text, number_text

PUBLISHED, MEASURED = "published", "measured"


def markdown(run: Mapping[str, Any]) -> str:
    lines = [f"# Scenario run {run['uid']}: {markdown_text(run['title'])}", ""]
    lines += [*map(markdown_text, _head(run)), ""]
    for title, rows in _tables(run):
        lines += [f"## {markdown_text(title)}", "", markdown_row(rows[0]), markdown_row(["---"] * len(rows[0]))]
        lines += [*(markdown_row(each) for each in rows[1:]), ""]
    if deviations := run["result"]["deviations"]:
        lines += ["## Deviations from the document", "", *(f"* {markdown_text(each)}" for each in deviations), ""]
    return "\n".join(lines)


def page(run: Mapping[str, Any]) -> str:
    """Return one HTML file that loads no other resources."""
    body = [f"<h1>Scenario run {run['uid']}: {escape(run['title'])}</h1>"]
    body += [f"<p>{escape(text)}</p>" for text in _head(run)]
    for title, rows in _tables(run):
        cells = [
            "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"
            for index, row in enumerate(rows)
            for tag in ("th" if index == 0 else "td",)
        ]
        body.append(f"<h2>{escape(title)}</h2><table>{''.join(cells)}</table>")
    if deviations := run["result"]["deviations"]:
        items = "".join(f"<li>{escape(each)}</li>" for each in deviations)
        body.append(f"<h2>Deviations from the document</h2><ul>{items}</ul>")
    return PAGE.format(title=escape(run["title"]), body="\n".join(body))


def table(run: Mapping[str, Any]) -> str:
    """Return all values as CSV, one per line."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["table", "row", "column", "unit", PUBLISHED, MEASURED])
    for each in run["result"]["tables"]:
        for row in each["rows"]:
            for index, column in enumerate(each["columns"]):
                values = [_raw(row[kind][index] if row[kind] else None) for kind in (PUBLISHED, MEASURED)]
                labels = [each["title"], row["label"], column["name"], column["unit"]]
                writer.writerow([*map(csv_text, labels), *values])
    for figure in run["result"]["figures"]:
        values = [_raw(figure[kind]) for kind in (PUBLISHED, MEASURED)]
        writer.writerow(["", csv_text(figure["name"]), "", csv_text(figure["unit"]), *values])
    for series in run["result"]["series"]:
        for x, y in series["points"]:
            writer.writerow([csv_text(series["name"]), _raw(x), series["x_unit"], series["unit"], "", _raw(y)])
    return text.getvalue()


def _head(run: Mapping[str, Any]) -> Iterable[str]:
    yield f"Document {run['document']} · scale {run['scale']:g} · {run['status']}"
    if run["detail"]:
        yield run["detail"]
    if run["baseline_detail"]:
        yield run["baseline_detail"]


def _tables(run: Mapping[str, Any]) -> Iterable[tuple[str, list[list[str]]]]:
    for each in run["result"]["tables"]:
        head = ["", *(_column(column, kind) for column in each["columns"] for kind in (PUBLISHED, MEASURED))]
        yield each["title"], [head, *(_row(row, len(each["columns"])) for row in each["rows"])]
    if figures := run["result"]["figures"]:
        rows = [
            [_column(each, "") if each["unit"] else each["name"], _text(each[PUBLISHED]), _text(each[MEASURED])]
            for each in figures
        ]
        yield "Figures", [["", PUBLISHED, MEASURED], *rows]
    parts = [
        [part["name"], part["status"], part["detail"], ", ".join(map(str, part["benchmark_uids"]))]
        for part in run["parts"]
    ]
    yield "Parts", [["Part", "Status", "Detail", "Benchmark runs"], *parts]


def _column(column: Mapping[str, Any], kind: str) -> str:
    unit = f" ({column['unit']})" if column["unit"] else ""
    return f"{column['name']}{unit}{', ' if kind else ''}{kind}"


def _row(row: Mapping[str, Any], columns: int) -> list[str]:
    unknown: Sequence[Any] = [None] * columns
    pairs = zip(row[PUBLISHED] or unknown, row[MEASURED] or unknown, strict=True)
    return [row["label"], *(_text(value) for pair in pairs for value in pair)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else number_text(value)


def _raw(value: Any) -> Any:
    return csv_text(value) if isinstance(value, str) else "" if value is None else value
