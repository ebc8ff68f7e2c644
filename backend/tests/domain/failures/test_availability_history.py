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
    TrafficChange,
    count,
    countable_until,
    failed_intervals,
    states_with_traffic,
    stopped_intervals,
    watched_until,
)
from shardboard.domain.failures.outages import UnservedSpan, summarize, unserved_spans

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
        found = failed_intervals([span], seconds, T, T + 10, has_canaries=True)
        assert failed_intervals([span], seconds, T, T + 10, has_canaries=False) == []
        return [(start - T * 1000, end - T * 1000) for start, end in found]

    assert failed({1: 5}, {1: 5}, {1: 5}) == [(0, 3_000)]
    assert failed({1: 5}, {1: noticed + 900}) == [(0, 1_000)], "the proxy was restarted"
    assert failed({1: 5}, {}, {2: 5}) == [(0, 1_000)], "the proxy no longer reports"
    assert failed({1: 5}, {}, {1: 5}) == [(0, 3_000)], "one sample is missing"
    assert failed() == []


def test_outages_are_limited_to_the_counted_time() -> None:
    spans = [UnservedSpan(T * 1000 - 700, T * 1000 + 300), UnservedSpan(T * 1000 + 9_900, T * 1000 + 12_000)]
    spans += [UnservedSpan(T * 1000 - 9_000, T * 1000 - 8_000), UnservedSpan(T * 1000 + 100, T * 1000 + 500)]
    assert failed_intervals(spans, {}, T, T + 10, has_canaries=False) == [
        (T * 1000, T * 1000 + 500),
        (T * 1000 + 9_900, T * 1000 + 10_000),
    ]


@pytest.mark.parametrize(
    ("proxies", "until"),
    [
        pytest.param([{}, {1: 5}, {1: 5}], None, id="the endpoint still serves"),
        pytest.param([{1: 5}, {}, {2: 5}], None, id="the node does not report"),
        pytest.param([{}, {1: 5}, {1: 10**14}], 1_000, id="a new process"),
        pytest.param([{}, {}, {1: 10**14}], -900, id="a new process, and no sample before"),
    ],
)
def test_proxies_that_were_restarted_no_longer_watch(proxies: list[dict[int, int]], until: int | None) -> None:
    """Times are relative to one second after the outage was noticed."""
    outage = OutageReport(0.1, 0, None)
    first = outage.noticed_ms // 1000 + 1
    seconds = {first + t: ServiceSecond({}, each, {(1, 1), (1, 2)}) for t, each in enumerate(proxies, -1)}
    assert watched_until(outage, seconds, []) == (None if until is None else first * 1000 + until)


def test_proxies_without_the_endpoint_no_longer_watch() -> None:
    outage = OutageReport(0.1, 0, None)
    first = outage.noticed_ms // 1000 + 1
    own, other = {(1, 1)}, {(2, 1), (1, 2)}
    seconds = {first + t: ServiceSecond({}, {1: 5}, each) for t, each in enumerate([other, own, other, own], -1)}
    assert watched_until(outage, seconds, []) == (first + 1) * 1000, "it was removed for a second"
    stop = outage.noticed_ms + 500
    assert watched_until(outage, seconds, [(stop, stop + 100)]) == stop, "stopped and resumed within a second"
    assert watched_until(outage, {}, [(outage.noticed_ms - 900, outage.noticed_ms - 800)]) is None


def test_outages_that_are_no_longer_watched_have_an_end() -> None:
    until = ms(3)
    ended = OutageReport(0.1, 0, None, waited=0, is_exact=True, watched_until_ms=until)
    assert unserved_spans([ended]) == [UnservedSpan(ms(0), until)]
    watching = OutageReport(0.2, 0, None, reported_by=3, is_exact=True)
    assert unserved_spans([ended, watching]) == [UnservedSpan(ms(0), None, frozenset({(3, ms(0.2))}))]
    later = OutageReport(9.1, 9, 9.6, is_exact=True)
    assert unserved_spans([ended, later]) == [UnservedSpan(ms(0), until), UnservedSpan(ms(9), ms(9.6))]
    assert summarize([ended]).unserved_since_ms is None


STOPPED, RESUMING, RESUMED = TrafficChange.STOPPED, TrafficChange.RESUMING, TrafficChange.RESUMED


@pytest.mark.parametrize(
    ("changes", "is_stopped", "expected"),
    [
        pytest.param([], False, [], id="never"),
        pytest.param([], True, [(100, None)], id="since before the first second"),
        pytest.param([(300, STOPPED)], True, [(300, None)], id="since then"),
        pytest.param([(300, STOPPED), (500, RESUMING)], False, [(300, 500)], id="resume requested"),
        pytest.param([(300, STOPPED), (500, RESUMING), (700, RESUMED)], False, [(300, 700)], id="resumed"),
        pytest.param([(500, RESUMING), (700, RESUMED), (900, STOPPED)], True, [(100, 700), (900, None)], id="twice"),
    ],
)
def test_traffic_is_stopped_from_the_request_until_endpoints_serve_again(
    changes: list[tuple[int, TrafficChange]], is_stopped: bool, expected: list[tuple[int, int | None]]
) -> None:
    found = stopped_intervals(changes, 100, is_stopped=is_stopped)
    assert [(start, None if end > T * 1000 else end) for start, end in found] == expected


def test_stopped_traffic_is_neither_served_nor_failed() -> None:
    stopped = [(T * 1000 + 2_500, T * 1000 + 4_000)]
    seconds = {T + t: ServiceSecond({1: DOWN}, {}) for t in range(6)}
    assert sorted(states_with_traffic(1, seconds, stopped)) == [T, T + 1, T + 4, T + 5]
    span = UnservedSpan(T * 1000 + 1_000, T * 1000 + 5_000)
    failed = failed_intervals([span], {}, T, T + 10, has_canaries=True, stopped=stopped)
    assert [(start - T * 1000, end - T * 1000) for start, end in failed] == [(1_000, 2_500), (4_000, 5_000)]
