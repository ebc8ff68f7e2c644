"""Tests of the change to a console that reaches more agents, with random and adverse reports."""

import random
from collections.abc import Callable, Mapping

import pytest

from shardboard.domain.cluster.agent_reach import (
    COOL_DOWN_SECONDS,
    FRESH_SECONDS,
    HOLD_SECONDS,
    MEMORY_SECONDS,
    ReachComparison,
    cool_down,
)
from shardboard.domain.cluster.consoles import LeaderChange

MORE = LeaderChange.MORE_AGENTS
CHECK_SECONDS = 2.0
"""Interval at which the leader compares."""


def first_change(reports: Callable[[float], tuple[int, Mapping[str, int]]], seconds: float = 60) -> tuple[float, str]:
    """Return when the leader hands over, and to which console; zero and an empty string if it does not."""
    comparison, now = ReachComparison(0, 0), 0.0
    while now < seconds:
        own, others = reports(now)
        if successor := comparison.choose_successor(own, others, now):
            return now, successor
        now += CHECK_SECONDS
    return 0.0, ""


def test_a_leader_that_is_cut_off_hands_over_to_the_console_that_reaches_most() -> None:
    assert first_change(lambda _: (0, {"b": 2, "c": 3})) == (HOLD_SECONDS, "c")


@pytest.mark.parametrize(
    ("own", "other", "changes"),
    [(3, 3, False), (3, 2, False), (2, 3, True), (0, 1, True), (25, 26, False), (24, 26, True)],
)
def test_another_console_must_reach_clearly_more_agents(own: int, other: int, changes: bool) -> None:
    assert bool(first_change(lambda _: (own, {"b": other}))[1]) == changes


def test_a_console_that_is_ahead_stays_ahead_until_it_reaches_no_more() -> None:
    assert first_change(lambda now: (24, {"b": 26 if now < CHECK_SECONDS else 25})) == (HOLD_SECONDS, "b")
    assert first_change(lambda now: (24, {"b": 26 if now % 4 else 24})) == (0.0, "")


def test_a_short_interruption_does_not_change_the_leader() -> None:
    assert first_change(lambda now: (0 if now < HOLD_SECONDS else 3, {"b": 3})) == (0.0, "")


def test_a_lost_console_is_not_chosen() -> None:
    assert first_change(lambda now: (0, {"b": 3} if now <= FRESH_SECONDS else {})) == (0.0, "")


def test_the_cool_down_doubles_with_each_change() -> None:
    assert [cool_down([MORE] * count) for count in (0, 1, 2, 3, 20)] == [0, 60, 120, 240, MEMORY_SECONDS]
    assert cool_down([LeaderChange.EXPIRED, LeaderChange.STOPPED]) == 0
    assert cool_down([MORE, LeaderChange.EXPIRED]) == COOL_DOWN_SECONDS


def test_the_choice_of_a_user_is_kept_for_some_time() -> None:
    assert cool_down([LeaderChange.HANDED_OVER]) == COOL_DOWN_SECONDS
    assert cool_down([LeaderChange.HANDED_OVER, LeaderChange.EXPIRED]) == 0


def simulate(hours: int, reports: Callable[[float, str], Mapping[str, int]]) -> list[float]:
    """Return the times at which the leader changes. `reports` returns what each console reaches, at a time and with a leader."""
    now, leader = 0.0, "a"
    changes: list[float] = []
    while now < hours * 3600:
        recent = [MORE for at in changes if at >= now - MEMORY_SECONDS]
        comparison, successor = ReachComparison(now, cool_down(recent)), None
        while successor is None and now < hours * 3600:
            reached = dict(reports(now, leader))
            own = reached.pop(leader)
            successor = comparison.choose_successor(own, reached, now)
            now += CHECK_SECONDS
        if successor is not None:
            leader = successor
            changes.append(now)
    return changes


def test_consoles_do_not_swing_if_each_leader_reaches_less() -> None:
    """The load of leading could be what makes agents unreachable."""
    changes = simulate(5, lambda _, leader: {each: 0 if each == leader else 3 for each in "abc"})
    assert 5 <= sum(at < 3600 for at in changes) <= 7
    assert all(sum(start <= at < start + 3600 for at in changes) <= 7 for start in range(0, 5 * 3600, 60))


@pytest.mark.parametrize("seed", range(20))
def test_consoles_do_not_swing_with_random_reports(seed: int) -> None:
    rng = random.Random(seed)
    period = rng.choice((4, 10, 30, 120))
    state: dict[int, Mapping[str, int]] = {}

    def reports(now: float, _: str) -> Mapping[str, int]:
        return state.setdefault(int(now // period), {each: rng.randint(0, 5) for each in "ab"})

    changes = simulate(3, reports)
    assert all(sum(start <= at < start + 3600 for at in changes) <= 7 for start in range(0, 3 * 3600, 60))


@pytest.mark.parametrize("seed", range(20))
def test_the_leader_reaches_most_agents_soon_after_the_last_change_of_the_network(seed: int) -> None:
    rng = random.Random(seed)
    reached = {each: rng.randint(0, 5) for each in "abc"}
    leaders: list[str] = []

    def reports(_: float, leader: str) -> Mapping[str, int]:
        leaders.append(leader)
        return reached

    changes = simulate(1, reports)
    assert len(changes) <= 1
    assert reached[leaders[-1]] == max(reached.values())
    assert all(at <= HOLD_SECONDS + CHECK_SECONDS for at in changes)
