"""Databases from creation to deletion, with agents that fail on demand."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from backend.tests.reconcilers.loop_helpers import (
    ADMIN,
    Gate,
    GatedAgents,
    GatedStore,
    create_active_database,
    create_database,
    events_of_bdb,
    get_bdb,
    latest_action,
    running_loops,
    running_shards,
    shard_rows,
    wait_for_status,
)
from backend.tests.support import active_database
from backend.tests.support.case_sampling import Sampling
from backend.tests.support.real_shards import wait_until

from shardboard.actions import queue
from shardboard.console import Console
from shardboard.contract import CommandResult, ShardCommand
from shardboard.domain.cluster.actions import OPEN_STATUSES
from shardboard.domain.placement import slots
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.reconcilers import loop as loops
from shardboard.reconcilers.databases.endpoints import Endpoints
from shardboard.reconcilers.placement import shard_removal
from shardboard.services.databases import bdbs as service
from shardboard.state.cluster import actions, nodes
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.failures import outages

pytestmark = pytest.mark.usefixtures("nodes")


@pytest.fixture(autouse=True)
def short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_removal, "RETRY_SECONDS", 0.1)


@pytest.fixture
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up soon on unreachable agents. Only for tests of that case: on a busy machine, any call can take this long."""
    monkeypatch.setattr(loops, "UNREACHABLE_TIMEOUT", timedelta(seconds=0.3))


async def last_message(console: Console, uid: int) -> str:
    return (await events_of_bdb(console, uid))[-1].description


async def is_deleted(console: Console, uid: int) -> bool:
    return await get_bdb(console, uid) is None


async def has_no_rows(console: Console, uid: int) -> bool:
    return await shard_rows(console, uid) == []


class MuteEngines(FakeAgents):
    """Engines that run but never serve."""

    async def command(self, node: NodeRef, commands: Sequence[ShardCommand]) -> list[CommandResult]:
        return [CommandResult(uid=each.uid, ok=True, reply="cluster_state:fail\r\nrole:slave") for each in commands]


class RefusingEngines(FakeAgents):
    """Engines that answer some commands with an error."""

    refused: tuple[str, ...] = ()

    def _execute(self, node: NodeRef, command: ShardCommand) -> CommandResult:
        if tuple(command.argv[: len(self.refused)]) == self.refused:
            return CommandResult(uid=command.uid, ok=False, reply="ERR not today")
        return super()._execute(node, command)


