"""Tests of the outages that an agent keeps from the reports of its proxy."""

from typing import Any

from shardboard.agent.databases.outages import Outages
from shardboard.contract import MAX_OUTAGES


def line(noticed: int = 1_000, **values: Any) -> dict[str, Any]:
    """Return an outage in the format of the proxy."""
    defaults = {"type": "outage", "uid": 1, "address": "10.0.0.2", "port": 20000, "slots": [[0, 16383]]}
    counts = {"last_success_ms": 990, "first_success_ms": None, "waited": 0, "failed": 0, "lost": 0}
    return defaults | counts | {"noticed_ms": noticed} | values


def test_outage_is_reported_once_and_again_when_it_ends() -> None:
    outages = Outages()
    outages.add(line())
    number, reported = outages.since(0)
    assert [outage.first_success_ms for outage in reported] == [None]
    assert outages.since(number) == (number, [])
    outages.add(line(first_success_ms=1_600, waited=3))
    number, reported = outages.since(number)
    assert [(outage.first_success_ms, outage.waited) for outage in reported] == [(1_600, 3)]
    assert len(outages.since(0)[1]) == 1


def test_repeated_report_is_ignored() -> None:
    outages = Outages()
    outages.add(line(first_success_ms=1_600))
    number, _ = outages.since(0)
    outages.add(line(first_success_ms=1_600))
    assert outages.since(number) == (number, [])


def test_only_the_newest_outages_are_kept() -> None:
    outages = Outages()
    for noticed in range(1_000, 1_000 + 2 * MAX_OUTAGES):
        outages.add(line(noticed))
    _, reported = outages.since(0)
    assert [outage.noticed_ms for outage in reported] == list(range(1_000 + MAX_OUTAGES, 1_000 + 2 * MAX_OUTAGES))


def test_invalid_lines_are_skipped() -> None:
    outages = Outages()
    outages.add(line(port="x"))
    outages.add({"type": "outage"})
    outages.add(line(news="of a later proxy"))
    assert len(outages.since(0)[1]) == 1
