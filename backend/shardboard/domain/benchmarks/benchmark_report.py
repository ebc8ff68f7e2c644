"""A benchmark run as text: Markdown, CSV, and a single self-contained HTML file."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from shardboard.domain.benchmarks import benchmark_compare, find_max_report, find_max_steps
from shardboard.domain.benchmarks.benchmark_clients import ClientStatistics, slowest
from shardboard.domain.text import csv_text, markdown_text, number_text

LIMITS = {"average_ms": "1 ms average latency", "p99_ms": "P99 latency under 1 ms"}
COLUMNS = ("at", "phase", "repetition")
MAX_CLIENTS = 20
WIDTH, HEIGHT, LEFT, BOTTOM = 720, 180, 70, 22


def markdown(run: Mapping[str, Any], clients: Sequence[ClientStatistics] = ()) -> str:
    """Return a run in Markdown. `run` is a benchmark in the format of the API, `clients` are those of the last repetition."""
    header_lines = (markdown_text(line) for text in _head(run) for line in text.splitlines())
    lines = [f"# Benchmark {run['uid']}: {markdown_text(run['name'])}", "", *header_lines, ""]
    for title, table in _tables(run, clients):
        lines += [
            f"## {title}",
            "",
            markdown_row(table[0]),
            markdown_row(["---"] * len(table[0])),
            *(markdown_row(each) for each in table[1:]),
            "",
        ]
    return "\n".join(lines)


def _head(run: Mapping[str, Any]) -> list[str]:
    verdict = (run.get("summary") or {}).get("verdict", {}).get("kept")
    sla_text = {True: "SLA met", False: "SLA not met", None: "no verdict"}[verdict]
    summary = [f"Database {run['bdb_name']} · {run['status']} · {sla_text} · load generator {run['tool']}"]
    details = [run["detail"]] if run["detail"] else []
    warnings = dict.fromkeys(
        text for each in (run.get("summary") or {}).get("results", []) for text in each["warnings"]
    )
    found = (run.get("summary") or {}).get("find_max")
    details += [found["text"]] if found else []
    return [*summary, *details, *map(str, warnings), *([run["notes"]] if run["notes"] else [])]


def _tables(run: Mapping[str, Any], clients: Sequence[ClientStatistics]) -> Iterable[tuple[str, list[list[str]]]]:
    summary = run.get("summary") or {}
    results = summary.get("results", [])
    if limits := summary.get("verdict", {}).get("limits"):
        rows = [
            [each["name"], number_text(each["limit"]), number_text(each["value"]), "yes" if each["kept"] else "**no**"]
            for each in limits
        ]
        yield "Service level", [["Limit", "Limit value", "Measured", "Met"], *rows]
    yield from find_max_report.tables(run)
    yield "Results", [_HEAD, *(_result(run, each) for each in results)]
    if warnings := dict.fromkeys(text for each in results for text in each["warnings"]):
        yield "Notes on these figures", [[run["tool"]], *([text] for text in warnings)]
    if not run["search"]:
        best = [_limit_row(results, name, limits) for name, limits in LIMITS.items()]
        yield (
            "Highest throughput within a limit",
            [["Cluster SLA", "Ops/sec", "Average latency (ms)", "P99 latency (ms)"], *best],
        )
    outages = [
        [outage["shard"], number_text(outage["seconds"]), str(outage["lost"]), _errors(outage["errors"])]
        for each in results
        for outage in each["outages"]
    ]
    if outages:
        yield "Outages", [["Shard", "Seconds without a success", "Lost", "Errors"], *outages]
    mismatched = [[each["phase_name"], key] for each in results for key in each.get("mismatched_keys", [])]
    if mismatched:
        yield "First keys with a wrong value", [["Phase", "Key"], *mismatched]
    if clients:
        yield f"Slowest of {len(clients)} clients", [_CLIENT_HEAD, *map(_client, slowest(clients, MAX_CLIENTS))]
    yield "Workload", [["Phase", "Options"], *([phase["name"], _options(phase["workload"])] for phase in run["phases"])]
    yield "Environment", [["", ""], *([name, value] for name, value in _facts(run["facts"]))]


_HEAD = [
    "Phase",
    "Rep.",
    "Seconds",
    "Ops/sec",
    "Avg (ms)",
    "P50",
    "P99",
    "P99.9",
    "Max",
    "Errors",
    "Redirected",
    "Generator",
]


def _result(run: Mapping[str, Any], each: Mapping[str, Any]) -> list[str]:
    latencies = [number_text(each[name]) for name in ("average_ms", "p50_ms", "p99_ms", "p999_ms", "max_ms")]
    generator = _generator(each["generator"])
    return [
        find_max_steps.step_name(run, each),
        str(each["repetition"] + 1),
        number_text(each["seconds"]),
        number_text(each["ops_per_second"]),
        *latencies,
        _errors(each["errors"]),
        str(each["redirected"]),
        generator,
    ]


_CLIENT_HEAD = ["Node", "Client", "Operations", "Avg (ms)", "P50", "P99", "Max average", "Max"]


def _client(each: ClientStatistics) -> list[str]:
    latencies = (each.average_ms, each.p50_ms, each.p99_ms, each.max_average_ms, each.max_ms)
    return [str(each.node_uid), str(each.client), number_text(each.ops), *map(number_text, latencies)]


def _generator(state: Mapping[str, Any]) -> str:
    if state["busiest_thread_cpu"] is None and state["schedule_lag_ms"] is None:
        return "unknown"
    return "was the bottleneck" if state["is_bottleneck"] else "kept up"


def _limit_row(results: Sequence[Mapping[str, Any]], name: str, words: str) -> list[str]:
    best = benchmark_compare.best_within_limit(results, name, 1.0)
    figures = (
        [number_text(best[each]) for each in ("ops_per_second", "average_ms", "p99_ms")]
        if best
        else ["none"] + ["–"] * 2
    )
    return [words, *figures]


def _facts(facts: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    yield "Console", str(facts.get("console_version", ""))
    yield "Database", _options(facts.get("bdb", {}))
    for node in facts.get("nodes", []):
        yield (
            f"Node {node['uid']}",
            _options({name: value for name, value in node.items() if name not in ("uid", "host")}),
        )


def table(run: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> str:
    """Return the series as CSV, one line per second. The phase of a step of a search contains its rate."""
    text = io.StringIO()
    names = list(parts[0]["columns"]) if parts else []
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*COLUMNS, *map(csv_text, names)])
    for part in parts:
        for index, at in enumerate(part["at"]):
            values = [part["columns"][name][index] for name in names]
            writer.writerow(
                [f"{at:.3f}", csv_text(find_max_steps.step_name(run, part)), part["repetition"] + 1]
                + ["" if v is None else v for v in values]
            )
    return text.getvalue()


def page(run: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], clients: Sequence[ClientStatistics] = ()) -> str:
    """Return one HTML file with inline charts that loads no other resources."""
    body = [
        f"<h1>Benchmark {run['uid']}: {escape(run['name'])}</h1>",
        *(f"<p>{escape(text)}</p>" for text in _head(run)),
        find_max_report.chart(run),
    ]
    for part in parts:
        body.append(f"<h2>{escape(find_max_steps.step_name(run, part))}, repetition {part['repetition'] + 1}</h2>")
        body.append(
            _chart("Operations per second", [("good", part["columns"]["ops"]), ("errors", part["columns"]["errors"])])
        )
        lines = [(name, part["columns"][f"{name}_ms"]) for name in ("average", "p99")]
        body.append(_chart("Latency, ms", lines))
    for title, rows in _tables(run, clients):
        cells = [
            "<tr>" + "".join(f"<{tag}>{escape(cell.replace('**', ''))}</{tag}>" for cell in row) + "</tr>"
            for index, row in enumerate(rows)
            for tag in ("th" if index == 0 else "td",)
        ]
        body.append(f"<h2>{title}</h2><table>{''.join(cells)}</table>")
    return PAGE.format(title=escape(run["name"]), body="\n".join(body))


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
:root {{ color-scheme: light dark }}
body {{ font: 14px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse; margin: .5rem 0 1.5rem; font-variant-numeric: tabular-nums }}
th, td {{ text-align: left; padding: .25rem .75rem; border-bottom: 1px solid #8884; vertical-align: top }}
svg {{ max-width: 100%; height: auto }} svg text {{ fill: currentColor; font: 11px system-ui, sans-serif }}
</style></head><body>
{body}
</body></html>
"""
_COLORS = ("#228be6", "#fa5252")


