"""Tests of per-second values from the cumulative reports of proxies of this and the previous release."""

from typing import Any

from shardboard.agent.databases.proxy_counts import _difference
from shardboard.contract import ENDPOINT_FIELDS


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


def difference(before: dict[str, int], now: dict[str, int]) -> tuple[dict[str, float], dict[str, Any]]:
    reading = _difference(report(2_000, now), report(1_000, before)).databases[1]
    return dict(zip(ENDPOINT_FIELDS, reading.values, strict=True)), dict(reading.latency)


def test_blocking_commands_are_counted_separately() -> None:
    served = {"read": 1, "write": 1, "other": 1}
    values, latency = difference({**served, "blocking": 2}, {**served, "write": 4, "blocking": 7})
    assert (values["write_req"], values["blocking_req"], values["blocking_res"]) == (3, 5, 5)
    assert (latency["write"], latency["blocking"]) == ([(100, 3)], [(100, 5)])


def test_missing_and_unknown_kinds_of_other_releases_are_ignored() -> None:
    served = {"read": 1, "write": 1, "other": 1}
    values, latency = difference(served, {**served, "read": 3})
    assert (values["read_req"], values["blocking_req"]) == (2, 0)
    assert set(latency) == {"read", "write", "other"}
    _, latency = difference(served, {**served, "newer": 5})
    assert set(latency) == {"read", "write", "other"}
