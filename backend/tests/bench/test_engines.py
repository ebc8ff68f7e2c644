"""What benchmarks report of two engines becomes one table."""

import pytest
from bench.engines import LINE, table
from bench.report import Report


def test_every_kind_of_line_is_understood(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report()
    report.limit("node killed: median", 0.25, 0.6, "s", " (and a note)")
    report.limit("writes refused", 2, 0, "writes")
    report.fact("6+6 shards on 3 nodes", [1.0, 3.0, 2.0], "s")
    assert capsys.readouterr().out
    found = [(told["what"], told["value"]) for line in report.lines if (told := LINE.match(line)) is not None]
    assert found == [
        ("node killed: median", "0.25 s"),
        ("writes refused", "2 writes"),
        ("6+6 shards on 3 nodes", "2 s"),
    ]


def test_a_row_that_one_engine_did_not_report_has_a_gap() -> None:
    told = {"creation": {"9.1.2": "1 s", "8.0.1": "2 s"}, "failover": {"9.1.2": "0.3 s"}}
    assert table(["9.1.2", "8.0.1"], told).splitlines() == [
        "| | 9.1.2 | 8.0.1 |",
        "|---|---|---|",
        "| creation | 1 s | 2 s |",
        "| failover | 0.3 s | – |",
    ]