@pytest.mark.store
class TestCreate:
    async def test_a_created_database_becomes_active(self, console: Console, agents: FakeAgents) -> None:
        uid = await create_database(console)
        async with running_loops(console):
            database = await wait_for_status(console, uid, "active")
        assert (database.status_detail, database.action_uid) == ("", None)
        rows = await shard_rows(console, uid)
        assert running_shards(agents) == {row.uid for row in rows}
        assert all(agents.running[row.node_uid][row.uid].port == row.port for row in rows)
        assert agents.promoted == {row.uid for row in rows if row.role == "master"}
        action = await latest_action(console, uid)
        assert (action.status, action.progress) == ("completed", 100)
        assert [step["name"] for step in action.steps] == [
            "Start the shards",
            "Serve all slots",
            "Synchronize the replicas",
        ]
        assert "Database shop became active after" in await last_message(console, uid)

    async def test_endpoints_list_all_slots_despite_older_samples(self, console: Console, agents: FakeAgents) -> None:
        """Primaries start as replicas and may have been sampled in that state."""
        uid = await create_database(console)
        async with console.store.begin() as session:
            for row in await shards.list_for_bdb(session, uid):
                row.observed_role, row.observed_status = "slave", "ok"
        async with running_loops(console):
            await wait_for_status(console, uid, "active")
        databases = [
            database for state in agents.proxies.values() for database in state.databases if database.uid == uid
        ]
        assert databases
        for database in databases:
            assert sum(last - first + 1 for shard in database.shards for first, last in shard.slots) == slots.SLOTS

    @pytest.mark.store_in_all
    async def test_a_database_without_replicas_and_cluster_mode_is_created(
        self, console: Console, agents: FakeAgents
    ) -> None:
        uid = await create_database(console, sharding=False, shards_count=1, replication=False)
        async with running_loops(console):
            await wait_for_status(console, uid, "active")
        assert agents.promoted == set()
        assert len(running_shards(agents)) == 1

    @pytest.mark.store_in_all
    async def test_a_refused_shard_undoes_the_creation(self, console: Console, agents: FakeAgents) -> None:
        uid = await create_database(console)
        refused = (await shard_rows(console, uid))[1].uid
        agents.refusals = {refused: "port 20000 is in use on 10.0.0.2 by a process that is not ours"}
        async with running_loops(console, removal=False):
            failed = await wait_for_status(console, uid, "creation-failed")
        reason = f"Shard redis:{refused}: port 20000 is in use on 10.0.0.2 by a process that is not ours."
        assert (failed.status_detail, failed.action_uid) == (reason, None)
        assert {row.desired for row in await shard_rows(console, uid)} == {"absent"}
        assert (await latest_action(console, uid)).error == reason
        event = (await events_of_bdb(console, uid))[-1]
        assert (event.type, event.severity) == ("bdb_creation_failed", "ERROR")
        assert event.description == (
            f"Database shop could not be created: {reason} Shards that were started are removed."
        )
        assert running_shards(agents)
        async with running_loops(console):
            await wait_until(lambda: has_no_rows(console, uid))
        assert not running_shards(agents)
        assert (await get_bdb(console, uid)) is not None, "the failed database is kept for inspection"

    async def test_several_refusals_are_counted(self, console: Console, agents: FakeAgents) -> None:
        uid = await create_database(console)
        primaries = [row.uid for row in await shard_rows(console, uid)][:3]
        agents.refusals = dict.fromkeys(primaries, "no disk")
        async with running_loops(console):
            failed = await wait_for_status(console, uid, "creation-failed")
        assert failed.status_detail == f"Shard redis:{primaries[0]} (and 2 more): no disk."

    @pytest.mark.store_in_all
    async def test_a_shard_that_dies_fails_the_creation(self, console: Console, agents: FakeAgents) -> None:
        uid = await create_database(console)
        victim = (await shard_rows(console, uid))[0]
        agents.died = {victim.uid: "out of memory"}
        async with running_loops(console):
            failed = await wait_for_status(console, uid, "creation-failed")
            await wait_until(lambda: has_no_rows(console, uid))
        assert failed.status_detail == f"Shard redis:{victim.uid} on node {victim.node_uid} ended: out of memory."

    @pytest.mark.store_in_all
    @pytest.mark.usefixtures("short_patience")
    async def test_an_unreachable_agent_fails_the_creation_and_is_cleaned_up_later(
        self, console: Console, agents: FakeAgents
    ) -> None:
        uid = await create_database(console)
        agents.unreachable = {2}
        async with running_loops(console):
            failed = await wait_for_status(console, uid, "creation-failed")
            assert failed.status_detail == "The agent of node 2 (10.0.0.2:9700) cannot be reached."

            async def only_node_2() -> bool:
                return {row.node_uid for row in await shard_rows(console, uid)} == {2}

            await wait_until(only_node_2)
            agents.unreachable = set()
            await wait_until(lambda: has_no_rows(console, uid))
        assert not running_shards(agents)

    async def test_an_agent_that_returns_soon_is_waited_for(self, console: Console, agents: FakeAgents) -> None:
        uid = await create_database(console)
        agents.unreachable = {2}
        async with running_loops(console):
            await wait_until(lambda: agents.calls.count(("shards", 2)) >= 1)
            agents.unreachable = set()
            await wait_for_status(console, uid, "active")

    async def test_the_error_of_the_deadline_names_the_pending_step(self, console: Console) -> None:
        uid = await create_database(console)
        async with console.store.begin() as session:
            [action] = await actions.list_for_bdb(session, uid)
            action.deadline_at = datetime.now(UTC) + timedelta(seconds=0.3)
        mute = MuteEngines()
        async with running_loops(console, agents=mute):
            failed = await wait_for_status(console, uid, "creation-failed")
            await wait_until(lambda: has_no_rows(console, uid))
        # Primaries that are never promoted keep their replicas from starting.
        assert failed.status_detail == "It timed out during this step: Start the shards."
        assert not running_shards(mute)

    @pytest.mark.store_in_all
    async def test_deletion_during_the_creation_leaves_nothing(self, console: Console) -> None:
        mute = MuteEngines()
        uid = await create_database(console)
        async with running_loops(console, agents=mute):
            await wait_until(lambda: running_shards(mute))
            async with console.store.begin() as session:
                await service.delete(session, uid, ADMIN)
            await wait_until(lambda: is_deleted(console, uid))
        assert not running_shards(mute)
        assert await shard_rows(console, uid) == []

    async def test_deletion_removes_the_outages_of_the_database(self, console: Console, agents: FakeAgents) -> None:
        uid = await create_active_database(console)
        async with running_loops(console, agents=agents):
            outage = {
                "reported_by": 1,
                "address": "10.0.0.2",
                "port": 20000,
                "slots": "",
                "noticed_at": datetime.now(UTC),
            }
            async with console.store.begin() as session:
                for number, bdb_uid in enumerate((uid, uid + 1)):
                    counts = dict.fromkeys(("waited", "failed", "lost"), 0)
                    session.add(outages.Outage(bdb_uid=bdb_uid, noticed_ms=number, **outage, **counts))
                await service.delete(session, uid, ADMIN)
            await wait_until(lambda: is_deleted(console, uid))
        async with console.store.read() as session:
            assert await outages.count(session) == 1

    async def test_deletion_while_shards_are_started_leaves_nothing(self, console: Console, agents: FakeAgents) -> None:
        """The start request is still in progress when the removal finds no shard to remove."""
        late = asyncio.Event()

        class SlowAgents(FakeAgents):
            async def start(self, node: NodeRef, request: object) -> list[object]:  # type: ignore[override]
                self.calls.append(("start_requested", node.uid))
                await late.wait()
                return await super().start(node, request)  # type: ignore[arg-type,return-value]

        slow = SlowAgents()
        uid = await create_database(console)
        async with running_loops(console, agents=slow):
            await wait_until(lambda: ("start_requested", 1) in slow.calls)
            async with console.store.begin() as session:
                await service.delete(session, uid, ADMIN)
            await wait_until(lambda: has_no_rows(console, uid))
            late.set()
            await wait_until(lambda: is_deleted(console, uid))
            await wait_until(lambda: not running_shards(slow))


