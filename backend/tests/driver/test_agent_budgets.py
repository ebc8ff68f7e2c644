"""Budgets of agents, with a clock that the tests control."""

import pytest
from backend.tests.support.clock import Clock

from shardboard.contract import MAX_OUTAGES, RING_SECONDS
from shardboard.driver.agent_budgets import (
    BYTES_PER_SECOND,
    CPU_PER_SECOND,
    CUT_OFF_SECONDS,
    MAX_BYTES,
    MAX_CPU_SECONDS,
    PROCESSING,
    AgentBudgets,
)
from shardboard.errors import AgentUnreachable


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def budgets(clock: Clock) -> AgentBudgets:
    return AgentBudgets(clock)


def test_an_agent_can_send_its_last_minutes_at_once_and_continue(budgets: AgentBudgets, clock: Clock) -> None:
    """512 shards of one node take 10 ms of CPU to parse, and 1 MB."""
    for number in range(RING_SECONDS):
        budgets.spend(1, 10**6, 0.01)
        budgets.spend_sample(1, 0 if number else MAX_OUTAGES)
    for _ in range(3600):
        clock.now += 1
        budgets.spend(1, 10**6, 0.01)
        budgets.spend_sample(1, 1)
        for _ in range(5):
            budgets.spend(1, 0)
    budgets.check(1)


@pytest.mark.parametrize(
    ("size", "seconds", "reason"),
    [
        (MAX_BYTES // 100, 0.0, "it sent more than 16 MiB per second"),
        (1000, MAX_CPU_SECONDS / PROCESSING / 100, "processing what it sent took more than 20% of a CPU"),
        (0, 0.0, "processing what it sent took more than 20% of a CPU"),
    ],
)
def test_a_node_that_exceeds_its_budget_is_cut_off_for_a_while(
    budgets: AgentBudgets, clock: Clock, size: int, seconds: float, reason: str
) -> None:
    while not budgets.cut_off_reason(1):
        budgets.spend(1, size, seconds)
    assert budgets.cut_off_reason(1) == reason
    with pytest.raises(AgentUnreachable) as failure:
        budgets.check(1)
    assert failure.value.reason == f"the console cut off the agent of node 1, because {reason}"
    budgets.check(2)
    clock.now += CUT_OFF_SECONDS - 0.1
    assert budgets.cut_off_reason(1) == reason
    clock.now += 0.2
    budgets.check(1)
    assert budgets.cut_off_reason(1) == ""


def test_a_node_that_sends_too_many_samples_is_cut_off(budgets: AgentBudgets, clock: Clock) -> None:
    sent = 0
    while not budgets.cut_off_reason(1):
        clock.now += 0.1
        budgets.spend_sample(1, 0)
        sent += 1
    assert budgets.cut_off_reason(1) == "it sent more than one sample per second"
    assert RING_SECONDS < sent < 300


def test_a_node_that_repeats_its_outages_when_it_reconnects_is_not_cut_off(budgets: AgentBudgets, clock: Clock) -> None:
    for _ in range(600):
        clock.now += 1
        budgets.spend(1, 10**5, 0.001)
        budgets.spend_sample(1, MAX_OUTAGES)
    budgets.check(1)


def test_a_budget_grows_with_time_up_to_its_maximum(budgets: AgentBudgets, clock: Clock) -> None:
    budgets.spend(1, MAX_BYTES, 0.0)
    clock.now += 1
    budgets.spend(1, BYTES_PER_SECOND - 1, CPU_PER_SECOND / PROCESSING)
    budgets.check(1)
    clock.now += 10**6
    budgets.spend(1, MAX_BYTES, 0.0)
    budgets.check(1)
    budgets.spend(1, 1, 0.0)
    assert budgets.cut_off_reason(1)
