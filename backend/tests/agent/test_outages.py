"""What an agent remembers of outages that its proxy told."""

from typing import Any

from shardboard.agent.contract import MAX_OUTAGES
from shardboard.agent.outages import Outages


def line(noticed: int = 1_000, **values: Any) -> dict[str, Any]:
    """As the proxy writes it."""
    usual = {"type": "outage", "uid": 1, "address": "10.0.0.2", "port": 20000, "slots": [[0, 16383]]}
    counts = {"last_success_ms": 990, "first_success_ms": None, "waited": 0, "failed": 0, "lost": 0}
    return usual | counts | {"noticed_ms": noticed} | values


def test_each_is_told_once_and_again_when_it_is_over() -> None:
    outages = Outages()
    outages.add(line())
    number, told = outages.since(0)
    assert [outage.first_success_ms for outage in told] == [None]
    assert outages.since(number) == (number, [])
    outages.add(line(first_success_ms=1_600, waited=3))
    number, told = outages.since(number)
    assert [(outage.first_success_ms, outage.waited) for outage in told] == [(1_600, 3)]
    assert len(outages.since(0)[1]) == 1


def test_what_a_proxy_tells_again_is_no_news() -> None:
    outages = Outages()
    outages.add(line(first_success_ms=1_600))
    number, _ = outages.since(0)
    outages.add(line(first_success_ms=1_600))
    assert outages.since(number) == (number, [])


def test_the_newest_are_remembered() -> None:
    outages = Outages()
    for noticed in range(1_000, 1_000 + 2 * MAX_OUTAGES):
        outages.add(line(noticed))
    _, told = outages.since(0)
    assert [outage.noticed_ms for outage in told] == list(range(1_000 + MAX_OUTAGES, 1_000 + 2 * MAX_OUTAGES))


def test_a_line_that_is_not_understood_harms_no_other() -> None:
    outages = Outages()
    outages.add(line(port="x"))
    outages.add({"type": "outage"})
    outages.add(line(news="of a later proxy"))
    assert len(outages.since(0)[1]) == 1
