"""Roll-ups against a recomputation from raw seconds, whatever is unknown and however the seconds are grouped."""

from array import array
from math import fsum, isnan, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain import rollup
from shardboard.domain.rates import Value
from shardboard.domain.rollup import (
    KNOWN_TOGETHER,
    LAST,
    LOWS,
    PEAKS,
    SHARES,
    TOPICS,
    Frame,
    columns_of,
    is_mean,
    merge,
    weight_of,
)

METRICS = TOPICS["bdbs"]
numbers = st.none() | st.floats(0, 1e6, width=32)


def rows(topic: str) -> st.SearchStrategy[list[Value]]:
    """What is known together is known together; the rest is known or not each by itself."""
    metrics = TOPICS[topic]
    together = {*KNOWN_TOGETHER.get(topic, ()), "total_req"}

    def made(values: list[Value], known: bool) -> list[Value]:
        return [
            (value or 0.0) if known and name in together else None if name in together else value
            for name, value in zip(metrics, values, strict=True)
        ]

    return st.builds(made, st.lists(numbers, min_size=len(metrics), max_size=len(metrics)), st.booleans())


def told_of(topic: str) -> st.SearchStrategy[tuple[str, list[dict[int, list[Value]]]]]:
    """Per second, the rows of the uids that were there; a second may be missing as a whole."""
    return st.tuples(st.just(topic), st.lists(st.dictionaries(st.integers(1, 3), rows(topic)), min_size=1, max_size=20))


def frame(t: int, found: dict[int, list[Value]], topic: str = "bdbs") -> Frame:
    uids = sorted(found)
    values = {
        name: array("f", [nan if (value := found[uid][index]) is None else value for uid in uids])
        for index, name in enumerate(TOPICS[topic])
    }
    return Frame(t, array("i", uids), values)


def value(found: Frame, name: str, uid: int) -> Value:
    number = found.columns[name][found.uids.index(uid)]
    return None if isnan(number) else number


def expected(told: list[dict[int, list[Value]]], topic: str, metric: str, uid: int) -> Value:
    """The definition, second by second."""
    index = TOPICS[topic].index(metric)
    known = [row[uid][index] for row in told if uid in row and row[uid][index] is not None]
    if metric in SHARES:
        part, rest = ([expected(told, topic, name, uid) for name in names] for names in SHARES[metric])
        if any(value is None for value in (*part, *rest)) or not fsum((*part, *rest)) > 0:  # type: ignore[arg-type]
            return None
        return fsum(part) / fsum((*part, *rest))  # type: ignore[arg-type]
    if not known:
        return None
    return known[-1] if metric in LAST else fsum(known) / len(known)  # type: ignore[arg-type]


@given(told_of("bdbs") | told_of("shards") | told_of("flash"), st.integers(1, 7), st.integers(1, 3))
def test_rolling_up_in_steps_is_rolling_up_at_once(
    seconds: tuple[str, list[dict[int, list[Value]]]], short: int, longer: int
) -> None:
    topic, told = seconds
    metrics = TOPICS[topic]
    raw = [frame(t, found, topic) for t, found in enumerate(told) if found]
    if not raw:
        return
    low = [merge(topic, t, part, 1) for t in range(0, 20, short) if (part := cut(raw, t, short))]
    span = short * longer
    middle = [merge(topic, t, part, short) for t in range(0, 20, span) if (part := cut(low, t, span))]
    top = merge(topic, 0, middle, span)
    assert list(top.uids) == sorted(set().union(*told))
    for uid in top.uids:
        for metric in metrics:
            assert value(top, metric, uid) == near(expected(told, topic, metric, uid)), metric
        for metric in PEAKS.intersection(metrics):
            index = metrics.index(metric)
            known = [found for row in told if uid in row and (found := row[uid][index]) is not None]
            assert value(top, f"{metric}_max", uid) == (max(known) if known else None)
            if metric in LOWS:
                assert value(top, f"{metric}_min", uid) == (min(known) if known else None)
        for metric in filter(is_mean, metrics):
            index = metrics.index(metric)
            counted = sum(row[uid][index] is not None for row in told if uid in row)
            assert value(top, weight_of(topic, metric), uid) == counted


def cut(frames: list[Frame], t: int, length: int) -> list[Frame]:
    return [found for found in frames if t <= found.t < t + length]


def near(wanted: Value) -> object:
    # Each level rounds to float32.
    return None if wanted is None else pytest.approx(wanted, rel=1e-5, abs=1e-30)


def test_a_busy_minute_weighs_as_much_as_the_seconds_that_are_known_of_it() -> None:
    row = [0.0] * len(METRICS)
    first = merge("bdbs", 0, [frame(t, {1: [100.0, *row[1:]]}) for t in range(9)], 1)
    second = merge("bdbs", 10, [frame(10, {1: [0.0, *row[1:]]})], 1)
    assert value(merge("bdbs", 0, [first, second], 10), "total_req", 1) == 90


def test_every_column_is_made_for_every_topic() -> None:
    for topic, metrics in TOPICS.items():
        raw = Frame(0, array("i", [1]), {name: array("f", [1.0]) for name in metrics})
        assert set(merge(topic, 0, [raw], 1).columns) == set(columns_of(topic, 10))
        assert columns_of(topic, 1) == metrics


def test_metrics_of_an_earlier_release_are_unknown_before_it() -> None:
    old = Frame(0, array("i", [1]), {"total_req": array("f", [5.0])})
    found = merge("bdbs", 0, [old, frame(1, {1: [7.0] * len(METRICS)})], 1)
    assert (value(found, "total_req", 1), value(found, "conns", 1), value(found, "#conns", 1)) == (6, 7, 1)


def test_columns_of_other_uids() -> None:
    column = rollup.aligned(array("f", [1.0, 2.0]), array("i", [3, 5]), array("i", [5, 7]))
    assert column[0] == 2
    assert isnan(column[1])
