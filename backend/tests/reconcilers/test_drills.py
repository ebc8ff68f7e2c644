"""A drill is told to the agent once, whatever happens to the console."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from backend.tests.reconcilers.loops import ADMIN
from backend.tests.shards import until

from shardboard.console import Console
from shardboard.driver.fake import FakeAgents
from shardboard.reconcilers import drills
from shardboard.reconcilers import loop as loops
from shardboard.reconcilers.drills import DrillStepper
from shardboard.reconcilers.loop import ActionLoop
from shardboard.services import drills as service
from shardboard.state import actions, cluster, events, nodes
from shardboard.state.actions import Action
from shardboard.state.events import Event

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


async def order(console: Console, **given: Any) -> str:
    fields: dict[str, Any] = {"kind": "freeze", "seconds": 30.0, "shard_uid": None, "confirm": "node 2"}
    async with console.store.begin() as session:
        (await cluster.load(session)).policy = {"drills_enabled": True}
        return (await service.order(session, 2, ADMIN, **fields | given)).uid


async def read(console: Console, uid: str) -> Action:
    async with console.store.read() as session:
        found = await actions.by_uid(session, uid)
    assert found is not None
    return found


async def ended(console: Console) -> list[Event]:
    async with console.store.read() as session:
        return [event for event in await events.page(session, newest_first=False) if event.type == "drill_ended"]


class Loop:
    """The action loop of one console."""

    def __init__(self, console: Console, agents: Any = None, instance: str = "test") -> None:
        stepper = DrillStepper(console.store, agents or console.agents)
        self._loop = ActionLoop(console.store, console.bus, {drills.NAME: stepper}, instance)

    async def __aenter__(self) -> None:
        self._task = asyncio.create_task(self._loop.run())

    async def __aexit__(self, *_: object) -> None:
        working = list(self._loop._tasks.values())
        self._task.cancel()
        await asyncio.gather(self._task, *working, return_exceptions=True)


async def test_it_is_told_once_and_ends_by_the_clock(console: Console, agents: FakeAgents) -> None:
    uid = await order(console)
    async with Loop(console):
        await until(lambda: told_and_written(console, uid))
    [(node, drill)] = agents.drills
    assert (node, drill.id, drill.kind, drill.seconds, drill.uid) == (2, uid, "freeze", 30.0, None)
    assert await ended(console) == []
    async with console.store.begin() as session:  # half a minute later
        found = await session.get_one(Action, uid)
        found.created_at, found.lease_until = datetime.now(UTC) - timedelta(seconds=31), None
    async with Loop(console, instance="another"):
        await until(lambda: completed(console, uid))
    assert len(agents.drills) == 1
    [event] = await ended(console)
    assert event.description == 'Drill "Freeze node 2 for 30 s" ended.'
    assert (event.node_uid, event.action_uid, event.originator) == (2, uid, "admin@example.org")


async def told_and_written(console: Console, uid: str) -> bool:
    return bool((await read(console, uid)).steps)


async def completed(console: Console, uid: str) -> bool:
    return (await read(console, uid)).status == "completed"


async def test_a_console_killed_between_telling_and_writing_repeats_the_same_order(
    console: Console, agents: FakeAgents
) -> None:
    class DiesAfterTelling:
        reached = asyncio.Event()

        async def drill(self, *arguments: Any) -> None:
            await agents.drill(*arguments)
            self.reached.set()
            await asyncio.get_running_loop().create_future()

    uid = await order(console)
    dying = DiesAfterTelling()
    async with Loop(console, dying):
        await dying.reached.wait()
    async with Loop(console):
        await until(lambda: told_and_written(console, uid))
    assert [drill.id for _, drill in agents.drills] == [uid, uid], "by which the agent knows that it has heard it"


async def test_an_agent_out_of_reach_ends_it_with_a_reason(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "PATIENCE", timedelta(0))
    agents.unreachable = {2}
    uid = await order(console)
    async with Loop(console):
        await until(lambda: ended(console))
    assert (await read(console, uid)).status == "failed"
    [event] = await ended(console)
    assert event.description.startswith('Drill "Freeze node 2 for 30 s" failed: The agent of node 2 ')


async def test_a_node_that_was_removed_meanwhile(console: Console, agents: FakeAgents) -> None:
    uid = await order(console)
    async with console.store.begin() as session:
        await session.delete(await nodes.by_uid(session, 2))
    async with Loop(console):
        await until(lambda: ended(console))
    assert (await read(console, uid)).error == "The node no longer exists."
    assert agents.drills == []


async def test_what_a_machine_cannot_do_ends_with_its_reason(console: Console, agents: FakeAgents) -> None:
    agents.drill_refused = "the agent may not change routes"
    uid = await order(console, kind="cut_off")
    async with Loop(console):
        await until(lambda: ended(console))
    assert (await read(console, uid)).error == "The agent may not change routes."
    [(node, drill)] = agents.drills
    assert (node, drill.kind, drill.peers) == (2, "cut_off", ["10.0.0.1", "10.0.0.3"])
    [event] = await ended(console)
    assert event.description == 'Drill "Cut node 2 off the network for 30 s" failed: The agent may not change routes.'
