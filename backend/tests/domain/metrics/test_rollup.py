"""Tests of roll-ups against a recomputation from raw seconds, with unknown values and different groupings."""

from array import array
from math import fsum, isnan, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.metrics import rollup
from shardboard.domain.metrics.rates import Value
from shardboard.domain.metrics.rollup import (
    KNOWN_TOGETHER,
    LAST,
    LOWS,
    PEAKS,
    SHARES,
    TOPICS,
    TopicFrame,
    columns_of,
    is_mean,
    merge,
    weight_of,
)

METRICS = TOPICS["bdbs"]
numbers = st.none() | st.floats(0, 1e6, width=32)


def rows(topic: str) -> st.SearchStrategy[list[Value]]:
    """Return random rows. Some metrics are either all known or all unknown, the others independently."""
    metrics = TOPICS[topic]
    known_metrics = {*KNOWN_TOGETHER.get(topic, ()), "total_req"}

    def make_row(values: list[Value], known: bool) -> list[Value]:
        return [
            (value or 0.0) if known and name in known_metrics else None if name in known_metrics else value
            for name, value in zip(metrics, values, strict=True)
        ]

    return st.builds(make_row, st.lists(numbers, min_size=len(metrics), max_size=len(metrics)), st.booleans())


def random_seconds(topic: str) -> st.SearchStrategy[tuple[str, list[dict[int, list[Value]]]]]:
    """Return for each second the rows of the existing uids. A second can be empty."""
    return st.tuples(st.just(topic), st.lists(st.dictionaries(st.integers(1, 3), rows(topic)), min_size=1, max_size=20))


def frame(t: int, found: dict[int, list[Value]], topic: str = "bdbs") -> TopicFrame:
    uids = sorted(found)
    values = {
        name: array("f", [nan if (value := found[uid][index]) is None else value for uid in uids])
        for index, name in enumerate(TOPICS[topic])
    }
    return TopicFrame(t, array("i", uids), values)


def value(found: TopicFrame, name: str, uid: int) -> Value:
    number = found.columns[name][found.uids.index(uid)]
    return None if isnan(number) else number


def expected(rows_by_second: list[dict[int, list[Value]]], topic: str, metric: str, uid: int) -> Value:
    """Compute the value from all seconds, as specified."""
    index = TOPICS[topic].index(metric)
    values = [row[uid][index] for row in rows_by_second if uid in row and row[uid][index] is not None]
    if metric in SHARES:
        part, other_part = ([expected(rows_by_second, topic, name, uid) for name in names] for names in SHARES[metric])
        if any(value is None for value in (*part, *other_part)) or not fsum((*part, *other_part)) > 0:  # type: ignore[arg-type]
            return None
        return fsum(part) / fsum((*part, *other_part))  # type: ignore[arg-type]
    if not values:
        return None
    return values[-1] if metric in LAST else fsum(values) / len(values)  # type: ignore[arg-type]


@given(
    random_seconds("bdbs") | random_seconds("shards") | random_seconds("flash"), st.integers(1, 7), st.integers(1, 3)
)
def test_stepwise_roll_up_equals_direct_roll_up(
    seconds: tuple[str, list[dict[int, list[Value]]]], short: int, longer: int
) -> None:
    topic, rows_by_second = seconds
    metrics = TOPICS[topic]
    raw = [frame(t, item, topic) for t, item in enumerate(rows_by_second) if item]
    if not raw:
        return
    low = [merge(topic, t, part, 1) for t in range(0, 20, short) if (part := frames_between(raw, t, short))]
    span = short * longer
    middle = [merge(topic, t, part, short) for t in range(0, 20, span) if (part := frames_between(low, t, span))]
    top = merge(topic, 0, middle, span)
    assert list(top.uids) == sorted(set().union(*rows_by_second))
    for uid in top.uids:
        for metric in metrics:
            assert value(top, metric, uid) == approximately(expected(rows_by_second, topic, metric, uid)), metric
        for metric in PEAKS.intersection(metrics):
            index = metrics.index(metric)
            values = [item for row in rows_by_second if uid in row and (item := row[uid][index]) is not None]
            assert value(top, f"{metric}_max", uid) == (max(values) if values else None)
            if metric in LOWS:
                assert value(top, f"{metric}_min", uid) == (min(values) if values else None)
        for metric in filter(is_mean, metrics):
            index = metrics.index(metric)
            known_count = sum(row[uid][index] is not None for row in rows_by_second if uid in row)
            assert value(top, weight_of(topic, metric), uid) == known_count


def frames_between(frames: list[TopicFrame], t: int, length: int) -> list[TopicFrame]:
    return [each for each in frames if t <= each.t < t + length]


def approximately(expected_value: Value) -> object:
    # Each level rounds to float32.
    return None if expected_value is None else pytest.approx(expected_value, rel=1e-5, abs=1e-30)


def test_intervals_are_weighted_by_their_known_seconds() -> None:
    row = [0.0] * len(METRICS)
    first = merge("bdbs", 0, [frame(t, {1: [100.0, *row[1:]]}) for t in range(9)], 1)
    second = merge("bdbs", 10, [frame(10, {1: [0.0, *row[1:]]})], 1)
    assert value(merge("bdbs", 0, [first, second], 10), "total_req", 1) == 90


def test_all_columns_of_each_topic_are_computed() -> None:
    for topic, metrics in TOPICS.items():
        raw = TopicFrame(0, array("i", [1]), {name: array("f", [1.0]) for name in metrics})
        assert set(merge(topic, 0, [raw], 1).columns) == set(columns_of(topic, 10))
        assert columns_of(topic, 1) == metrics


def test_metrics_missing_from_older_data_are_unknown() -> None:
    old = TopicFrame(0, array("i", [1]), {"total_req": array("f", [5.0])})
    merged = merge("bdbs", 0, [old, frame(1, {1: [7.0] * len(METRICS)})], 1)
    assert (value(merged, "total_req", 1), value(merged, "conns", 1), value(merged, "#conns", 1)) == (6, 7, 1)


def test_column_is_aligned_to_other_uids() -> None:
    column = rollup.aligned(array("f", [1.0, 2.0]), array("i", [3, 5]), array("i", [5, 7]))
    assert column[0] == 2
    assert isnan(column[1])
