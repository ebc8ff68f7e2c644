"""Tests of the outage duration. A shard counts as available while it answers any client."""

import pytest
from backend.tests.domain.failures.outage_events import OutageReport, ms
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.failures.outages import summarize


@pytest.mark.parametrize(
    ("seen", "unserved"),
    [
        pytest.param([OutageReport(0.1, 0, 0.63)], 630, id="from the last success to the next one"),
        pytest.param(
            [OutageReport(0.1, 0, 0.63), OutageReport(0.2, 0.05, 0.7, reported_by=3)],
            580,
            id="successes of all proxies count",
        ),
        pytest.param(
            [OutageReport(0.1, 0, 0.6), OutageReport(0.1, 0, 0.9, port=20001)], 900, id="longest of several shards"
        ),
        pytest.param([OutageReport(0.1, 0, 0.6, waited=0)], None, id="no client waited"),
        pytest.param([OutageReport(0.1, 0, 0.6, waited=0, is_exact=True)], 600, id="canary waited"),
        pytest.param(
            [OutageReport(0.1, 0, 9, waited=0), OutageReport(0.1, 0, 0.6, reported_by=3)],
            600,
            id="idle proxy is ignored",
        ),
        pytest.param(
            [OutageReport(0.1, 0, None), OutageReport(0.1, 0.02, 0.6, reported_by=3)], 580, id="proxy without end"
        ),
        pytest.param([OutageReport(0.1, 0, None)], None, id="ongoing"),
        pytest.param([OutageReport(0.1, None, 0.6)], 500, id="no earlier success"),
        pytest.param([OutageReport(0.1, 0, 0.6), OutageReport(5.1, 5, 5.2)], 600, id="two outages"),
        pytest.param(
            [OutageReport(0.1, 0, 0.6), OutageReport(2.7, 0, 2.8, reported_by=3)],
            2200,
            id="another client was served in between",
        ),
        pytest.param([], None, id="no outages"),
    ],
)
def test_longest_time_without_success_is_reported(seen: list[OutageReport], unserved: int | None) -> None:
    assert summarize(seen).unserved_ms == unserved


def test_failed_delayed_and_lost_requests_are_counted() -> None:
    summary = summarize(
        [OutageReport(0.1, 0, 0.6, waited=5, failed=2), OutageReport(0.1, 0, 0.6, reported_by=3, waited=3, lost=1)]
    )
    assert (summary.failed, summary.delayed, summary.lost) == (2, 6, 1)


def test_ongoing_outage_has_a_start_time() -> None:
    assert summarize(
        [OutageReport(1.6, 0, None, ahead_ms=1_500), OutageReport(0.2, 0, None, port=20001)]
    ).unserved_since_ms == ms(0.1)
    assert summarize([OutageReport(0.1, 0, None), OutageReport(0.2, 0, 0.6, reported_by=3)]).unserved_since_ms is None


def skewed(seconds: float, **more: int | None) -> list[OutageReport]:
    """Return outages of two proxies, where the clock of node 3 is ahead by `seconds`."""
    return [
        OutageReport(0.1, 0, 0.6, reported_by=1),
        OutageReport(0.1 + seconds, 0.05 + seconds, 0.7 + seconds, reported_by=3, **more),
    ]  # type: ignore[arg-type]


def test_times_of_unsynchronized_clocks_are_not_combined() -> None:
    assert summarize(skewed(0.3, ahead_ms=300)).unserved_ms == 600, (
        "with unsynchronized clocks combined it would be 0.25 s"
    )
    assert summarize(skewed(0.3, ahead_ms=None)).unserved_ms == 600
    assert summarize(skewed(-40, ahead_ms=-40_000)).unserved_ms == 600
    assert summarize(skewed(0.01, ahead_ms=10)).unserved_ms == 540


moments = st.integers(0, 3_000).map(lambda tenth: tenth / 100)


@st.composite
def losses(draw: st.DrawFn) -> list[OutageReport]:
    reports = []
    for _ in range(draw(st.integers(0, 6))):
        last, noticed, first = sorted(draw(st.tuples(moments, moments, moments)))
        end = draw(st.sampled_from([first, None]))
        node, waited = draw(st.integers(1, 3)), draw(st.integers(0, 2))
        reports.append(
            OutageReport(
                noticed, last, end, reported_by=node, waited=waited, ahead_ms=draw(st.sampled_from([0, 0, 500, None]))
            )
        )
    return reports


@given(losses(), st.randoms())
def test_result_does_not_depend_on_the_order(seen: list[OutageReport], random: object) -> None:
    shuffled = list(seen)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert summarize(shuffled) == summarize(seen)


@given(losses())
def test_duration_is_at_most_the_longest_observed_outage(seen: list[OutageReport]) -> None:
    unserved_ms = summarize(seen).unserved_ms
    durations = [round(1000 * (each.first - (each.last or 0))) for each in seen if each.first is not None]
    assert unserved_ms is None or 0 <= unserved_ms <= max(durations) + 1_000, "clocks can differ by 500 ms"


@given(losses())
def test_outage_without_waiting_clients_has_no_duration(seen: list[OutageReport]) -> None:
    idle = [OutageReport(each.noticed, each.last, each.first, each.reported_by, waited=0) for each in seen]
    assert summarize(idle).unserved_ms is None