def _chart(title: str, lines: Sequence[tuple[str, Sequence[float | None]]]) -> str:
    top = max((value for _, values in lines for value in values if value is not None), default=0) or 1
    count = max(len(lines[0][1]) - 1, 1)
    drawn = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT + BOTTOM}" role="img" aria-label="{escape(title)}"><text x="0" y="12">{title}</text>'
    ]
    for share in (0, 0.5, 1):
        y = HEIGHT - share * (HEIGHT - 20)
        drawn.append(f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#8884"/>')
        drawn.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number_text(share * top)}</text>')
    for (name, values), color in zip(lines, _COLORS, strict=False):
        command, path = "M", []
        for index, value in enumerate(values):
            if value is None:  # interrupt the line at a gap
                command = "M"
                continue
            x, y = LEFT + index / count * (WIDTH - LEFT), HEIGHT - value / top * (HEIGHT - 20)
            path.append(f"{command}{x:.1f},{y:.1f}")
            command = "L"
        drawn.append(
            f'<path d="{"".join(path)}" fill="none" stroke="{color}" stroke-width="1.5"><title>{name}</title></path>'
        )
    names = ", ".join(f"{name}: {_WORDS[color]}" for (name, _), color in zip(lines, _COLORS, strict=False))
    drawn.append(f'<text x="{LEFT}" y="{HEIGHT + 16}">{count + 1} s · {escape(names)}</text></svg>')
    return "".join(drawn)


_WORDS = {"#228be6": "blue", "#fa5252": "red"}


def _options(options: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in options.items())


def _errors(errors: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in errors.items()) or "0"


def markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: Any) -> str:
    return markdown_text(str(text))
