"""Full syncs take turns: within one revival, between actions, and beside those that nobody ordered."""

import asyncio
from datetime import timedelta

import pytest
from backend.tests import pairs
from backend.tests.reconcilers.test_revival import orders, over, running
from backend.tests.shards import until

from shardboard.console import Console
from shardboard.domain.syncs import Transfer
from shardboard.driver.fake import FakeAgents
from shardboard.orders import queue
from shardboard.reconcilers import syncs
from shardboard.state import cluster, events, nodes
from shardboard.state.actions import Action

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: object) -> None:
    await pairs.active(console, agents)


async def at_most(console: Console, count: int) -> None:
    async with console.store.begin() as session:
        (await cluster.load(session)).policy = {"max_slave_full_syncs": count}


async def action(console: Console) -> Action:
    async with console.store.begin() as session:
        session.info["locked"] = True
        made = queue.start(session, "SMx", object_uid=1, description="", originator="", deadline=timedelta(60))
        made.lease_token = "mine"
    return made


async def test_replicas_of_one_node_come_back_one_after_the_other(console: Console, agents: FakeAgents) -> None:
    await at_most(console, 1)
    agents.behind = {4, 5, 6}
    await pairs.die(console, agents, 4, 5, 6)  # each on a node of its own, from another
    back = []
    async with running(console):
        for _ in range(3):
            await until(lambda: set(agents.died) != {4, 5, 6} - set(back))
            [fresh] = {4, 5, 6} - set(agents.died) - set(back)
            await until(lambda: waits(console, 2 - len(back)))
            agents.behind.discard(fresh)
            back.append(fresh)
        await until(lambda: over(console))
    assert (await orders(console))[0].status == "completed"


async def waits(console: Console, count: int) -> bool:
    [order] = await orders(console)
    detail = order.steps[0].get("detail") if order.steps else None
    return bool(detail == (f"{count} waiting (limit max_slave_full_syncs)" if count else None))


async def test_other_actions_count_until_they_end(console: Console) -> None:
    await at_most(console, 1)
    first, second = await action(console), await action(console)
    found = await asyncio.gather(
        syncs.admit(console.store, first, [Transfer(4, 2, 1)]), syncs.admit(console.store, second, [Transfer(5, 3, 2)])
    )
    assert sorted(map(len, found)) == [0, 1]
    holder, other = (first, second) if found[0] else (second, first)
    waiting = Transfer(5, 3, 2) if found[0] else Transfer(4, 2, 1)
    assert await syncs.admit(console.store, other, [waiting]) == set()
    async with console.store.begin() as session:
        (await session.get_one(Action, holder.uid)).status = "failed"
    assert await syncs.admit(console.store, other, [waiting]) == {waiting.uid}


async def test_what_is_in_sync_gives_its_place_to_the_next(console: Console) -> None:
    await at_most(console, 1)
    mine = await action(console)
    assert await syncs.admit(console.store, mine, [Transfer(4, 2, 1), Transfer(5, 2, 3)]) == {4}
    assert await syncs.admit(console.store, mine, [Transfer(5, 2, 3), Transfer(4, 2, 1)]) == {4}, "it goes on"
    assert await syncs.admit(console.store, mine, [Transfer(5, 2, 3)]) == {5}


async def test_a_node_may_allow_more_than_the_cluster(console: Console) -> None:
    await at_most(console, 1)
    async with console.store.begin() as session:
        for node in await nodes.every(session):
            node.config = {"max_slave_full_syncs": 2 if node.uid < 3 else 0}
    mine = await action(console)
    both = [Transfer(4, 2, 1), Transfer(5, 2, 1), Transfer(6, 2, 3)]
    assert await syncs.admit(console.store, mine, both) == {4, 5}


@pytest.mark.parametrize(("phase", "room"), [("waiting", True), ("transfer", False), ("load", False)])
async def test_syncs_that_nobody_ordered_count_while_they_copy(console: Console, phase: str, room: bool) -> None:
    await at_most(console, 1)
    details = {"open": True, "primary": 2, "phase": phase}
    async with console.store.begin() as session:
        events.record(session, "resync", "", source="shard", node_uid=3, shard_uid=5, details=details)
    mine = await action(console)
    assert await syncs.admit(console.store, mine, [Transfer(4, 2, 1)]) == ({4} if room else set())


async def test_who_lost_its_lease_gets_nothing(console: Console) -> None:
    await at_most(console, 1)
    mine = await action(console)
    async with console.store.begin() as session:
        (await session.get_one(Action, mine.uid)).lease_token = "another's"
    assert await syncs.admit(console.store, mine, [Transfer(4, 2, 1)]) == set()
