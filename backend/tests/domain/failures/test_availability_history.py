"""Tests of the division of time into served, failed, and unknown seconds."""

from datetime import UTC, datetime

import pytest
from backend.tests.domain.failures.outage_events import OutageReport, ms
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.failures.availability_history import (
    FINAL_SECONDS,
    SETTLED_SECONDS,
    Availability,
    ServiceSecond,
    ServiceState,
    count,
    countable_until,
    failed_intervals,
)
from shardboard.domain.failures.outages import UnservedSpan, unserved_spans

T = 1_700_000_000
MONTH = "2023-11"
USED, IDLE, UNCLEAR, DOWN = ServiceState.USED, ServiceState.IDLE, ServiceState.UNCLEAR, ServiceState.DOWN


def counted(
    states: dict[int, ServiceState],
    failed: list[tuple[int, int]] | None = None,
    *,
    seconds: int = 10,
    canaries: bool = True,
) -> Availability:
    """Count `seconds` seconds from T on. States and failed intervals (ms) are relative to T."""
    intervals = [(T * 1000 + start, T * 1000 + end) for start, end in failed or []]
    result = count(T, T + seconds, {T + t: state for t, state in states.items()}, intervals, has_canaries=canaries)
    assert set(result) == {MONTH}
    return result[MONTH]


@pytest.mark.parametrize(
    ("states", "failed", "expected"),
    [
        pytest.param({}, [], (0, 0, 10_000), id="nothing is known"),
        pytest.param(dict.fromkeys(range(10), USED), [], (10_000, 0, 0), id="used"),
        pytest.param(dict.fromkeys(range(10), IDLE), [], (10_000, 0, 0), id="canaries only"),
        pytest.param(dict.fromkeys(range(8), USED), [], (8_000, 0, 2_000), id="two seconds are missing"),
        pytest.param(dict.fromkeys(range(10), USED), [(2_300, 2_950)], (9_350, 650, 0), id="short outage"),
        pytest.param(
            dict.fromkeys(range(5), USED), [(4_500, 7_000)], (4_500, 2_500, 3_000), id="outage in unknown time"
        ),
        pytest.param(dict.fromkeys(range(10), DOWN), [], (0, 10_000, 0), id="no endpoint or no shard"),
        pytest.param({0: USED, 1: DOWN}, [(500, 1_500)], (500, 1_500, 8_000), id="overlap counts once"),
        pytest.param({0: UNCLEAR}, [], (0, 0, 10_000), id="no primary"),
        pytest.param({0: UNCLEAR}, [(200, 700)], (500, 500, 9_000), id="an outage explains the missing primary"),
        pytest.param({-1: USED, 10: USED}, [], (0, 0, 10_000), id="other seconds are ignored"),
    ],
)
def test_time_is_divided(
    states: dict[int, ServiceState], failed: list[tuple[int, int]], expected: tuple[int, int, int]
) -> None:
    assert counted(states, failed) == Availability(*expected)


def test_idle_seconds_without_canary_writes_are_unknown() -> None:
    states = {0: IDLE, 1: USED}
    assert counted(states, seconds=2, canaries=False) == Availability(1_000, 0, 1_000)


@given(
    st.dictionaries(st.integers(0, 19), st.sampled_from(ServiceState)),
    st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 20_000)), max_size=5),
    st.integers(1, 19),
    st.booleans(),
)
def test_each_second_counts_once_and_unknown_time_is_never_served(
    states: dict[int, ServiceState], failed: list[tuple[int, int]], cut: int, canaries: bool
) -> None:
    """The sum of two parts equals the whole, however the time is divided."""
    by_second = {T + t: state for t, state in states.items()}
    intervals = sorted((T * 1000 + min(pair), T * 1000 + max(pair)) for pair in failed)

    def between(first: int, last: int) -> Availability:
        result = count(first, last, by_second, intervals, has_canaries=canaries)
        return sum(result.values(), Availability())

    whole, parts = between(T, T + 20), between(T, T + cut) + between(T + cut, T + 20)
    assert whole == parts
    assert whole.served_ms + whole.failed_ms + whole.unknown_ms == 20_000
    assert min(whole.served_ms, whole.failed_ms, whole.unknown_ms) >= 0
    assert whole.served_ms <= 1000 * sum(state is not DOWN for state in states.values())


