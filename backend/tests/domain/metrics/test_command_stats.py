"""Tests of command statistics combined from all proxies."""

import pytest

from shardboard.domain.metrics.command_stats import CommandCounters, ProxyCommandCounts, interval, most_used


def test_rates_use_the_interval_of_each_proxy() -> None:
    reports = [
        ProxyCommandCounts(1, seconds=60, counts=[CommandCounters("get", 600, 6, 60_000, [(100, 594), (2_000, 6)])]),
        ProxyCommandCounts(
            2,
            seconds=30,
            counts=[CommandCounters("get", 300, 0, 300_000, [(1_000, 300)]), CommandCounters("set", 30, 30, 0)],
        ),
        ProxyCommandCounts(3, reason="its proxy does not run"),
    ]
    get, set_ = most_used(reports)
    assert (get.name, get.calls, get.errors) == ("get", 20.0, 0.1)
    assert get.avg == pytest.approx(0.4)
    assert (get.p50, get.p99) == (0.1, 1.0)
    assert (set_.name, set_.calls, set_.errors) == ("set", 1.0, 1.0)
    assert (set_.avg, set_.p50, set_.p99) == (None, None, None)
    assert interval(reports) == 60
    assert interval(reports[2:]) is None


def test_commands_are_sorted_by_usage_then_name() -> None:
    counts = [CommandCounters(name, calls, 0, 0) for name, calls in (("b", 5), ("a", 5), ("c", 9))]
    assert [each.name for each in most_used([ProxyCommandCounts(1, seconds=1, counts=counts)], 2)] == ["c", "a"]
    assert most_used([]) == []
    assert most_used([ProxyCommandCounts(1, seconds=0, counts=counts)]) == []
