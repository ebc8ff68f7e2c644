"""The agent performs a drill once, even if the console is killed."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from backend.tests.reconcilers.loop_helpers import ADMIN
from backend.tests.support.real_shards import wait_until

from shardboard.actions.failure_parameters import DrillParameters
from shardboard.actions.parameters import write
from shardboard.console import Console
from shardboard.domain.cluster.actions import ActionName
from shardboard.driver.fake_agents import FakeAgents
from shardboard.errors import Conflict
from shardboard.reconcilers import loop as loops
from shardboard.reconcilers.failures import drills
from shardboard.reconcilers.failures.drills import DrillStepper
from shardboard.reconcilers.loop import ActionLoop
from shardboard.services.cluster import actions as action_service
from shardboard.services.failures import drills as service
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event
from shardboard.state.cluster import actions, cluster, nodes
from shardboard.state.cluster.actions import Action

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


async def request_drill(console: Console, **changes: Any) -> str:
    fields: dict[str, Any] = {"kind": "freeze", "seconds": 30.0, "shard_uid": None, "confirm": "node 2"}
    async with console.store.begin() as session:
        (await cluster.load(session)).policy = {"drills_enabled": True}
        return (await service.schedule(session, changes.pop("node", 2), ADMIN, **fields | changes)).uid


async def get_action(console: Console, uid: str) -> Action:
    async with console.store.read() as session:
        action = await actions.by_uid(session, uid)
    assert action is not None
    return action


async def drill_ended_events(console: Console) -> list[Event]:
    async with console.store.read() as session:
        return [event for event in await events.page(session, newest_first=False) if event.type == "drill_ended"]


class RunningLoop:
    """The action loop of one console."""

    def __init__(self, console: Console, agents: Any = None, instance: str = "test") -> None:
        stepper = DrillStepper(console.store, agents or console.agents)
        self._loop = ActionLoop(console.store, console.bus, {ActionName.DRILL: stepper}, instance)

    async def __aenter__(self) -> None:
        self._task = asyncio.create_task(self._loop.run())

    async def __aexit__(self, *_: object) -> None:
        tasks = list(self._loop._tasks.values())
        self._task.cancel()
        await asyncio.gather(self._task, *tasks, return_exceptions=True)


async def test_a_drill_is_sent_once_and_ends_after_its_duration(console: Console, agents: FakeAgents) -> None:
    uid = await request_drill(console)
    async with RunningLoop(console):
        await wait_until(lambda: is_recorded(console, uid))
    [(node, drill)] = agents.drills
    assert (node, drill.id, drill.kind, drill.seconds, drill.uid) == (2, uid, "freeze", 30.0, None)
    assert await drill_ended_events(console) == []
    async with console.store.begin() as session:  # half a minute later
        action = await session.get_one(Action, uid)
        parameters = DrillParameters.parse(action)
        assert parameters.started_at is not None
        assert 29 < (action.eta_seconds or 0) <= 30
        write(action, replace(parameters, started_at=parameters.started_at - timedelta(seconds=31)))
        action.lease_until = None
    async with RunningLoop(console, instance="another"):
        await wait_until(lambda: is_completed(console, uid))
    assert len(agents.drills) == 1
    [event] = await drill_ended_events(console)
    assert event.description == 'Drill "Freeze node 2 for 30 s" ended.'
    assert (event.node_uid, event.action_uid, event.originator) == (2, uid, "admin@example.org")


async def end_now(console: Console, uid: str) -> None:
    async with console.store.begin() as session:
        await action_service.cancel(session, await session.get_one(Action, uid), ADMIN)


async def is_cancelled(console: Console, uid: str) -> bool:
    return (await get_action(console, uid)).status == "cancelled"


async def test_a_drill_is_ended_early(console: Console, agents: FakeAgents) -> None:
    uid = await request_drill(console)
    async with RunningLoop(console):
        await wait_until(lambda: is_recorded(console, uid))
        await end_now(console, uid)
        await wait_until(lambda: is_cancelled(console, uid))
    [(_, drill)] = agents.drills
    assert len(drill.end_token) == 32
    assert agents.drills_ended == [(2, uid, drill.end_token)]
    [event] = await drill_ended_events(console)
    assert (event.description, event.severity) == (
        'Drill "Freeze node 2 for 30 s" was ended early by admin@example.org.',
        "INFO",
    )


async def test_ending_is_repeated_until_the_agent_confirms_it(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drills, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(loops, "UNREACHABLE_TIMEOUT", timedelta(0))
    uid = await request_drill(console)
    async with RunningLoop(console):
        await wait_until(lambda: is_recorded(console, uid))
        agents.unreachable = {2}
        await end_now(console, uid)
        await wait_until(lambda: agents.calls.count(("end_drill", 2)) > 1)
    agents.unreachable = set()
    async with RunningLoop(console, instance="another"):
        await wait_until(lambda: is_cancelled(console, uid))
    assert len(agents.drills_ended) == 1


async def test_a_drill_that_was_ended_before_its_start_does_not_start(console: Console, agents: FakeAgents) -> None:
    uid = await request_drill(console)
    await end_now(console, uid)
    async with RunningLoop(console):
        await wait_until(lambda: is_cancelled(console, uid))
    assert agents.drills == []


async def test_a_node_runs_one_drill_at_a_time(console: Console) -> None:
    await request_drill(console)
    with pytest.raises(Conflict, match="Freeze node 2 for 30 s"):
        await request_drill(console)
    assert await request_drill(console, confirm="node 1", node=1)


async def is_recorded(console: Console, uid: str) -> bool:
    return bool((await get_action(console, uid)).steps)


async def is_completed(console: Console, uid: str) -> bool:
    return (await get_action(console, uid)).status == "completed"


async def test_a_console_killed_before_recording_repeats_the_same_drill(console: Console, agents: FakeAgents) -> None:
    class HangsAfterRequest:
        reached = asyncio.Event()

        async def drill(self, *arguments: Any) -> None:
            await agents.drill(*arguments)
            self.reached.set()
            await asyncio.get_running_loop().create_future()

    uid = await request_drill(console)
    hanging = HangsAfterRequest()
    async with RunningLoop(console, hanging):
        await hanging.reached.wait()
    async with RunningLoop(console):
        await wait_until(lambda: is_recorded(console, uid))
    assert [drill.id for _, drill in agents.drills] == [uid, uid], "the agent recognizes a repeated drill by its id"


async def test_an_unreachable_agent_fails_the_drill_with_a_reason(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "UNREACHABLE_TIMEOUT", timedelta(0))
    agents.unreachable = {2}
    uid = await request_drill(console)
    async with RunningLoop(console):
        await wait_until(lambda: drill_ended_events(console))
    assert (await get_action(console, uid)).status == "failed"
    [event] = await drill_ended_events(console)
    assert event.description.startswith('Drill "Freeze node 2 for 30 s" failed: The agent of node 2 ')


async def test_a_drill_of_a_removed_node_fails(console: Console, agents: FakeAgents) -> None:
    uid = await request_drill(console)
    async with console.store.begin() as session:
        await session.delete(await nodes.by_uid(session, 2))
    async with RunningLoop(console):
        await wait_until(lambda: drill_ended_events(console))
    assert (await get_action(console, uid)).error == "The node no longer exists."
    assert agents.drills == []


async def test_a_refused_drill_fails_with_the_reason_of_the_agent(console: Console, agents: FakeAgents) -> None:
    agents.drill_refused = "the agent may not change routes"
    uid = await request_drill(console, kind="cut_off")
    async with RunningLoop(console):
        await wait_until(lambda: drill_ended_events(console))
    assert (await get_action(console, uid)).error == "The agent may not change routes."
    [(node, drill)] = agents.drills
    assert (node, drill.kind, drill.peers) == (2, "cut_off", ["10.0.0.1", "10.0.0.3"])
    [event] = await drill_ended_events(console)
    assert (
        event.description == 'Drill "Isolate node 2 from the network for 30 s" failed: The agent may not change routes.'
    )
