"""Tests of parsing the output of memtier_benchmark as lines of a load."""

import json
from typing import Any

import pytest
from backend.tests.support.fake_memtier import json_report, progress_line
from hypothesis import given
from hypothesis import strategies as st

from shardboard.agent.benchmarks.memtier_output import ProgressParser, end_line, redacted

OLD = (
    "[RUN #1 33%,   0 secs]  1 threads:       27938 ops,   27982 (avg:   27982) ops/sec, 1.58MB/sec (avg: 1.58MB/sec), "
    " 0.21 (avg:  0.21) msec latency"
)
"""Progress line of memtier_benchmark 2.2.1."""


def test_second_is_the_increase_since_the_previous_line() -> None:
    seconds = ProgressParser()
    first = seconds.parse_line(progress_line(1, 1000, percent="10"), 101.0)
    second = seconds.parse_line(progress_line(2, 1500, percent="20", latency=" 0.40"), 102.0)
    assert first == {
        "kind": "second",
        "t": 0,
        "at": 101.0,
        "ops": 1000,
        "errors": {},
        "average_us": 210.0,
        "progress": 0.1,
    }
    assert second is not None
    assert (second["t"], second["ops"], second["average_us"], second["progress"]) == (1, 500, 400.0, 0.2)


def test_progress_line_of_an_older_version_is_parsed() -> None:
    line = ProgressParser().parse_line(OLD, 1.0)
    assert line is not None
    assert (line["ops"], line["average_us"], line["progress"]) == (27938, 210.0, 0.33)


def test_nan_values_before_the_first_operation_are_omitted() -> None:
    line = ProgressParser().parse_line(progress_line(0, 0, percent="-nan", latency="-nan"), 1.0)
    assert line is not None
    assert (line["ops"], line["average_us"], line["progress"]) == (0, None, None)


def test_lost_connections_are_counted_as_errors() -> None:
    seconds = ProgressParser()
    result = [seconds.parse_line(progress_line(t, 1000 * t, lost=lost), t) for t, lost in enumerate((0, 3, 3, 5), 1)]
    assert [each and each["errors"] for each in result] == [{}, {"connection": 3}, {}, {"connection": 2}]


def test_decreasing_total_is_a_restart() -> None:
    seconds = ProgressParser()
    result = [seconds.parse_line(progress_line(t, ops), t) for t, ops in enumerate((1000, 2000, 700, 1700), 1)]
    assert [each and each["ops"] for each in result] == [1000, 1000, 700, 1000]
    assert seconds.discarded


@pytest.mark.parametrize("text", ["", "ALL STATS", "[RUN #1] Launching threads now...", "error: connection refused"])
def test_other_lines_are_ignored(text: str) -> None:
    assert ProgressParser().parse_line(text, 1.0) is None


@given(st.text())
def test_arbitrary_text_raises_no_error(text: str) -> None:
    ProgressParser().parse_line(text, 1.0)
    assert end_line(text, 1.0) is None
    assert redacted(text) in ("", text) or json.loads(text)


def test_end_has_counts_percentiles_and_histogram() -> None:
    end = end_line(json.dumps(json_report(10.0, 2500, 7500)), 111.0)
    assert end is not None
    assert (end["ops"], end["writes"], end["reads"], end["seconds"]) == (10_000, 2500, 7500, 10.0)
    assert (end["p50_us"], end["p99_us"], end["p999_us"], end["max_us"]) == (207.0, 399.0, 807.0, 1599.0)
    assert end["histogram"] == {"207": 5000, "399": 4900, "1599": 100}
    assert (end["received_bytes"], end["sent_bytes"], end["misses"]) == (100 * 1024, 200 * 1024, 5000)
    assert (end["measured"], end["stopped"]) == (True, False)


def test_run_without_measurements_has_no_percentiles() -> None:
    last = end_line(json.dumps(json_report(-1.0, 0, 0)), 1.0)
    assert last is not None
    assert (last["measured"], last["seconds"], "p50_us" in last) == (False, 0.0, False)


@pytest.mark.parametrize(
    "damage", [lambda result: result.pop("ALL STATS"), lambda result: result["ALL STATS"].pop("Totals")]
)
def test_incomplete_report_is_ignored(damage: Any) -> None:
    result = json_report(10.0, 1, 1)
    damage(result)
    assert end_line(json.dumps(result), 1.0) is None
    assert end_line(json.dumps(result)[:100], 1.0) is None


def test_password_is_removed_from_the_report() -> None:
    report = redacted(json.dumps(json_report(10.0, 1, 1, password="correct-horse")))
    assert "correct-horse" not in report
    assert json.loads(report)["ALL STATS"]["Totals"]["Count"] == 2
