"""Summaries of the last seconds."""

from array import array
from math import nan

from shardboard.domain.metrics.recent_window import STATISTICS, summarize
from shardboard.domain.metrics.rollup import TopicFrame, numbers


def frame(t: int, uids: list[int], **columns: list[float]) -> TopicFrame:
    return TopicFrame(t, numbers(uids), {name: array("f", values) for name, values in columns.items()})


def test_rates_are_means_and_amounts_are_the_last_known_value() -> None:
    frames = [
        frame(1, [1], total_req=[4.0], used_memory=[10.0]),
        frame(2, [1, 2], total_req=[nan, 5.0], used_memory=[30.0, nan]),
        frame(3, [1, 2], total_req=[10.0, 5.0], used_memory=[nan, nan]),
        frame(4, [1, 2], total_req=[1.0, 5.0], used_memory=[nan, nan]),
    ]
    found = summarize(frames, ("total_req", "used_memory", "other"), tuple(STATISTICS))
    assert found[1]["total_req"] == 5
    assert [found[1][f"total_req_{name}"] for name in ("max", "min", "median")] == [10, 1, 4]
    assert found[1]["used_memory"] == 30
    assert found[2].keys() == {"total_req", "total_req_max", "total_req_min", "total_req_median"}
    assert summarize(frames, ("total_req",))[2] == {"total_req": 5}, "other statistics are not requested"
    assert summarize([], ("total_req",)) == {}
