"""Tests that reports of benchmarks show user-defined texts, and do not execute them."""

from typing import Any

from shardboard.domain.benchmarks import benchmark_report

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
    part = {"phase_name": "=1+1", "repetition": 0, "at": [0.0, 1.0], "columns": columns}
    assert benchmark_report.table([part]).splitlines() == [
        "at,phase,repetition,ops,'=cmd",
        "0.000,'=1+1,1,-1.5,1.0",
        "1.000,'=1+1,1,,2.0",
    ]
