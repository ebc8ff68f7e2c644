"""Tests of when a planned failover is allowed, of its time limits, and of the pause before the next attempt."""

from dataclasses import replace

import pytest

from shardboard.domain.placement.planned_failover import FAR_BEHIND, ReplicationState, limits, obstacle, retry_delay

READY = ReplicationState(answers=True, linked=True, epoch=7, epochs={1: 7, 2: 6, 3: 7}, voters=3)


def test_ready_replica_has_no_hindrance() -> None:
    assert obstacle(READY) == ""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"answers": False}, "does not respond"),
        ({"linked": False}, "not in sync"),
        ({"lag_bytes": FAR_BEHIND + 1}, "8 MiB behind"),
        ({"epochs": {1: 7}}, "only 1 of 3 primaries"),
        ({"epochs": {1: 7, 2: 8, 3: 7}}, "newest epoch"),
    ],
)
def test_planned_failover_that_would_fail_is_refused(change: dict[str, object], expected: str) -> None:
    assert expected in obstacle(replace(READY, **change))  # type: ignore[arg-type]


def test_votes_are_not_required_outside_cluster_mode() -> None:
    assert obstacle(ReplicationState(answers=True, linked=True)) == ""


def test_primary_waits_longer_than_its_replica_tries() -> None:
    """The server cron detects the end up to 0.1 s late at `hz` 10. The planned failover ends within 0.5 s."""
    time_limits = limits(hz=10)
    assert time_limits.replica + 100 < time_limits.primary
    assert time_limits.primary + 100 <= 500
    assert limits(hz=1).replica + 1000 < limits(hz=1).primary


def test_failed_attempt_is_repeated_when_the_engine_permits_it() -> None:
    assert [retry_delay(attempts, bounded=True, node_timeout_ms=5000) for attempts in (1, 2, 3, 9)] == [2, 4, 8, 30]
    assert retry_delay(1, bounded=False, node_timeout_ms=5000) > 20
    assert retry_delay(1, bounded=False, node_timeout_ms=60000) > 240
