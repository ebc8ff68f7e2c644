"""Dead primaries start again where nobody is left to take over, and only there."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from backend.tests import pairs
from backend.tests.reconcilers.loops import ADMIN
from backend.tests.shards import until

from shardboard.console import Console
from shardboard.driver.fake import FakeAgents
from shardboard.driver.ports import NodeRef, ShardOutcome
from shardboard.errors import AgentUnreachable, ApiError
from shardboard.reconcilers import loop as loops
from shardboard.reconcilers import restart
from shardboard.reconcilers.loop import ActionLoop
from shardboard.reconcilers.restart import Restart, RestartLoop
from shardboard.services import restarts as service
from shardboard.state import actions, cluster, events
from shardboard.state.actions import Action
from shardboard.state.bdbs import Bdb
from shardboard.state.events import Event

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]

LOADED = "loading:0\r\n"
SAVED = 1_700_000_000.0


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "IDLE_SECONDS", 0.05)
    await pairs.active(console, agents)
    await persists(console, "aof")
    for uid in range(1, 7):
        agents.info[uid, "persistence"] = LOADED


async def persists(console: Console, how: str) -> None:
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, pairs.BDB)
        bdb.config = {**bdb.config, "data_persistence": how}


@asynccontextmanager
async def running(console: Console) -> AsyncIterator[None]:
    loop = ActionLoop(console.store, console.bus, {restart.NAME: Restart(console.store, console.agents)}, "test")
    tasks = [asyncio.create_task(loop.run()), asyncio.create_task(RestartLoop(console.store, console.bus).run())]
    try:
        yield
    finally:
        working = list(loop._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *working, return_exceptions=True)


async def orders(console: Console) -> Sequence[Action]:
    async with console.store.read() as session:
        return await actions.of_bdb(session, pairs.BDB)


async def over(console: Console) -> bool:
    made = await orders(console)
    return bool(made) and all(each.status not in actions.OPEN for each in made)


async def told(console: Console, type_: str) -> list[Event]:
    async with console.store.read() as session:
        return [event for event in await events.page(session, newest_first=False) if event.type == type_]


async def sweep(console: Console) -> list[list[int]]:
    await RestartLoop(console.store, console.bus).sweep()
    return [order.params["shards"] for order in await orders(console)]


async def test_a_pair_that_lost_both_copies_starts_from_its_primarys_file(console: Console, agents: FakeAgents) -> None:
    agents.saved = {1: SAVED}
    await pairs.die(console, agents, 1, 4)
    async with running(console):
        await until(lambda: over(console))
    [order] = await orders(console)
    assert (order.status, order.error) == ("completed", "")
    assert order.description == "Restart 1 primary of shop from persistence"
    assert agents.restarted == [(1, False)]
    [event] = await told(console, "shard_restarted")
    assert (event.shard_uid, event.node_uid, event.severity) == (1, 1, "WARNING")
    assert event.details == {"saved_at": "2023-11-14T22:13:20.000+00:00"}
    assert event.description == (
        "Shard redis:1 of shop on node 1 was restarted from its append-only file, last written "
        "2023-11-14 22:13:20 UTC. Later writes were lost."
    )
    assert [(await pairs.row(console, uid)).current_role for uid in (1, 4)] == ["master", "slave"]
    assert (await pairs.row(console, 4)).observed_status == "down", "it comes back as a replica, by the revival"
    primary = await pairs.row(console, 1)
    assert (primary.observed_status, primary.observed_link) == ("ok", "cluster_down"), (
        "it refuses until a sample says else"
    )


async def test_a_node_that_is_silent_for_a_moment_makes_no_data_gone(console: Console, agents: FakeAgents) -> None:
    """The first answer of an agent tells when its data were written; it is kept while another agent is waited for."""
    agents.saved = {1: SAVED, 2: SAVED}
    await pairs.die(console, agents, 1, 2, 4, 5)
    restart_, failures = agents.restart, [AgentUnreachable("silent")] * 2

    async def late(node: NodeRef, uids: Sequence[int], *, discard_data: bool) -> list[ShardOutcome]:
        if node.uid == 2 and failures:
            raise failures.pop()
        return await restart_(node, uids, discard_data=discard_data)

    agents.restart = late  # type: ignore[method-assign]
    async with running(console):
        await until(lambda: over(console))
    assert failures == []
    restarted = await told(console, "shard_restarted")
    assert sorted(event.shard_uid or 0 for event in restarted) == [1, 2]
    for event in restarted:
        assert "from its append-only file, last written 2023-11-14 22:13:20 UTC" in event.description


async def test_when_nobody_heard_the_answer_it_says_so(console: Console, agents: FakeAgents) -> None:
    agents.saved = {1: SAVED}
    await pairs.die(console, agents, 1, 4)
    restart_, failures = agents.restart, [AgentUnreachable("the answer was lost")]

    async def lost(*args: Any, **kwargs: Any) -> Any:
        outcomes = await restart_(*args, **kwargs)
        if failures:
            raise failures.pop()
        return outcomes

    agents.restart = lost  # type: ignore[method-assign]
    async with running(console):
        await until(lambda: over(console))
    [event] = await told(console, "shard_restarted")
    assert "from its append-only file. Its age is unknown; later writes were lost" in event.description


async def test_who_was_a_replica_when_it_died_is_promoted(console: Console, agents: FakeAgents) -> None:
    agents.saved = {1: SAVED}
    await pairs.die(console, agents, 1, 4)
    await pairs.observe(console, 1, status="down", role="slave")
    agents.running[1][1] = agents.running[1][1].model_copy(update={"role": "slave"})
    async with running(console):
        await until(lambda: over(console))
    assert (1, ("CLUSTER", "FAILOVER", "TAKEOVER")) in agents.commands
    assert (await pairs.row(console, 1)).role == "master"


async def test_it_waits_until_the_data_are_loaded(console: Console, agents: FakeAgents) -> None:
    agents.saved = {1: SAVED}
    agents.info[1, "persistence"] = "loading:1\r\n"
    await pairs.die(console, agents, 1, 4)
    async with running(console):
        await until(lambda: agents.restarted)
        looks = len(agents.commands)
        await until(lambda: len(agents.commands) > looks + 2)
        assert not await over(console)
        agents.info[1, "persistence"] = LOADED
        await until(lambda: over(console))
    assert agents.restarted == [(1, False)]


@pytest.mark.parametrize(
    "case", ["a copy lives", "a copy may live", "no persistence", "policy off", "the node is away", "being changed"]
)
async def test_what_is_left_alone(console: Console, agents: FakeAgents, case: str) -> None:
    await pairs.die(console, agents, *([1] if case == "a copy lives" else [1, 4]))
    match case:
        case "a copy may live":
            await pairs.node_is(console, 2, health="down")
        case "no persistence":
            await persists(console, "disabled")
        case "policy off":
            async with console.store.begin() as session:
                (await cluster.load(session)).policy = {"auto_recovery": False}
        case "the node is away":
            await pairs.node_is(console, 1, agent_status="lost")
        case "being changed":
            async with console.store.begin() as session:
                (await session.get_one(Bdb, pairs.BDB)).status = "active-change-pending"
    assert await sweep(console) == []


async def test_a_copy_that_lives_after_all_is_what_counts(console: Console, agents: FakeAgents) -> None:
    """The store said that both were dead, and was late: one was frozen, and has newer data than any file."""
    agents.saved = {1: SAVED}
    await pairs.die(console, agents, 1, 4)
    del agents.died[4]
    async with running(console):
        await until(lambda: over(console))
    assert agents.restarted == []
    [event] = await told(console, "shard_restart_failed")
    assert event.description == (
        "Dead primaries could not be restarted: Shard redis:4 is alive and has the data; no shard was started."
    )


async def test_nothing_on_disk_is_told_once_and_tried_again_later(console: Console, agents: FakeAgents) -> None:
    await pairs.die(console, agents, 1, 4)
    async with running(console):
        await until(lambda: over(console))
    assert (await orders(console))[0].error == "Shard redis:1 was not started: it has nothing on disk."
    assert len(await sweep(console)) == 1, "not at once"
    assert len(await told(console, "shard_restart_failed")) == 1


class TestOrder:
    async def order(self, console: Console, uid: int = 1, **given: object) -> tuple[Action | None, str]:
        wanted = {"confirm": f"shard {uid}", "discard_data": False, "dry_run": False} | given
        async with console.store.begin() as session:
            return await service.order(session, uid, ADMIN, **wanted)  # type: ignore[arg-type]

    async def refused(self, console: Console, uid: int = 1, **given: object) -> str:
        with pytest.raises(ApiError) as caught:
            await self.order(console, uid, **given)
        assert await orders(console) == []
        return caught.value.code

    async def test_it_says_what_is_lost(self, console: Console, agents: FakeAgents) -> None:
        await pairs.die(console, agents, 1, 4)
        _, loss = await self.order(console, dry_run=True)
        assert (
            loss == "Shard redis:1 would be started from its append-only file: up to the last second of writes is lost."
        )
        await persists(console, "snapshot")
        _, loss = await self.order(console, dry_run=True)
        assert loss.endswith("from its last snapshot: everything written after that is lost.")
        _, loss = await self.order(console, dry_run=True, discard_data=True)
        assert loss == "Shard redis:1 would be started empty: all its keys are lost."
        assert await orders(console) == []

    async def test_empty_only_when_that_is_said(self, console: Console, agents: FakeAgents) -> None:
        await persists(console, "disabled")
        await pairs.die(console, agents, 1, 4)
        assert await self.refused(console) == "data_would_be_lost"
        await self.order(console, discard_data=True)
        async with running(console):
            await until(lambda: over(console))
        assert agents.restarted == [(1, True)]
        [event] = await told(console, "shard_restarted")
        assert event.description.endswith("restarted empty, as confirmed by admin@example.org: all its data was lost.")
        assert event.originator == "admin@example.org"

    async def test_refused(self, console: Console, agents: FakeAgents) -> None:
        assert await self.refused(console, 99) == "shard_not_exist"
        assert await self.refused(console) == "shard_not_down"
        await pairs.die(console, agents, 1)
        assert await self.refused(console) == "replication_violation", "its replica has the data"
        await pairs.die(console, agents, 4)
        assert await self.refused(console, confirm="shard 2") == "bad_request"
        await pairs.node_is(console, 1, agent_status="lost")
        assert await self.refused(console) == "node_not_connected"

    async def test_not_while_something_else_goes_on(self, console: Console, agents: FakeAgents) -> None:
        await pairs.die(console, agents, 1, 4)
        await self.order(console)
        with pytest.raises(ApiError) as caught:
            await self.order(console)
        assert caught.value.code == "db_busy"
