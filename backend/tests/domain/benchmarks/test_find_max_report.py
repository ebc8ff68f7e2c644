"""Tests of reports of a search."""

from dataclasses import asdict
from typing import Any

from backend.tests.domain.benchmarks.test_find_max import TARGET, database, search

from shardboard.domain.benchmarks import benchmark_report, find_max, find_max_report

STEPS = search(database(7_000, 10_000))
FOUND = find_max.result(STEPS, TARGET)


def run(**fields: Any) -> dict[str, Any]:
    return {
        "uid": 1,
        "name": "search",
        "bdb_name": "db",
        "status": "completed",
        "tool": "shardboard-load",
        "detail": "",
        "summary": {"results": [], "verdict": {}, "find_max": FOUND},
        "search": [asdict(step) for step in STEPS],
        "phases": [{"name": "measure", "workload": {}}],
        "facts": {},
        "notes": "",
        **fields,
    }


def test_markdown_contains_the_result_and_all_steps() -> None:
    text = benchmark_report.markdown(run())
    rate = f"{FOUND['rate']:,.0f}"
    assert f"Highest rate with an average latency of at most 1 ms: {rate} requests/s, in 3 confirmation runs." in text
    assert f"| Average latency ≤ 1 ms | {rate} | {rate} | 0.5 | 0.9 | 3 runs | database |" in text
    assert "| 1 | closed loop | – | 10,000 | 0.5 | 0.9 | yes | – |" in text
    assert "| 2 | search | 10,000 | 10,000 | 9 | 20 | no | database |" in text
    assert text.count("| confirmation |") == 3
    assert "Highest throughput within a limit" not in text


def test_html_page_contains_the_curve_with_the_limit_and_the_found_rate() -> None:
    chart = find_max_report.chart(run())
    assert chart in benchmark_report.page(run(), [])
    assert chart.count("<circle") == len(FOUND["curve"])
    assert "<title>limit: 1 ms</title>" in chart
    assert f"<title>found: {FOUND['rate']:,.0f} requests/s</title>" in chart
    assert find_max_report.chart(run(summary={})) == ""


def test_csv_contains_the_rate_of_each_step() -> None:
    part = {"phase": 0, "phase_name": "measure", "repetition": 1, "at": [0.0], "columns": {"ops": [5.0]}}
    header, line = benchmark_report.table(run(), [part]).splitlines()
    assert (header, line) == ("at,phase,repetition,ops", '0.000,"measure, 10,000 requests/s",2,5.0')


def test_interrupted_step_is_not_measured() -> None:
    unfinished = {**dict.fromkeys(asdict(STEPS[0])), "purpose": "search", "rate": 500.0}
    text = benchmark_report.markdown(run(search=[asdict(STEPS[0]), unfinished]))
    assert "| 2 | search | 500 | – | – | – | not measured | – |" in text