@pytest.mark.store_in_all
class TestKilledConsole:
    """At whatever step a console is killed, the next console completes the same action."""

    async def kill_at_each_step(
        self, console: Console, agents: FakeAgents, steps: Iterable[int], submit: object, wait_until_done: object
    ) -> int:
        """Kill the console at each of the steps until a run completes. Return that step."""
        for step in steps:
            uid = await submit(step)  # type: ignore[operator]
            gate = Gate(step)
            async with running_loops(console, agents=GatedAgents(agents, gate), store=GatedStore(console.store, gate)):
                finished = asyncio.create_task(wait_until_done(uid))  # type: ignore[operator]
                killed = asyncio.create_task(gate.reached.wait())
                await asyncio.wait((finished, killed), return_when=asyncio.FIRST_COMPLETED)
                completed = finished.done()
                finished.cancel()
                killed.cancel()
            before = (await self.action_of(console, uid)).uid
            # In every other run, another console takes over, which is possible after the lease has expired.
            await self.expire_leases(console)
            async with running_loops(console, instance="test" if step % 2 else "another"):
                await wait_until_done(uid)  # type: ignore[operator]
            after = await self.action_of(console, uid)
            assert (after.uid, after.status, after.error) == (before, "completed", ""), f"killed at step {step}"
            if completed:
                return step
        raise AssertionError("the operation never completed")

    async def action_of(self, console: Console, uid: int) -> Action:
        return await latest_action(console, uid)

    async def expire_leases(self, console: Console) -> None:
        async with console.store.begin() as session:
            for action in await actions.list_recent(session):
                if action.lease_until is not None and action.status in OPEN_STATUSES:
                    action.lease_until = datetime.now(UTC) - timedelta(seconds=1)

    async def test_a_creation_completes(self, console: Console, agents: FakeAgents, sampling: Sampling) -> None:
        async def submit(step: int) -> int:
            return await create_database(console, f"db{step}", shards_count=1, memory_size=20_000_000)

        async def wait_until_done(uid: int) -> Bdb:
            return await wait_for_status(console, uid, "active")

        steps = await self.kill_at_each_step(console, agents, sampling.kill_steps(54, 500), submit, wait_until_done)
        assert steps > 20
        async with console.store.read() as session:
            expected = {row.uid for row in await shards.list_all(session)}
        assert running_shards(agents) == expected

    async def test_a_deletion_completes(self, console: Console, agents: FakeAgents, sampling: Sampling) -> None:
        async def submit(step: int) -> int:
            uid = await create_active_database(
                console, f"db{step}", sharding=False, shards_count=1, memory_size=20_000_000
            )
            async with console.store.begin() as session:
                await service.delete(session, uid, ADMIN)
            return uid

        async def wait_until_done(uid: int) -> None:
            await wait_until(lambda: is_deleted(console, uid))
            await wait_until(lambda: has_no_rows(console, uid))

        assert await self.kill_at_each_step(console, agents, sampling.kill_steps(20, 500), submit, wait_until_done) > 8
        assert not running_shards(agents)

    async def test_a_change_completes(self, console: Console, agents: FakeAgents, sampling: Sampling) -> None:
        uid = await create_active_database(console)

        async def submit(step: int) -> int:
            async with console.store.begin() as session:
                await service.update(session, uid, {"memory_size": 600_000_000 + 6 * step}, ADMIN)
            return uid

        async def wait_until_done(_: int) -> Bdb:
            return await wait_for_status(console, uid, "active")

        steps = await self.kill_at_each_step(console, agents, sampling.kill_steps(36, 500), submit, wait_until_done)
        assert steps > 6
        set_commands = [argv for _, argv in agents.commands if argv[:2] == ("CONFIG", "SET")]
        assert set_commands[-1][3] == str(100_000_000 + steps)


