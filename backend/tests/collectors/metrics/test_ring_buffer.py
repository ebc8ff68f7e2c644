"""Rings behave like a dictionary, also with late seconds and seconds out of order."""

from hypothesis import given
from hypothesis import strategies as st

from shardboard.collectors.metrics.ring_buffer import Ring
from shardboard.domain.metrics.rates import Value

values = st.none() | st.integers(-1000, 1000).map(float)
rows = st.tuples(values, values)


@given(st.integers(1, 12), st.lists(st.tuples(st.integers(1, 60), rows), max_size=60))
def test_a_ring_keeps_the_newest_row_of_each_slot(seconds: int, puts: list[tuple[int, tuple[Value, Value]]]) -> None:
    ring, expected = Ring(2, seconds), dict[int, tuple[int, tuple[Value, Value]]]()
    for second, row in puts:
        ring.put(second, row)
        stamp, previous = expected.get(second % seconds, (0, row))
        if second == stamp:
            row = tuple(old_value if new is None else new for new, old_value in zip(row, previous, strict=True))  # type: ignore[assignment]
        if second >= stamp:
            expected[second % seconds] = (second, row)
    for second in range(1, 61):
        stored = expected.get(second % seconds)
        assert ring.get(second) == (list(stored[1]) if stored is not None and stored[0] == second else None)


@given(st.sets(st.integers(100, 129)), st.integers(90, 140), st.integers(0, 40))
def test_columns_have_gaps_where_nothing_was_stored(stored: set[int], first: int, count: int) -> None:
    ring = Ring(2, 30)
    for second in stored:
        ring.put(second, [float(second), None])
    columns = ring.columns(first, count)
    expected = [float(second) if second in stored else None for second in range(first, first + count)]
    assert columns == ([expected, [None] * count] if count else [])


def test_a_repeated_second_replaces_known_values() -> None:
    ring = Ring(2, 10)
    ring.put(5, [1.0, 7.0])
    ring.put(5, [2.0, None])
    assert ring.get(5) == [2.0, 7.0]
    ring.put(15, [3.0, None])
    ring.put(5, [4.0, 4.0])
    assert (ring.get(5), ring.get(15)) == (None, [3.0, None])


def test_values_keep_seven_digits() -> None:
    ring = Ring(3, 10)
    ring.put(1, [0.1, 123_456_700.0, 8_589_934_592.0])
    assert ring.get(1) == [0.1, 123_456_700.0, 8_589_935_000.0]


def test_one_value_is_that_of_its_row() -> None:
    ring = Ring(2, 10)
    ring.put(5, [0.1, None])
    assert [ring.value(5, 0), ring.value(5, 1), ring.value(15, 0)] == [0.1, None, None]


@given(st.dictionaries(st.integers(80, 100), st.tuples(values, values, values)), st.integers(1, 15), st.integers(1, 3))
def test_newest_known_values(stored: dict[int, tuple[Value, ...]], count: int, width: int) -> None:
    ring = Ring(3, 30)
    for second, row in stored.items():
        ring.put(second, row)
    recent = [stored[second] for second in range(100, 100 - count, -1) if second in stored]
    expected = [next((row[index] for row in recent if row[index] is not None), None) for index in range(width)]
    assert ring.newest_known(100, count, width) == (expected if recent else None)
