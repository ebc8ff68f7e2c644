"""How long clients were not served: a shard is there while it answers anyone."""

import pytest
from backend.tests.domain.losses import SeenOutage, ms
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.outages import account


@pytest.mark.parametrize(
    ("seen", "unserved"),
    [
        pytest.param([SeenOutage(0.1, 0, 0.63)], 630, id="from the last success to the first one"),
        pytest.param(
            [SeenOutage(0.1, 0, 0.63), SeenOutage(0.2, 0.05, 0.7, seen_by=3)], 580, id="any proxy's success counts"
        ),
        pytest.param(
            [SeenOutage(0.1, 0, 0.6), SeenOutage(0.1, 0, 0.9, port=20001)], 900, id="the longest of its shards"
        ),
        pytest.param([SeenOutage(0.1, 0, 0.6, waited=0)], None, id="nobody wanted anything meanwhile"),
        pytest.param([SeenOutage(0.1, 0, 0.6, waited=0, watched=True)], 600, id="a canary wanted something"),
        pytest.param(
            [SeenOutage(0.1, 0, 9, waited=0), SeenOutage(0.1, 0, 0.6, seen_by=3)], 600, id="who is idle hides nothing"
        ),
        pytest.param(
            [SeenOutage(0.1, 0, None), SeenOutage(0.1, 0.02, 0.6, seen_by=3)], 580, id="one that never heard of the end"
        ),
        pytest.param([SeenOutage(0.1, 0, None)], None, id="it goes on"),
        pytest.param([SeenOutage(0.1, None, 0.6)], 500, id="it had answered nobody"),
        pytest.param([SeenOutage(0.1, 0, 0.6), SeenOutage(5.1, 5, 5.2)], 600, id="twice"),
        pytest.param(
            [SeenOutage(0.1, 0, 0.6), SeenOutage(2.7, 0, 2.8, seen_by=3)],
            2200,
            id="somebody had been served in between",
        ),
        pytest.param([], None, id="no proxy saw anything"),
    ],
)
def test_the_longest_time_without_a_success(seen: list[SeenOutage], unserved: int | None) -> None:
    assert account(seen).unserved_ms == unserved


def test_requests_are_counted_apart() -> None:
    told = account([SeenOutage(0.1, 0, 0.6, waited=5, failed=2), SeenOutage(0.1, 0, 0.6, seen_by=3, waited=3, lost=1)])
    assert (told.failed, told.delayed, told.lost) == (2, 6, 1)


def test_what_goes_on_says_since_when() -> None:
    assert account(
        [SeenOutage(1.6, 0, None, ahead_ms=1_500), SeenOutage(0.2, 0, None, port=20001)]
    ).unserved_since_ms == ms(0.1)
    assert account([SeenOutage(0.1, 0, None), SeenOutage(0.2, 0, 0.6, seen_by=3)]).unserved_since_ms is None


def skewed(seconds: float, **more: int | None) -> list[SeenOutage]:
    """The clock of node 3 is ahead."""
    return [
        SeenOutage(0.1, 0, 0.6, seen_by=1),
        SeenOutage(0.1 + seconds, 0.05 + seconds, 0.7 + seconds, seen_by=3, **more),
    ]  # type: ignore[arg-type]


def test_clocks_that_disagree_are_not_mixed() -> None:
    assert account(skewed(0.3, ahead_ms=300)).unserved_ms == 600, "0.25 s, if it were read as one clock"
    assert account(skewed(0.3, ahead_ms=None)).unserved_ms == 600
    assert account(skewed(-40, ahead_ms=-40_000)).unserved_ms == 600
    assert account(skewed(0.01, ahead_ms=10)).unserved_ms == 540


moments = st.integers(0, 3_000).map(lambda tenth: tenth / 100)


@st.composite
def losses(draw: st.DrawFn) -> list[SeenOutage]:
    found = []
    for _ in range(draw(st.integers(0, 6))):
        last, noticed, first = sorted(draw(st.tuples(moments, moments, moments)))
        end = draw(st.sampled_from([first, None]))
        node, waited = draw(st.integers(1, 3)), draw(st.integers(0, 2))
        found.append(
            SeenOutage(
                noticed, last, end, seen_by=node, waited=waited, ahead_ms=draw(st.sampled_from([0, 0, 500, None]))
            )
        )
    return found


@given(losses(), st.randoms())
def test_the_order_of_telling_says_nothing(seen: list[SeenOutage], random: object) -> None:
    shuffled = list(seen)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert account(shuffled) == account(seen)


@given(losses())
def test_it_is_never_longer_than_what_some_client_saw(seen: list[SeenOutage]) -> None:
    told = account(seen).unserved_ms
    own = [round(1000 * (each.first - (each.last or 0))) for each in seen if each.first is not None]
    assert told is None or 0 <= told <= max(own) + 1_000, "500 ms are what the clocks may differ by"


@given(losses())
def test_where_nobody_waited_nothing_is_claimed(seen: list[SeenOutage]) -> None:
    idle = [SeenOutage(each.noticed, each.last, each.first, each.seen_by, waited=0) for each in seen]
    assert account(idle).unserved_ms is None
