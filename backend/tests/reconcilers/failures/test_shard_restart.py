"""Dead primaries are restarted only if no replica can be promoted."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from backend.tests.reconcilers.loop_helpers import ADMIN
from backend.tests.support import active_database
from backend.tests.support.real_shards import wait_until

from shardboard.console import Console
from shardboard.domain.cluster.actions import OPEN_STATUSES, ActionName
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import NodeRef, ShardOutcome
from shardboard.errors import AgentUnreachable, ApiError
from shardboard.reconcilers import loop as loops
from shardboard.reconcilers.failures.shard_restart import Restart, RestartLoop
from shardboard.reconcilers.loop import ActionLoop
from shardboard.services.failures import shard_restart as service
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event
from shardboard.state.cluster import actions, cluster
from shardboard.state.cluster.actions import Action
from shardboard.state.databases.bdbs import Bdb

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]

LOADED = "loading:0\r\n"
SAVED = 1_700_000_000.0


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "IDLE_SECONDS", 0.05)
    await active_database.create_active_database(console, agents)
    await set_persistence(console, "aof")
    for uid in range(1, 7):
        agents.info[uid, "persistence"] = LOADED


async def set_persistence(console: Console, how: str) -> None:
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, active_database.BDB)
        bdb.config = {**bdb.config, "data_persistence": how}


@asynccontextmanager
async def running(console: Console) -> AsyncIterator[None]:
    loop = ActionLoop(
        console.store, console.bus, {ActionName.RESTART_SHARDS: Restart(console.store, console.agents)}, "test"
    )
    tasks = [asyncio.create_task(loop.run()), asyncio.create_task(RestartLoop(console.store, console.bus).run())]
    try:
        yield
    finally:
        open_tasks = list(loop._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *open_tasks, return_exceptions=True)


async def actions_of_bdb(console: Console) -> Sequence[Action]:
    async with console.store.read() as session:
        return await actions.list_for_bdb(session, active_database.BDB)


async def is_over(console: Console) -> bool:
    action_rows = await actions_of_bdb(console)
    return bool(action_rows) and all(each.status not in OPEN_STATUSES for each in action_rows)


async def events_of_type(console: Console, type_: str) -> list[Event]:
    async with console.store.read() as session:
        return [event for event in await events.page(session, newest_first=False) if event.type == type_]


async def sweep(console: Console) -> list[list[int]]:
    await RestartLoop(console.store, console.bus).sweep()
    return [action.params["shards"] for action in await actions_of_bdb(console)]


async def test_a_pair_without_copies_restarts_from_the_file_of_its_primary(
    console: Console, agents: FakeAgents
) -> None:
    agents.saved = {1: SAVED}
    await active_database.kill_shards(console, agents, 1, 4)
    async with running(console):
        await wait_until(lambda: is_over(console))
    [action] = await actions_of_bdb(console)
    assert (action.status, action.error) == ("completed", "")
    assert action.description == "Restart 1 primary of shop from persistence"
    assert agents.restarted == [(1, False)]
    [event] = await events_of_type(console, "shard_restarted")
    assert (event.shard_uid, event.node_uid, event.severity) == (1, 1, "WARNING")
    assert event.details == {"saved_at": "2023-11-14T22:13:20.000+00:00"}
    assert event.description == (
        "Shard redis:1 of shop on node 1 was restarted from its append-only file, last written "
        "2023-11-14 22:13:20 UTC. Later writes were lost."
    )
    assert [(await active_database.get_shard(console, uid)).current_role for uid in (1, 4)] == ["master", "slave"]
    assert (await active_database.get_shard(console, 4)).observed_status == "down", (
        "the revival loop restarts it as a replica"
    )
    primary = await active_database.get_shard(console, 1)
    assert (primary.observed_status, primary.observed_link) == ("ok", "cluster_down"), (
        "it counts as refusing requests until the next sample"
    )


async def test_the_time_of_the_data_is_kept_while_another_node_is_retried(console: Console, agents: FakeAgents) -> None:
    """The first answer of an agent contains the time when its data was written. It is kept while another agent is retried."""
    agents.saved = {1: SAVED, 2: SAVED}
    await active_database.kill_shards(console, agents, 1, 2, 4, 5)
    original, failures = agents.restart, [AgentUnreachable("silent")] * 2

    async def restart_late(node: NodeRef, uids: Sequence[int], *, discard_data: bool) -> list[ShardOutcome]:
        if node.uid == 2 and failures:
            raise failures.pop()
        return await original(node, uids, discard_data=discard_data)

    agents.restart = restart_late  # type: ignore[method-assign]
    async with running(console):
        await wait_until(lambda: is_over(console))
    assert failures == []
    restarted = await events_of_type(console, "shard_restarted")
    assert sorted(event.shard_uid or 0 for event in restarted) == [1, 2]
    for event in restarted:
        assert "from its append-only file, last written 2023-11-14 22:13:20 UTC" in event.description


async def test_a_lost_answer_is_reported_as_an_unknown_time_of_the_data(console: Console, agents: FakeAgents) -> None:
    agents.saved = {1: SAVED}
    await active_database.kill_shards(console, agents, 1, 4)
    original, failures = agents.restart, [AgentUnreachable("the answer was lost")]

    async def restart_without_answer(*args: Any, **kwargs: Any) -> Any:
        outcomes = await original(*args, **kwargs)
        if failures:
            raise failures.pop()
        return outcomes

    agents.restart = restart_without_answer  # type: ignore[method-assign]
    async with running(console):
        await wait_until(lambda: is_over(console))
    [event] = await events_of_type(console, "shard_restarted")
    assert "from its append-only file. Its age is unknown; later writes were lost" in event.description


async def test_a_restarted_shard_that_was_a_replica_is_promoted(console: Console, agents: FakeAgents) -> None:
    agents.saved = {1: SAVED}
    await active_database.kill_shards(console, agents, 1, 4)
    await active_database.set_observed_state(console, 1, status="down", role="slave")
    agents.running[1][1] = agents.running[1][1].model_copy(update={"role": "slave"})
    async with running(console):
        await wait_until(lambda: is_over(console))
    assert (1, ("CLUSTER", "FAILOVER", "TAKEOVER")) in agents.commands
    assert (await active_database.get_shard(console, 1)).role == "master"


async def test_a_restart_waits_until_the_data_is_loaded(console: Console, agents: FakeAgents) -> None:
    agents.saved = {1: SAVED}
    agents.info[1, "persistence"] = "loading:1\r\n"
    await active_database.kill_shards(console, agents, 1, 4)
    async with running(console):
        await wait_until(lambda: agents.restarted)
        commands_before = len(agents.commands)
        await wait_until(lambda: len(agents.commands) > commands_before + 2)
        assert not await is_over(console)
        agents.info[1, "persistence"] = LOADED
        await wait_until(lambda: is_over(console))
    assert agents.restarted == [(1, False)]


@pytest.mark.parametrize(
    "case", ["a copy lives", "a copy may live", "no persistence", "policy off", "node unreachable", "being changed"]
)
async def test_primaries_are_restarted_only_under_safe_conditions(
    console: Console, agents: FakeAgents, case: str
) -> None:
    await active_database.kill_shards(console, agents, *([1] if case == "a copy lives" else [1, 4]))
    match case:
        case "a copy may live":
            await active_database.set_node_columns(console, 2, health="down")
        case "no persistence":
            await set_persistence(console, "disabled")
        case "policy off":
            async with console.store.begin() as session:
                (await cluster.load(session)).policy = {"auto_recovery": False}
        case "node unreachable":
            await active_database.set_node_columns(console, 1, agent_status="lost")
        case "being changed":
            async with console.store.begin() as session:
                (await session.get_one(Bdb, active_database.BDB)).status = "active-change-pending"
    assert await sweep(console) == []


async def test_a_living_copy_prevents_a_restart_from_disk(console: Console, agents: FakeAgents) -> None:
    """The store is outdated: one of the two shards was only frozen, and its data is newer than any file."""
    agents.saved = {1: SAVED}
    await active_database.kill_shards(console, agents, 1, 4)
    del agents.died[4]
    async with running(console):
        await wait_until(lambda: is_over(console))
    assert agents.restarted == []
    [event] = await events_of_type(console, "shard_restart_failed")
    assert event.description == (
        "Dead primaries could not be restarted: Shard redis:4 is alive and has the data; no shard was started."
    )


async def test_missing_data_on_disk_is_reported_once_and_retried_later(console: Console, agents: FakeAgents) -> None:
    await active_database.kill_shards(console, agents, 1, 4)
    async with running(console):
        await wait_until(lambda: is_over(console))
    assert (await actions_of_bdb(console))[0].error == "Shard redis:1 was not started: it has nothing on disk."
    assert len(await sweep(console)) == 1, "no new action at once"
    assert len(await events_of_type(console, "shard_restart_failed")) == 1


class TestRequest:
    async def request(self, console: Console, uid: int = 1, **changes: object) -> tuple[Action | None, str]:
        fields = {"confirm": f"shard {uid}", "discard_data": False, "dry_run": False} | changes
        async with console.store.begin() as session:
            return await service.schedule(session, uid, ADMIN, **fields)  # type: ignore[arg-type]

    async def error_code(self, console: Console, uid: int = 1, **changes: object) -> str:
        with pytest.raises(ApiError) as error:
            await self.request(console, uid, **changes)
        assert await actions_of_bdb(console) == []
        return error.value.code

    async def test_a_dry_run_reports_the_expected_data_loss(self, console: Console, agents: FakeAgents) -> None:
        await active_database.kill_shards(console, agents, 1, 4)
        _, loss = await self.request(console, dry_run=True)
        assert (
            loss == "Shard redis:1 would be started from its append-only file: up to the last second of writes is lost."
        )
        await set_persistence(console, "snapshot")
        _, loss = await self.request(console, dry_run=True)
        assert loss.endswith("from its last snapshot: everything written after that is lost.")
        _, loss = await self.request(console, dry_run=True, discard_data=True)
        assert loss == "Shard redis:1 would be started empty: all its keys are lost."
        assert await actions_of_bdb(console) == []

    async def test_a_shard_starts_empty_only_with_explicit_consent(self, console: Console, agents: FakeAgents) -> None:
        await set_persistence(console, "disabled")
        await active_database.kill_shards(console, agents, 1, 4)
        assert await self.error_code(console) == "data_would_be_lost"
        await self.request(console, discard_data=True)
        async with running(console):
            await wait_until(lambda: is_over(console))
        assert agents.restarted == [(1, True)]
        [event] = await events_of_type(console, "shard_restarted")
        assert event.description.endswith("restarted empty, as confirmed by admin@example.org: all its data was lost.")
        assert event.originator == "admin@example.org"

    async def test_invalid_restarts_are_rejected(self, console: Console, agents: FakeAgents) -> None:
        assert await self.error_code(console, 99) == "shard_not_exist"
        assert await self.error_code(console) == "shard_not_down"
        await active_database.kill_shards(console, agents, 1)
        assert await self.error_code(console) == "replication_violation", "its replica has the data"
        await active_database.kill_shards(console, agents, 4)
        assert await self.error_code(console, confirm="shard 2") == "bad_request"
        await active_database.set_node_columns(console, 1, agent_status="lost")
        assert await self.error_code(console) == "node_not_connected"

    async def test_a_restart_is_rejected_while_the_database_is_busy(self, console: Console, agents: FakeAgents) -> None:
        await active_database.kill_shards(console, agents, 1, 4)
        await self.request(console)
        with pytest.raises(ApiError) as error:
            await self.request(console)
        assert error.value.code == "db_busy"