@pytest.mark.store_in_all
class TestUpdate:
    async def test_a_change_reaches_every_shard_and_its_file(self, console: Console, agents: FakeAgents) -> None:
        uid = await create_active_database(console)
        agents.commands.clear()
        async with console.store.begin() as session:
            changes = {"memory_size": 1_200_000_000, "eviction_policy": "allkeys-lru"}
            await service.update(session, uid, changes, ADMIN)
        assert (await get_bdb(console, uid)).status == "active-change-pending"  # type: ignore[union-attr]
        async with running_loops(console):
            changed = await wait_for_status(console, uid, "active")
        assert (changed.status_detail, changed.action_uid) == ("", None)
        settings = ("CONFIG", "SET", "maxmemory", "200000000", "maxmemory-policy", "allkeys-lru")
        uids = {row.uid for row in await shard_rows(console, uid)}
        assert {shard for shard, argv in agents.commands if argv[: len(settings)] == settings} == uids
        assert {shard for shard, argv in agents.commands if argv == ("CONFIG", "REWRITE")} == uids
        assert await last_message(console, uid) == "The change of shop was applied to all its shards."

    async def test_append_only_files_are_written_one_at_a_time_per_node(
        self, console: Console, agents: FakeAgents
    ) -> None:
        uid = await create_active_database(console)
        agents.commands.clear()
        rows = await shard_rows(console, uid)
        async with console.store.begin() as session:
            await service.update(session, uid, {"data_persistence": "aof"}, ADMIN)
        rewriting_uid = rows[0].uid
        agents.replies[rewriting_uid, "INFO persistence"] = "aof_enabled:1\r\naof_rewrite_in_progress:1\r\n"
        same_node = {row.uid for row in rows if row.node_uid == rows[0].node_uid} - {rewriting_uid}
        command = ("CONFIG", "SET", "appendonly", "yes")
        async with running_loops(console):
            others = {row.uid for row in rows} - same_node - {rewriting_uid}
            await wait_until(lambda: {shard for shard, argv in agents.commands if argv == command} == others)
            assert not [argv for _, argv in agents.commands if argv == ("CONFIG", "REWRITE")]
            del agents.replies[rewriting_uid, "INFO persistence"]
            await wait_for_status(console, uid, "active")
        assert {shard for shard, argv in agents.commands if argv == command} == {row.uid for row in rows}
        assert {shard for shard, argv in agents.commands if argv == ("CONFIG", "REWRITE")} == {row.uid for row in rows}
        config = ("appendfsync", "everysec", "save", "", "rdbcompression", "yes")
        [settings] = {argv for _, argv in agents.commands if "appendfsync" in argv}
        assert " ".join(config) in " ".join(settings)

    async def test_a_password_reaches_every_shard_before_the_proxies(
        self, console: Console, agents: FakeAgents
    ) -> None:
        uid = await create_active_database(console)
        agents.commands.clear()
        async with console.store.begin() as session:
            await service.update(session, uid, {"authentication_redis_pass": "correct-horse"}, ADMIN)
        assert (await get_bdb(console, uid)).access_version == 0  # type: ignore[union-attr]
        async with running_loops(console):
            assert (await wait_for_status(console, uid, "active")).access_version == 1
        await Endpoints(console.store, console.bus, agents).serve(uid)
        assert {database.access for state in agents.proxies.values() for database in state.databases} == {1}
        commands = {shard: argv for shard, argv in agents.commands if argv[:3] == ("ACL", "SETUSER", "default")}
        assert set(commands) == {row.uid for row in await shard_rows(console, uid)}
        assert {argv[3:5] for argv in commands.values()} == {("on", "resetpass")}
        assert "correct-horse" not in str(agents.commands)

    async def test_a_change_to_snapshots_needs_no_append_only_file(self, console: Console, agents: FakeAgents) -> None:
        uid = await create_active_database(console)
        async with console.store.begin() as session:
            changes = {"data_persistence": "snapshot", "snapshot_policy": [{"secs": 3600, "writes": 1}]}
            await service.update(session, uid, changes, ADMIN)
        async with running_loops(console):
            await wait_for_status(console, uid, "active")
        [settings] = {argv for _, argv in agents.commands if "appendfsync" in argv}
        assert (settings[settings.index("save") + 1], settings[settings.index("appendonly") + 1]) == ("3600 1", "no")

    @pytest.mark.usefixtures("short_patience")
    async def test_a_shard_that_refuses_fails_the_change_with_a_reason(self, console: Console) -> None:
        uid = await create_active_database(console)
        refusing = RefusingEngines()
        refusing.running = console.agents.running  # type: ignore[attr-defined]
        refusing.refused = ("CONFIG", "REWRITE")
        async with console.store.begin() as session:
            await service.update(session, uid, {"memory_size": 1_200_000_000}, ADMIN)
        async with running_loops(console, agents=refusing):
            changed_bdb = await wait_for_status(console, uid, "active")
        first = (await shard_rows(console, uid))[0].uid
        reason = f"Shard redis:{first} (and 5 more): ERR not today."
        assert changed_bdb.status_detail == f"The last change was not applied to all shards: {reason}"
        assert (await latest_action(console, uid)).status == "failed"
        assert changed_bdb.incomplete_changes == ["memory_size"]

    @pytest.mark.usefixtures("short_patience")
    @pytest.mark.parametrize("next_change", [{}, {"maxclients": 500}, {"name": "other"}])
    async def test_an_incomplete_change_is_repeated_by_the_next_action(
        self, console: Console, agents: FakeAgents, next_change: dict[str, Any]
    ) -> None:
        uid = await create_active_database(console)
        refusing = RefusingEngines()
        refusing.running = agents.running
        refusing.refused = ("ACL", "SETUSER")
        changes = {"maxclients": 500, "authentication_redis_pass": "correct-horse"}
        async with console.store.begin() as session:
            await service.update(session, uid, changes, ADMIN)
        async with running_loops(console, agents=refusing):
            assert (await wait_for_status(console, uid, "active")).incomplete_changes == sorted(changes)
        agents.commands.clear()
        async with console.store.begin() as session:
            requested, _ = await service.update(session, uid, next_change, ADMIN)
            assert requested.status == "active-change-pending"
        async with running_loops(console):
            changed_bdb = await wait_for_status(console, uid, "active")
        assert (changed_bdb.incomplete_changes, changed_bdb.status_detail) == ([], "")
        commands = [argv for _, argv in agents.commands]
        users = {argv[2]: argv[3:5] for argv in commands if argv[:2] == ("ACL", "SETUSER")}
        assert users == {"default": ("on", "resetpass"), "shardboard-canary": ("~shardboard:canary:*", "-@all")}
        assert any("maxclients" in argv for argv in commands)
        async with console.store.begin() as session:
            assert (await service.update(session, uid, {}, ADMIN))[0].status == "active"


