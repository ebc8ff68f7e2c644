"""Tests of the table that compares benchmark results of engine versions."""

import pytest
from perf.clusters.engines import LINE, table
from perf.kit.report import Report


def test_all_kinds_of_lines_are_parsed(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report()
    report.limit("node killed: median", 0.25, 0.6, "s", " (and a note)")
    report.limit("writes refused", 2, 0, "writes")
    report.fact("6+6 shards on 3 nodes", [1.0, 3.0, 2.0], "s")
    assert capsys.readouterr().out
    matches = [(match["what"], match["value"]) for line in report.lines if (match := LINE.match(line)) is not None]
    assert matches == [
        ("node killed: median", "0.25 s"),
        ("writes refused", "2 writes"),
        ("6+6 shards on 3 nodes", "2 s"),
    ]


def test_missing_result_of_an_engine_is_a_gap() -> None:
    match = {"creation": {"9.1.2": "1 s", "8.0.1": "2 s"}, "failover": {"9.1.2": "0.3 s"}}
    assert table(["9.1.2", "8.0.1"], match).splitlines() == [
        "| | 9.1.2 | 8.0.1 |",
        "|---|---|---|",
        "| creation | 1 s | 2 s |",
        "| failover | 0.3 s | – |",
    ]
