"""Tests of per-second values from the cumulative reports of proxies of this and the previous release."""

from typing import Any

from shardboard.agent.databases.proxy_counts import MAX_READINGS, ProxyCounts, _difference
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
    return {
        "at": at,
        "started_at": -9_000,
        "pid": 1,
        "threads": 1,
        "cpu_seconds": 0,
        "rss_bytes": 0,
        "databases": [database],
    }


def difference(before: dict[str, int], now: dict[str, int]) -> tuple[dict[str, float], dict[str, Any]]:
    reading = _difference(report(2_000, now), report(1_000, before)).databases[1]
    return dict(zip(ENDPOINT_FIELDS, reading.values, strict=True)), dict(reading.latency)


def test_blocking_commands_are_counted_separately() -> None:
    requests = {"read": 1, "write": 1, "other": 1}
    values, latency = difference({**requests, "blocking": 2}, {**requests, "write": 4, "blocking": 7})
    assert (values["write_req"], values["blocking_req"], values["blocking_res"]) == (3, 5, 5)
    assert (latency["write"], latency["blocking"]) == ([(100, 3)], [(100, 5)])


def test_missing_and_unknown_kinds_of_other_releases_are_ignored() -> None:
    requests = {"read": 1, "write": 1, "other": 1}
    values, latency = difference(requests, {**requests, "read": 3})
    assert (values["read_req"], values["blocking_req"]) == (2, 0)
    assert set(latency) == {"read", "write", "other"}
    _, latency = difference(requests, {**requests, "newer": 5})
    assert set(latency) == {"read", "write", "other"}


async def test_a_late_reading_is_returned_once_and_no_count_is_lost() -> None:
    counts = ProxyCounts()
    counts.add(report(1_000, {"read": 1, "write": 0, "other": 0}))
    assert await counts.reading_at(1, 0) is None, "the counts before the first report are unknown"
    assert await counts.reading_at(2, 0) is None
    assert counts.take_late(2) is None
    counts.add(report(2_700, {"read": 3, "write": 0, "other": 0}))
    counts.add(report(2_990, {"read": 4, "write": 0, "other": 0}))
    counts.add(report(3_990, {"read": 9, "write": 0, "other": 0}))
    reading = await counts.reading_at(3, 0)
    assert reading is not None
    assert reading.databases[1].values[0] == 6, "those of the second report in second 2 are included"
    late = counts.take_late(3)
    assert late is not None
    assert (late.t, late.reading.databases[1].values[0]) == (2, 2)
    assert counts.take_late(3) is None


async def test_readings_that_are_not_taken_are_limited() -> None:
    counts = ProxyCounts()
    for second in range(100):
        counts.add(report(second * 1_000, {"read": second, "write": 0, "other": 0}))
    late = counts.take_late(1_000)
    assert late is not None
    assert late.t == 100 - MAX_READINGS