async def waits_for_agents(console: Console, uid: int) -> bool:
    return "unreachable_since" in (await latest_action(console, uid)).params


@pytest.mark.store
class TestFlush:
    async def test_flush_empties_the_current_primaries(self, console: Console, agents: FakeAgents) -> None:
        uid = await create_active_database(console)
        rows = await shard_rows(console, uid)
        pair = [row for row in rows if row.pair == 0]
        async with console.store.begin() as session:
            for row in pair:  # a failover by an election of the engine
                shard = await shards.by_uid(session, row.uid)
                assert shard is not None
                shard.observed_role = "slave" if row.role == "master" else "master"
            await service.flush(session, uid, ADMIN)
        async with running_loops(console):
            await wait_for_status(console, uid, "active")
        flushed = {shard for shard, argv in agents.commands if argv == ("FLUSHALL", "ASYNC")}
        assert flushed == {row.uid for row in rows if row.pair != 0 and row.role == "master"} | {
            row.uid for row in pair if row.role == "slave"
        }
        event = (await events_of_bdb(console, uid))[-1]
        assert (event.severity, event.description) == ("WARNING", "All keys of shop were deleted.")

    async def test_flush_waits_for_the_failover_of_a_lost_primary(self, console: Console, agents: FakeAgents) -> None:
        """A replica that is promoted after the flush would bring its keys back."""
        uid = await create_active_database(console)
        lost, promoted = sorted(
            (row for row in await shard_rows(console, uid) if row.pair == 0), key=lambda row: row.role
        )
        await active_database.kill_shards(console, agents, lost.uid)
        async with console.store.begin() as session:
            await service.flush(session, uid, ADMIN)
        async with running_loops(console):
            await wait_until(lambda: waits_for_agents(console, uid))
            assert [argv for _, argv in agents.commands if argv[0] == "FLUSHALL"] == []
            await active_database.set_observed_state(console, promoted.uid, role="master")
            await wait_for_status(console, uid, "active")
        flushed = {shard for shard, argv in agents.commands if argv == ("FLUSHALL", "ASYNC")}
        assert promoted.uid in flushed
        assert len(flushed) == 3

    @pytest.mark.store_in_all
    @pytest.mark.usefixtures("short_patience")
    async def test_an_unreachable_node_fails_the_flush(self, console: Console, agents: FakeAgents) -> None:
        uid = await create_active_database(console)
        agents.unreachable = {1}
        async with console.store.begin() as session:
            await service.flush(session, uid, ADMIN)
        async with running_loops(console):
            bdb = await wait_for_status(console, uid, "active")
        assert bdb.status_detail == (
            "Flushing did not reach all shards: Shard redis:1: the agent of node 1 (10.0.0.1:9700) cannot be reached."
        )