def test_months_of_utc_are_counted_separately() -> None:
    end = round(datetime(2024, 1, 1, tzinfo=UTC).timestamp())
    states = dict.fromkeys(range(end - 3, end + 2), USED)
    result = count(end - 3, end + 2, states, [(end * 1000 - 500, end * 1000 + 250)], has_canaries=True)
    assert result == {"2023-12": Availability(2_500, 500, 0), "2024-01": Availability(1_750, 250, 0)}


@pytest.mark.parametrize(
    ("served", "failed", "percent"),
    [(0, 0, None), (1000, 0, 100.0), (10**12, 1, 99.99999), (999_990, 10, 99.999), (999_989, 11, 99.9989), (0, 1, 0.0)],
)
def test_percentage_of_known_time_is_rounded_down(served: int, failed: int, percent: float | None) -> None:
    assert Availability(served, failed, 12_345).percent == percent


def test_complete_seconds_are_counted_soon_and_others_when_they_are_final() -> None:
    now = T + 1_000
    recent = range(now - 60, now)
    assert countable_until(now - 60, now, recent) == now - SETTLED_SECONDS
    assert countable_until(now - 60, now, []) == now - 60, "an incomplete second waits for late samples"
    assert countable_until(now - 60, now, [t for t in recent if t != now - 30]) == now - 30
    assert countable_until(T, now, recent) == now - FINAL_SECONDS
    assert countable_until(T, now, range(now - 200, now)) == now - SETTLED_SECONDS
    lost = [((now - 30) * 1000 - 10, (now - 25) * 1000 + 10)]
    until_loss = range(now - 60, now - 30)
    assert countable_until(now - 60, now, until_loss, lost) == now - 25, "seconds that failed completely"
    assert countable_until(now - 60, now, until_loss, [(lost[0][0] + 20, lost[0][1])]) == now - 30
    assert countable_until(now + 50, now, recent) == now + 50, "a clock that was set back counts nothing twice"


def test_spans_are_those_of_noticed_losses() -> None:
    exact = OutageReport(0.1, 0, 0.6, waited=0, is_exact=True)
    assert unserved_spans([exact]) == [UnservedSpan(ms(0), ms(0.6))]
    assert unserved_spans([OutageReport(0.1, 0, 0.6, waited=0)]) == []
    assert unserved_spans([OutageReport(0.1, 0, 0.6, ahead_ms=1_000)]) == [UnservedSpan(ms(-1), ms(-0.4))]
    ongoing = OutageReport(0.1, 0, None, waited=0, is_exact=True)
    assert unserved_spans([ongoing]) == [UnservedSpan(ms(0), None, frozenset({(1, ms(0.1))}))]
    assert unserved_spans([OutageReport(0.1, 0, None)]) == [], "requests are counted when it ends"
    assert unserved_spans([ongoing, OutageReport(0.1, 0.02, 0.6, reported_by=3)]) == [UnservedSpan(ms(0.02), ms(0.6))]


def test_ongoing_outage_continues_while_its_proxy_reports() -> None:
    noticed = T * 1000 + 100
    span = UnservedSpan(T * 1000, None, frozenset({(1, noticed)}))

    def failed(*proxies: dict[int, int]) -> list[tuple[int, int]]:
        seconds = {T + t: ServiceSecond({}, started) for t, started in enumerate(proxies)}
        found = failed_intervals([span], seconds, T, T + 10)
        return [(start - T * 1000, end - T * 1000) for start, end in found]

    assert failed({1: 5}, {1: 5}, {1: 5}) == [(0, 3_000)]
    assert failed({1: 5}, {1: noticed + 900}) == [(0, 1_000)], "the proxy was restarted"
    assert failed({1: 5}, {}, {2: 5}) == [(0, 1_000)], "the proxy no longer reports"
    assert failed({1: 5}, {}, {1: 5}) == [(0, 3_000)], "one sample is missing"
    assert failed() == []


def test_outages_are_limited_to_the_counted_time() -> None:
    spans = [UnservedSpan(T * 1000 - 700, T * 1000 + 300), UnservedSpan(T * 1000 + 9_900, T * 1000 + 12_000)]
    spans += [UnservedSpan(T * 1000 - 9_000, T * 1000 - 8_000), UnservedSpan(T * 1000 + 100, T * 1000 + 500)]
    assert failed_intervals(spans, {}, T, T + 10) == [
        (T * 1000, T * 1000 + 500),
        (T * 1000 + 9_900, T * 1000 + 10_000),
    ]
