"""Tests that reports of benchmarks show user-defined texts, and do not execute them."""

from typing import Any

from backend.tests.support import fake_load_generator

from shardboard.domain.benchmarks import benchmark_report, benchmark_results
from shardboard.domain.benchmarks.benchmark_clients import ClientStatistics

HTML = "<script>alert(1)</script>"


def benchmark(**fields: Any) -> dict[str, Any]:
    return {
        "uid": 1,
        "name": f"a|b {HTML}",
        "bdb_name": HTML,
        "status": "completed",
        "tool": "shardboard-load",
        "detail": HTML,
        "summary": {"results": [], "verdict": {}},
        "search": [],
        "phases": [{"name": HTML, "workload": {"arguments": HTML}}],
        "facts": {"console_version": "1", "bdb": {"name": HTML}, "nodes": []},
        "notes": f"first {HTML}\n[second](javascript:alert(1))",
        **fields,
    }


def test_markdown_contains_no_html_and_no_links() -> None:
    text = benchmark_report.markdown(benchmark())
    assert "<script" not in text
    assert "](" not in text.replace("\\](", "")
    assert text.startswith("# Benchmark 1: a\\|b &lt;script&gt;")
    assert "first &lt;script&gt;alert(1)&lt;/script&gt;\n\\[second\\]" in text, "lines of notes stay lines"


def test_html_page_escapes_texts_once() -> None:
    text = benchmark_report.page(benchmark(), [])
    assert "<script" not in text
    assert "&amp;lt;" not in text


def test_csv_contains_no_formulas() -> None:
    columns = {"ops": [-1.5, None], "=cmd": [1.0, 2.0]}
    part = {"phase": 0, "phase_name": "=1+1", "repetition": 0, "at": [0.0, 1.0], "columns": columns}
    assert benchmark_report.table(benchmark(), [part]).splitlines() == [
        "at,phase,repetition,ops,'=cmd",
        "0.000,'=1+1,1,-1.5,1.0",
        "1.000,'=1+1,1,,2.0",
    ]


def test_wrong_values_and_the_slowest_clients_are_listed() -> None:
    last = fake_load_generator.end_line(4.0, 3.0, 5, errors={"mismatch": 2}, mismatched_keys=[f"k|{HTML}"])
    lines = [fake_load_generator.second_line(0, 2.0, ops=5, errors={"mismatch": 2})]
    result = benchmark_results.result(lines, [fake_load_generator.begin_line(1.0)], [last])
    results = [{"phase": 0, "phase_name": "read", "repetition": 0, **result}]
    clients = [ClientStatistics(3, number, 9, 0.1, 0.1, 0.2, 0.3, float(number)) for number in range(30)]
    text = benchmark_report.markdown(benchmark(summary={"results": results, "verdict": {}}), clients)
    assert "| read | k\\|&lt;script&gt;alert(1)&lt;/script&gt; |" in text
    assert "## Slowest of 30 clients" in text
    rows = [line for line in text.splitlines() if line.startswith("| 3 |")]
    assert (len(rows), rows[0]) == (20, "| 3 | 29 | 9 | 0.1 | 0.1 | 0.2 | 0.3 | 29 |")