@pytest.mark.store
class TestDelete:
    async def delete(self, console: Console, uid: int) -> None:
        async with console.store.begin() as session:
            await service.delete(session, uid, ADMIN)

    @pytest.mark.store_in_all
    async def test_deletion_removes_all_shards_and_rows(self, console: Console, agents: FakeAgents) -> None:
        uid = await create_active_database(console)
        await self.delete(console, uid)
        async with running_loops(console):
            await wait_until(lambda: is_deleted(console, uid))
        assert not running_shards(agents)
        assert await shard_rows(console, uid) == []
        assert await last_message(console, uid) == "Database shop was deleted."

    async def test_shards_on_a_lost_node_are_removed_when_its_agent_returns(
        self, console: Console, agents: FakeAgents
    ) -> None:
        uid = await create_active_database(console)
        agents.unreachable = {3}
        await self.set_agent_status(console, 3, "lost")
        await self.delete(console, uid)
        async with running_loops(console):
            await wait_until(lambda: is_deleted(console, uid))
            assert await last_message(console, uid) == (
                "Database shop was deleted. Its shards on node 3 will be removed when its agent reconnects."
            )
            remaining = await shard_rows(console, uid)
            assert {(row.node_uid, row.desired) for row in remaining} == {(3, "absent")}
            assert running_shards(agents) == {row.uid for row in remaining}
            agents.unreachable = set()
            await wait_until(lambda: has_no_rows(console, uid))
        assert not running_shards(agents)

    @pytest.mark.store_in_all
    async def test_a_failed_removal_is_retried(self, console: Console, agents: FakeAgents) -> None:
        uid = await create_active_database(console)
        agents.unreachable = {2}
        await self.delete(console, uid)
        async with running_loops(console):
            await wait_until(lambda: agents.calls.count(("remove", 2)) >= 2)
            agents.unreachable = set()
            await wait_until(lambda: is_deleted(console, uid))

    async def test_deletion_waits_for_a_running_action(self, console: Console, agents: FakeAgents) -> None:
        """The other action could start a shard after all shards seem to be removed."""
        async with running_loops(console):
            uid = await create_database(console)
            await wait_for_status(console, uid, "active")
            async with console.store.begin() as session:
                session.info["locked"] = True
                other = queue.enqueue(
                    session, "SMOther", object_uid=uid, description="Other", originator="", deadline=timedelta(60)
                )
                other.status, other.lease_token, other.lease_until = (
                    "running",
                    "other",
                    datetime.now(UTC) + timedelta(60),
                )
            await self.delete(console, uid)
            await wait_until(lambda: has_no_rows(console, uid))
            await wait_until(lambda: self.waits(console, uid))
            async with console.store.begin() as session:
                (await session.get_one(Action, other.uid)).status = "completed"
            await wait_until(lambda: is_deleted(console, uid))

    async def waits(self, console: Console, uid: int) -> bool:
        async with console.store.read() as session:
            [action] = [each for each in await actions.list_for_bdb(session, uid) if each.name == "SMDeleteBDB"]
        return [each["name"] for each in action.steps] == ["Wait for another action: Other"]

    async def set_agent_status(self, console: Console, uid: int, status: str) -> None:
        async with console.store.begin() as session:
            node = await nodes.by_uid(session, uid)
            assert node is not None
            node.agent_status = status

    async def test_a_deletion_that_missed_its_deadline_can_be_repeated(
        self, console: Console, agents: FakeAgents
    ) -> None:
        uid = await create_active_database(console)
        agents.unreachable = {2}
        await self.delete(console, uid)
        async with console.store.begin() as session:
            action = (await actions.list_for_bdb(session, uid))[0]
            action.deadline_at = datetime.now(UTC)
        async with running_loops(console):
            await wait_until(lambda: self.failed(console, uid))
            remaining = await get_bdb(console, uid)
            assert remaining is not None
            assert (remaining.status, remaining.action_uid) == ("delete-pending", None)
            assert remaining.status_detail.startswith("Deletion failed: It timed out during this step: ")
            agents.unreachable = set()
            await self.delete(console, uid)
            await wait_until(lambda: is_deleted(console, uid))

    async def failed(self, console: Console, uid: int) -> bool:
        return (await latest_action(console, uid)).status == "failed"
