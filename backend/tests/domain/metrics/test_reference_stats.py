"""Statistics that are always present, and those that are derived from others."""

from array import array
from collections.abc import Iterator
from math import nan

import pytest

from shardboard.api.metrics.intervals import last_values
from shardboard.domain.metrics import reference_stats
from shardboard.domain.metrics.rollup import TopicFrame, numbers

FREE = {"persistent_storage_free": 7.0, "available_memory": 5.0, "bigstore_free": nan}


def frame(**columns: list[float]) -> TopicFrame:
    return TopicFrame(0, numbers([1, 2]), {name: array("f", values) for name, values in columns.items()})


def test_derived_statistics_have_the_value_of_their_source() -> None:
    derived = reference_stats.derived("nodes", FREE)
    assert derived["ephemeral_storage_free"] == 7
    assert derived["available_memory_no_overbooking"] == 5
    assert "ephemeral_storage_avail" not in derived, "the source was not requested"
    assert "available_flash" not in reference_stats.complete("nodes", FREE | derived)


@pytest.mark.parametrize(("reads", "deletions"), [(nan, None), (0.0, 0.0), (3.0, 0.0)])
def test_flash_statistics_exist_on_flash_only(reads: float, deletions: float | None) -> None:
    assert reference_stats.derived("bdbs", {"bigstore_io_reads": reads}).get("bigstore_io_dels") == deletions


def test_sources_of_requested_metrics_are_read() -> None:
    assert reference_stats.sources("nodes", ["ephemeral_storage_free"]) >= {"persistent_storage_free"}
    assert reference_stats.sources("bdbs", ["bigstore_io_dels"]) >= {"bigstore_io_reads"}
    assert reference_stats.sources("bdbs", []) == frozenset(), "all metrics"


@pytest.mark.parametrize("topic", reference_stats.ALWAYS_PRESENT)
def test_unknown_statistics_are_zero_only_if_they_must_be_present(topic: str) -> None:
    full = reference_stats.complete(topic, {"total_req": 3.0, "conns": nan, "avg_latency": nan, "hit_ratio": nan})
    assert set(full) == {*reference_stats.ALWAYS_PRESENT[topic], "total_req"}
    assert full["total_req"] == 3
    assert not any(value for name, value in full.items() if name != "total_req")


def test_unknown_values_are_those_of_the_last_seconds() -> None:
    late, before = frame(total_req=[nan, 1.0], conns=[4.0, nan]), frame(total_req=[2.0, 9.0], conns=[8.0, 3.0])
    oldest = frame(total_req=[7.0, 7.0], conns=[7.0, 7.0])
    assert last_values("endpoints", [1, 2, 3], iter([late, None, before, oldest])) == {
        1: {"total_req": 2.0, "conns": 4.0},
        2: {"total_req": 1.0, "conns": 3.0},
    }


def test_earlier_seconds_are_not_read_if_everything_is_known() -> None:
    known = {name: [1.0, 2.0] for name in reference_stats.ALWAYS_PRESENT["endpoints"]}

    def frames(**columns: list[float]) -> Iterator[TopicFrame]:
        yield frame(**columns)
        yield frame(**known)
        pytest.fail("too many seconds were read")

    assert last_values("endpoints", [1], frames(**known, avg_latency=[nan, nan]))[1]["total_req"] == 1
    del known["total_req"]
    with pytest.raises(pytest.fail.Exception, match="too many"):
        last_values("endpoints", [1], frames(**known))
