"""Seconds from the cumulative reports of a proxy, of this release and of the one before."""

from typing import Any

from shardboard.agent.contract import ENDPOINT_FIELDS
from shardboard.agent.proxy_counts import _difference


def report(at: int, counts: dict[str, int]) -> dict[str, Any]:
    database = {
        "uid": 1,
        "requests": counts,
        "responses": counts,
        "errors": {},
        "latency": {kind: [[100, count]] for kind, count in counts.items()},
        **dict.fromkeys(("bytes_in", "bytes_out", "connections", "connections_total", "connections_rejected"), 0),
    }
    return {"at": at, "pid": 1, "threads": 1, "cpu_seconds": 0, "rss_bytes": 0, "databases": [database]}


def grown(before: dict[str, int], now: dict[str, int]) -> tuple[dict[str, float], dict[str, Any]]:
    reading = _difference(report(2_000, now), report(1_000, before)).databases[1]
    return dict(zip(ENDPOINT_FIELDS, reading.values, strict=True)), dict(reading.latency)


def test_who_waits_on_purpose_is_counted_apart() -> None:
    served = {"read": 1, "write": 1, "other": 1}
    values, latency = grown({**served, "blocking": 2}, {**served, "write": 4, "blocking": 7})
    assert (values["write_req"], values["blocking_req"], values["blocking_res"]) == (3, 5, 5)
    assert (latency["write"], latency["blocking"]) == ([(100, 3)], [(100, 5)])


def test_a_proxy_of_the_release_before_does_not_tell_of_them_nor_one_after_it_of_more() -> None:
    served = {"read": 1, "write": 1, "other": 1}
    values, latency = grown(served, {**served, "read": 3})
    assert (values["read_req"], values["blocking_req"]) == (2, 0)
    assert set(latency) == {"read", "write", "other"}
    _, latency = grown(served, {**served, "newer": 5})
    assert set(latency) == {"read", "write", "other"}
