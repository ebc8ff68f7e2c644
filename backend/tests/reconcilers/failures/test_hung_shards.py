"""A shard that runs but does not answer is killed if a healthy copy of its data exists."""

import pytest
from backend.tests.support import active_database
from backend.tests.support.clock import Clock

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.reconcilers.failures.hung_shards import HANG_SECONDS, HungShardLoop
from shardboard.state.alerting import events

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def loop(console: Console, agents: FakeAgents, clock: Clock) -> HungShardLoop:
    await active_database.create_active_database(console, agents)
    return HungShardLoop(console.store, console.bus, agents, clock)


async def hung_events(console: Console) -> list[str]:
    async with console.store.read() as session:
        page = await events.page(session, newest_first=False)
    return [event.description for event in page if event.type == "shard_hung"]


async def test_a_replica_is_killed_after_it_has_hung_for_long(
    console: Console, agents: FakeAgents, loop: HungShardLoop, clock: Clock
) -> None:
    await loop.sweep()
    await active_database.set_observed_state(console, 4, status="timeout")
    await loop.sweep()
    clock.now += HANG_SECONDS - 1
    await loop.sweep()
    assert agents.killed_hung_shards == []
    clock.now += 1
    await loop.sweep()
    await loop.sweep()
    assert agents.killed_hung_shards == [4]
    [message] = await hung_events(console)
    assert message.startswith("Shard redis:4 on node 2 was running but had not responded for 30 s")


async def test_a_shard_that_answers_in_between_is_not_killed(
    console: Console, agents: FakeAgents, loop: HungShardLoop, clock: Clock
) -> None:
    for status in ("timeout", "ok", "timeout"):
        await active_database.set_observed_state(console, 4, status=status)
        await loop.sweep()
        clock.now += HANG_SECONDS - 1
    await loop.sweep()
    assert agents.killed_hung_shards == []


async def test_a_primary_is_killed_only_if_a_replica_can_take_over(
    console: Console, agents: FakeAgents, loop: HungShardLoop, clock: Clock
) -> None:
    for uid in (1, 2, 3, 5):  # no shard of pair 1 answers
        await active_database.set_observed_state(console, uid, status="timeout")
    await active_database.set_observed_state(
        console, 6, link="in_progress"
    )  # it answers, but its data is not complete yet
    await active_database.set_observed_state(console, 4, link="idle")
    await loop.sweep()
    clock.now += HANG_SECONDS
    await loop.sweep()
    assert agents.killed_hung_shards == [1]


async def test_no_shard_is_killed_on_an_unhealthy_node(
    console: Console, agents: FakeAgents, loop: HungShardLoop, clock: Clock
) -> None:
    await active_database.set_observed_state(console, 4, status="timeout")
    await active_database.set_node_columns(console, 2, agent_status="lost")
    await loop.sweep()
    clock.now += HANG_SECONDS
    await loop.sweep()
    assert agents.killed_hung_shards == []


async def test_a_failed_kill_is_retried_and_reported_only_on_success(
    console: Console, agents: FakeAgents, loop: HungShardLoop, clock: Clock
) -> None:
    await active_database.set_observed_state(console, 4, status="timeout")
    agents.refusals[4] = "a signal has stopped its process"
    await loop.sweep()
    clock.now += HANG_SECONDS
    await loop.sweep()
    await loop.sweep()
    agents.unreachable.add(2)
    clock.now += HANG_SECONDS
    await loop.sweep()
    assert (agents.killed_hung_shards, await hung_events(console)) == ([4], [])
    agents.unreachable.clear()
    agents.refusals.clear()
    clock.now += HANG_SECONDS
    await loop.sweep()
    assert agents.killed_hung_shards == [4, 4]
    assert len(await hung_events(console)) == 1
