"""Result tables of scenarios: the tables of the documents, with the published and the measured values.

Measurements are figures by part and phase (`scenario_measurements.py`). Each column of a table names its figure, and each
row its part. Figures and charts that are computed from several parts depend on the kind of the result.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from shardboard.domain.benchmarks.scenarios import linear_scaling
from shardboard.domain.benchmarks.scenarios.linear_scaling import LinearScaling, ScalingPoint
from shardboard.domain.text import plural

Measurements = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Figures by the names of the part, the phase, and the figure."""
Parts = Mapping[str, Mapping[str, Any]]
"""Executed parts by name."""
Compute = Callable[[Mapping[str, Any], Parts, Measurements], dict[str, Any]]
"""Returns the tables, figures, and series of one kind of result."""


def published(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Return the published results of a scenario."""
    results = result(scenario, [], {}, [])
    return {**results, "tables": [*results["tables"], *factors(scenario, {}, {})]}


def result(
    scenario: Mapping[str, Any],
    parts: Sequence[Mapping[str, Any]],
    measured: Measurements,
    deviations: Sequence[str],
) -> dict[str, Any]:
    """Return the result of a scenario run. `parts` are the executed parts, and `measured` the results of those that have ended."""
    plan = {part["name"]: part for part in parts}
    tables = [_table(table, plan, measured) for table in scenario["published"]["tables"]]
    compute: Compute = _KINDS.get(scenario["result"], _no_figures)
    extra = compute(scenario, plan, measured)
    return {
        "tables": [*tables, *extra.get("tables", [])],
        "figures": extra.get("figures", []),
        "deviations": [*deviations, *_findings(plan, measured)],
        "series": [*extra.get("series", []), *_curves(measured)],
    }


def factors(scenario: Mapping[str, Any], run: Measurements, baseline: Measurements) -> list[dict[str, Any]]:
    """Return the tables of improvement factors of one run over another; none if the document has no such table.

    Without measurements of `baseline`, they contain the published factors only.
    """
    terms = scenario.get("factors")
    if not terms:
        return []
    rows = []
    for row in terms["rows"]:
        factor = _ratio(_throughput(run, row["part"]), _throughput(baseline, row["part"]))
        measured = None if factor is None else [factor]
        rows.append({"label": row["label"], "published": [row["published"]], "measured": measured})
    return [{"title": terms["title"], "columns": [{"name": "Factor", "unit": ""}], "rows": rows}]


def hit_percent(measured: Measurements, part: str) -> float | None:
    """Return the RAM hit ratio of the last phase of a part; None if it was not measured."""
    value: float | None = _figure(measured, part, {}, "hit_percent")
    return value


def _table(table: Mapping[str, Any], plan: Parts, measured: Measurements) -> dict[str, Any]:
    columns = table["columns"]
    return {
        "title": table["title"],
        "columns": [{"name": each["name"], "unit": each["unit"]} for each in columns],
        "rows": [
            {
                "label": row["label"],
                "published": row.get("published"),
                "measured": _measured_row(row, columns, plan, measured),
            }
            for row in table["rows"]
        ],
    }


def _measured_row(
    row: Mapping[str, Any],
    columns: Iterable[Mapping[str, Any]],
    plan: Parts,
    measured: Measurements,
) -> list[Any] | None:
    values = [_value(row, column, plan, measured) for column in columns]
    return values if any(value is not None for value in values) else None


def _value(row: Mapping[str, Any], column: Mapping[str, Any], plan: Parts, measured: Measurements) -> Any:
    figure = column["figure"]
    value = _figure(measured, row.get("part"), row, figure)
    if other := column.get("of"):
        compared = _figure(measured, row.get(other), row, figure)
        if not column.get("percent"):
            return compared
        ratio = _ratio(compared, value)
        return None if ratio is None else 100 * ratio
    divisor = column.get("per")
    if divisor is None or value is None:
        return value
    part = plan[row["part"]]
    return value / (part["nodes"] if divisor == "nodes" else part["database"]["shards_count"])


def _figure(measured: Measurements, part: str | None, row: Mapping[str, Any], figure: str) -> Any:
    """Return a figure of the phase or interval of a row; by default, of the last phase of the part."""
    phases = measured.get(part or "", {})
    name = row.get("phase") or row.get("interval")
    return (phases.get(name, {}) if name else _result(phases)).get(figure)


def _result(phases: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the figures of the last phase; none if the part ended before it."""
    return next((figures for figures in phases.values() if figures.get("is_result")), {})


def _throughput(measured: Measurements, part: str) -> float | None:
    value: float | None = _figure(measured, part, {}, "ops_per_second")
    return value


def _ratio(value: float | None, baseline: float | None) -> float | None:
    return value / baseline if value is not None and baseline else None


def _findings(plan: Parts, measured: Measurements) -> Iterator[str]:
    """Yield what else makes the measured values differ from the published ones."""
    for name, phases in measured.items():
        if any(figures.get("generator_is_bottleneck") for figures in phases.values()):
            yield f"The load generator was the bottleneck of part {name}: the database may be faster."
        if errors := sum(phases.get(phase["name"], {}).get("errors", 0) for phase in plan[name]["phases"]):
            yield f"Part {name}: {plural(errors, 'request')} failed. See the errors of its benchmark run."
        if _result(phases).get("drill_skipped"):
            yield f"Part {name}: the drill did not take place, so no node was down."
        if text := _result(phases).get("missed_limit"):
            yield f"Part {name}: {text} The table contains the rate with the lowest latency."


def _curves(measured: Measurements) -> list[dict[str, Any]]:
    """Return the average and P99 latency by rate of all searches."""
    series = []
    for part, phases in measured.items():
        for figures in phases.values():
            for position, name in ((1, "average latency"), (2, "P99 latency")):
                points = [(each[0], each[position]) for each in figures.get("curve", []) if each[position] is not None]
                if points:
                    series.append(
                        {"name": f"{part}: {name}", "unit": "ms", "x_unit": "ops/s", "points": points, "ideal": False}
                    )
    return series


def _no_figures(_scenario: Any, _plan: Any, _measured: Measurements) -> dict[str, Any]:
    return {}


def _ratio_figures(scenario: Mapping[str, Any], _plan: Any, measured: Measurements) -> dict[str, Any]:
    terms = scenario["ratio"]
    part, baseline = terms["part"], terms["baseline"]
    throughput = _ratio(_throughput(measured, part), _throughput(measured, baseline))
    latency = _ratio(_figure(measured, part, {}, "average_ms"), _figure(measured, baseline, {}, "average_ms"))
    met = [name for name in (baseline, part) if _meets(terms, measured, name)]
    return {
        "figures": [
            {
                "name": f"Throughput of {part} relative to {baseline}",
                "unit": "%",
                "published": terms["throughput_percent"],
                "measured": None if throughput is None else 100 * throughput,
            },
            {
                "name": f"Average latency of {part} above {baseline}",
                "unit": "%",
                "published": terms["latency_percent"],
                "measured": None if latency is None else 100 * (latency - 1),
            },
            {
                "name": f"{terms['min_ops_per_second']:,} ops/s within {terms['average_ms']} ms on average",
                "unit": "",
                "published": "met by both",
                "measured": (f"met by {' and '.join(met)}" if met else "not met") if measured else None,
            },
        ]
    }


def _meets(terms: Mapping[str, Any], measured: Measurements, part: str) -> bool:
    throughput, latency = _throughput(measured, part), _figure(measured, part, {}, "average_ms")
    return (
        throughput is not None
        and latency is not None
        and throughput >= terms["min_ops_per_second"]
        and latency <= terms["average_ms"]
    )


def _node_down_figures(_scenario: Any, _plan: Any, measured: Measurements) -> dict[str, Any]:
    phases = next(iter(measured.values()), {})
    last = _result(phases)
    after = _ratio(phases.get("after", {}).get("ops_per_second"), phases.get("before", {}).get("ops_per_second"))
    return {
        "figures": [
            {
                "name": "Longest outage of a shard",
                "unit": "s",
                "published": None,
                "measured": last.get("longest_outage_seconds"),
            },
            {"name": "Failed requests", "unit": "", "published": None, "measured": last.get("errors")},
            {
                "name": "Throughput afterwards relative to before",
                "unit": "%",
                "published": 100,
                "measured": None if after is None else 100 * after,
            },
        ]
    }


def _scaling_figures(_scenario: Any, plan: Parts, measured: Measurements) -> dict[str, Any]:
    points = [
        ScalingPoint(plan[part]["nodes"], plan[part]["database"]["shards_count"], throughput)
        for part, phases in measured.items()
        for throughput in _result(phases).get("ops_per_second_of_repetitions", [])
    ]
    summary = linear_scaling.summarize(points) if points else None
    percent: Callable[[float], float] = lambda value: 100 * value  # noqa: E731
    figures = [
        ("Throughput per node on the ideal line", "ops/s", None, summary and summary.slope),
        ("Largest deviation from the ideal line", "%", None, summary and percent(summary.deviation_from_linear)),
        (
            "Variation of the throughput per node",
            "%",
            percent(linear_scaling.PUBLISHED_SPREAD),
            summary and percent(summary.spread),
        ),
        ("Variation of the throughput per shard", "%", None, summary and percent(summary.shard_spread)),
    ]
    return {
        "figures": [
            {"name": name, "unit": unit, "published": value, "measured": found} for name, unit, value, found in figures
        ],
        "series": _scaling_series(summary) if summary is not None else [],
    }


def _scaling_series(summary: LinearScaling) -> list[dict[str, Any]]:
    lines = (
        ("Throughput", "ops/s", False, [(each.nodes, each.ops_per_second) for each in summary.points]),
        ("Ideal", "ops/s", True, [(each.nodes, each.ideal) for each in summary.points]),
        ("Throughput per node", "ops/s per node", False, [(each.nodes, each.per_node) for each in summary.points]),
    )
    return [
        {"name": name, "unit": unit, "x_unit": "nodes", "points": points, "ideal": ideal}
        for name, unit, ideal, points in lines
    ]


_KINDS: Mapping[str, Compute] = {
    "ratio": _ratio_figures,
    "node_down": _node_down_figures,
    "linear_scaling": _scaling_figures,
}
