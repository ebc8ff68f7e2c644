"""When a planned handover may be ordered, for how long, and when again."""

from dataclasses import replace

import pytest

from shardboard.domain.handover import FAR_BEHIND, Stand, again_after, hindrance, limits

READY = Stand(answers=True, linked=True, epoch=7, epochs={1: 7, 2: 6, 3: 7}, voters=3)


def test_one_that_can_be_won_is_ordered() -> None:
    assert hindrance(READY) == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"answers": False}, "does not respond"),
        ({"linked": False}, "not in sync"),
        ({"behind": FAR_BEHIND + 1}, "8 MiB behind"),
        ({"epochs": {1: 7}}, "only 1 of 3 primaries"),
        ({"epochs": {1: 7, 2: 8, 3: 7}}, "newest epoch"),
    ],
)
def test_one_that_would_hold_writes_back_for_nothing_is_not(change: dict[str, object], said: str) -> None:
    assert said in hindrance(replace(READY, **change))  # type: ignore[arg-type]


def test_outside_cluster_mode_nobody_votes() -> None:
    assert hindrance(Stand(answers=True, linked=True)) == ""


def test_a_primary_waits_longer_than_its_replica_tries() -> None:
    """Whose cron notices the end up to a tenth of a second late; and all of it ends within half a second."""
    given = limits(hz=10)
    assert given.replica + 100 < given.primary
    assert given.primary + 100 <= 500
    assert limits(hz=1).replica + 1000 < limits(hz=1).primary


def test_a_try_that_failed_is_repeated_when_the_engine_permits_it() -> None:
    assert [again_after(tries, bounded=True, node_timeout_ms=5000) for tries in (1, 2, 3, 9)] == [2, 4, 8, 30]
    assert again_after(1, bounded=False, node_timeout_ms=5000) > 20
    assert again_after(1, bounded=False, node_timeout_ms=60000) > 240
