"""Tests of the rule by which a console may take over."""

import pytest

from shardboard.domain.cluster.leadership import LEASE_SECONDS, NEWER_SECONDS, SUCCESSOR_SECONDS, Lease, LeaseWatch

EXPIRED = Lease(3, "leader", 5, released=False)
RELEASED = Lease(3, "leader", 5, released=True)


def may_claim(lease: Lease, unchanged_seconds: float, *, is_outdated: bool = False) -> bool:
    watch = LeaseWatch("me")
    watch.is_outdated = is_outdated
    for at in (0.0, unchanged_seconds):
        watch.record(lease, sent=at, received=at)
    return watch.may_claim


@pytest.mark.parametrize(
    ("lease", "seconds"),
    [
        (EXPIRED, LEASE_SECONDS + 0.1),
        (RELEASED, 0.0),
        (Lease(3, "leader", 5, released=True, successor="other"), SUCCESSOR_SECONDS),
    ],
)
def test_consoles_of_the_newest_release_take_over_first(lease: Lease, seconds: float) -> None:
    assert may_claim(lease, seconds)
    assert not may_claim(lease, seconds, is_outdated=True)
    assert may_claim(lease, seconds + NEWER_SECONDS, is_outdated=True)


def test_a_chosen_successor_takes_over_at_once() -> None:
    assert may_claim(Lease(3, "leader", 5, released=True, successor="me"), 0.0, is_outdated=True)


def test_a_leader_that_restarts_leads_at_once() -> None:
    assert may_claim(Lease(3, "me", 5, released=False), 0.0, is_outdated=True)


def test_a_renewed_lease_is_not_taken() -> None:
    assert not may_claim(EXPIRED, LEASE_SECONDS)
