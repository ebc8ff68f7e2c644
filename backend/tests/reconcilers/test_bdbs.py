"""Databases from order to end, with agents that can be made to fail at will."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from backend.tests import pairs
from backend.tests.reconcilers.loops import (
    ADMIN,
    Gate,
    GatedAgents,
    GatedStore,
    action,
    alive,
    bdb,
    create,
    created,
    reach,
    rows,
    running,
    told,
)
from backend.tests.sampling import Sampling
from backend.tests.shards import until

from shardboard.agent.contract import CommandResult, ShardCommand
from shardboard.console import Console
from shardboard.domain import slots
from shardboard.driver.fake import FakeAgents
from shardboard.driver.ports import NodeRef
from shardboard.orders import queue
from shardboard.reconcilers import loop as loops
from shardboard.reconcilers import removal
from shardboard.reconcilers.endpoints import Endpoints
from shardboard.services import bdbs as service
from shardboard.state import actions, nodes, outages, shards
from shardboard.state.actions import Action
from shardboard.state.bdbs import Bdb

pytestmark = pytest.mark.usefixtures("nodes")


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "RETRY_SECONDS", 0.1)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is out of reach is given up soon. Only where that is what happens: a busy machine makes any moment long."""
    monkeypatch.setattr(loops, "PATIENCE", timedelta(seconds=0.3))


async def last_sentence(console: Console, uid: int) -> str:
    return (await told(console, uid))[-1].description


async def gone(console: Console, uid: int) -> bool:
    return await bdb(console, uid) is None


async def no_rows(console: Console, uid: int) -> bool:
    return await rows(console, uid) == []


class MuteEngines(FakeAgents):
    """Engines that run and never serve."""

    async def command(self, node: NodeRef, commands: Sequence[ShardCommand]) -> list[CommandResult]:
        return [CommandResult(uid=asked.uid, ok=True, reply="cluster_state:fail\r\nrole:slave") for asked in commands]


class RefusingEngines(FakeAgents):
    """Engines that answer some commands with an error."""

    refused: tuple[str, ...] = ()

    def _execute(self, node: NodeRef, command: ShardCommand) -> CommandResult:
        if tuple(command.argv[: len(self.refused)]) == self.refused:
            return CommandResult(uid=command.uid, ok=False, reply="ERR not today")
        return super()._execute(node, command)


@pytest.mark.store
class TestCreate:
    async def test_it_becomes_active(self, console: Console, agents: FakeAgents) -> None:
        uid = await create(console)
        async with running(console):
            made = await reach(console, uid, "active")
        assert (made.status_detail, made.action_uid) == ("", None)
        held = await rows(console, uid)
        assert alive(agents) == {row.uid for row in held}
        assert all(agents.running[row.node_uid][row.uid].port == row.port for row in held)
        assert agents.promoted == {row.uid for row in held if row.role == "master"}
        done = await action(console, uid)
        assert (done.status, done.progress) == ("completed", 100)
        assert [step["name"] for step in done.steps] == [
            "Start the shards",
            "Serve all slots",
            "Synchronize the replicas",
        ]
        assert "Database shop became active after" in await last_sentence(console, uid)

    async def test_endpoints_list_all_slots_whatever_the_last_sample_said(
        self, console: Console, agents: FakeAgents
    ) -> None:
        """Primaries are born as replicas, and may have been sampled then."""
        uid = await create(console)
        async with console.store.begin() as session:
            for row in await shards.of_bdb(session, uid):
                row.observed_role, row.observed_status = "slave", "ok"
        async with running(console):
            await reach(console, uid, "active")
        served = [database for state in agents.proxies.values() for database in state.databases if database.uid == uid]
        assert served
        for database in served:
            assert sum(last - first + 1 for shard in database.shards for first, last in shard.slots) == slots.SLOTS

    async def test_without_replicas_and_without_cluster(self, console: Console, agents: FakeAgents) -> None:
        uid = await create(console, sharding=False, shards_count=1, replication=False)
        async with running(console):
            await reach(console, uid, "active")
        assert agents.promoted == set()
        assert len(alive(agents)) == 1

    async def test_a_refused_shard_undoes_everything(self, console: Console, agents: FakeAgents) -> None:
        uid = await create(console)
        refused = (await rows(console, uid))[1].uid
        agents.refuse = {refused: "port 20000 is in use on 10.0.0.2 by a process that is not ours"}
        async with running(console, removal=False):
            failed = await reach(console, uid, "creation-failed")
        reason = f"Shard redis:{refused}: port 20000 is in use on 10.0.0.2 by a process that is not ours."
        assert (failed.status_detail, failed.action_uid) == (reason, None)
        assert {row.desired for row in await rows(console, uid)} == {"absent"}
        assert (await action(console, uid)).error == reason
        event = (await told(console, uid))[-1]
        assert (event.type, event.severity) == ("bdb_creation_failed", "ERROR")
        assert event.description == (
            f"Database shop could not be created: {reason} Shards that were started are removed."
        )
        assert alive(agents)
        async with running(console):
            await until(lambda: no_rows(console, uid))
        assert not alive(agents)
        assert (await bdb(console, uid)) is not None, "the failed database stays to be looked at"

    async def test_several_refusals_are_counted(self, console: Console, agents: FakeAgents) -> None:
        uid = await create(console)
        primaries = [row.uid for row in await rows(console, uid)][:3]
        agents.refuse = dict.fromkeys(primaries, "no disk")
        async with running(console):
            failed = await reach(console, uid, "creation-failed")
        assert failed.status_detail == f"Shard redis:{primaries[0]} (and 2 more): no disk."

    async def test_a_shard_that_ends_while_it_is_created(self, console: Console, agents: FakeAgents) -> None:
        uid = await create(console)
        victim = (await rows(console, uid))[0]
        agents.died = {victim.uid: "out of memory"}
        async with running(console):
            failed = await reach(console, uid, "creation-failed")
            await until(lambda: no_rows(console, uid))
        assert failed.status_detail == f"Shard redis:{victim.uid} on node {victim.node_uid} ended: out of memory."

    @pytest.mark.usefixtures("impatient")
    async def test_an_agent_that_stays_away_fails_it_and_its_shards_wait_for_it(
        self, console: Console, agents: FakeAgents
    ) -> None:
        uid = await create(console)
        agents.unreachable = {2}
        async with running(console):
            failed = await reach(console, uid, "creation-failed")
            assert failed.status_detail == "The agent of node 2 (10.0.0.2:9700) cannot be reached."

            async def only_node_2() -> bool:
                return {row.node_uid for row in await rows(console, uid)} == {2}

            await until(only_node_2)
            agents.unreachable = set()
            await until(lambda: no_rows(console, uid))
        assert not alive(agents)

    async def test_an_agent_that_is_back_soon_is_waited_for(self, console: Console, agents: FakeAgents) -> None:
        uid = await create(console)
        agents.unreachable = {2}
        async with running(console):
            await until(lambda: agents.calls.count(("shards", 2)) >= 1)
            agents.unreachable = set()
            await reach(console, uid, "active")

    async def test_the_deadline_says_what_was_waited_for(self, console: Console) -> None:
        uid = await create(console)
        async with console.store.begin() as session:
            [order] = await actions.of_bdb(session, uid)
            order.deadline_at = datetime.now(UTC) + timedelta(seconds=0.3)
        mute = MuteEngines()
        async with running(console, agents=mute):
            failed = await reach(console, uid, "creation-failed")
            await until(lambda: no_rows(console, uid))
        # Primaries that are never promoted keep their replicas from starting.
        assert failed.status_detail == "It timed out during this step: Start the shards."
        assert not alive(mute)

    async def test_deleting_it_meanwhile_leaves_nothing(self, console: Console) -> None:
        mute = MuteEngines()
        uid = await create(console)
        async with running(console, agents=mute):
            await until(lambda: alive(mute))
            async with console.store.begin() as session:
                await service.delete(session, uid, ADMIN)
            await until(lambda: gone(console, uid))
        assert not alive(mute)
        assert await rows(console, uid) == []

    async def test_deleting_it_takes_its_outages_along(self, console: Console, agents: FakeAgents) -> None:
        uid = await created(console)
        async with running(console, agents=agents):
            seen = {"seen_by": 1, "address": "10.0.0.2", "port": 20000, "slots": "", "noticed_at": datetime.now(UTC)}
            async with console.store.begin() as session:
                for number, bdb_uid in enumerate((uid, uid + 1)):
                    counts = dict.fromkeys(("waited", "failed", "lost"), 0)
                    session.add(outages.Outage(bdb_uid=bdb_uid, noticed_ms=number, **seen, **counts))
                await service.delete(session, uid, ADMIN)
            await until(lambda: gone(console, uid))
        async with console.store.read() as session:
            assert await outages.count(session) == 1

    async def test_deleting_it_while_its_shards_are_being_started_leaves_nothing(
        self, console: Console, agents: FakeAgents
    ) -> None:
        """The order to start is on its way while the removal finds nothing to remove."""
        late = asyncio.Event()

        class SlowAgents(FakeAgents):
            async def start(self, node: NodeRef, request: object) -> list[object]:  # type: ignore[override]
                self.calls.append(("ordered", node.uid))
                await late.wait()
                return await super().start(node, request)  # type: ignore[arg-type,return-value]

        slow = SlowAgents()
        uid = await create(console)
        async with running(console, agents=slow):
            await until(lambda: ("ordered", 1) in slow.calls)
            async with console.store.begin() as session:
                await service.delete(session, uid, ADMIN)
            await until(lambda: no_rows(console, uid))
            late.set()
            await until(lambda: gone(console, uid))
            await until(lambda: not alive(slow))


@pytest.mark.store_in_all
class TestKilledConsole:
    """Whatever step it is killed at, the next console ends the same action, and well."""

    async def kill_at_each_step(
        self, console: Console, agents: FakeAgents, steps: Iterable[int], order: object, done: object
    ) -> int:
        """Kill the console at each of the steps until a run completes. Return that step."""
        for step in steps:
            uid = await order(step)  # type: ignore[operator]
            gate = Gate(step)
            async with running(console, agents=GatedAgents(agents, gate), store=GatedStore(console.store, gate)):
                finished = asyncio.create_task(done(uid))  # type: ignore[operator]
                killed = asyncio.create_task(gate.reached.wait())
                await asyncio.wait((finished, killed), return_when=asyncio.FIRST_COMPLETED)
                came_through = finished.done()
                finished.cancel()
                killed.cancel()
            before = (await self.order_of(console, uid)).uid
            # Every other time another console takes over, as it may once the lease has run out.
            await self.expire_leases(console)
            async with running(console, instance="test" if step % 2 else "another"):
                await done(uid)  # type: ignore[operator]
            after = await self.order_of(console, uid)
            assert (after.uid, after.status, after.error) == (before, "completed", ""), f"killed at step {step}"
            if came_through:
                return step
        raise AssertionError("it never came through")

    async def order_of(self, console: Console, uid: int) -> Action:
        return await action(console, uid)

    async def expire_leases(self, console: Console) -> None:
        async with console.store.begin() as session:
            for order in await actions.recent(session):
                if order.lease_until is not None and order.status in actions.OPEN:
                    order.lease_until = datetime.now(UTC) - timedelta(seconds=1)

    async def test_creating(self, console: Console, agents: FakeAgents, sampling: Sampling) -> None:
        async def order(step: int) -> int:
            return await create(console, f"db{step}", shards_count=1, memory_size=20_000_000)

        async def done(uid: int) -> Bdb:
            return await reach(console, uid, "active")

        steps = await self.kill_at_each_step(console, agents, sampling.kill_steps(54, 500), order, done)
        assert steps > 20
        async with console.store.read() as session:
            wanted = {row.uid for row in await shards.every(session)}
        assert alive(agents) == wanted

    async def test_deleting(self, console: Console, agents: FakeAgents, sampling: Sampling) -> None:
        async def order(step: int) -> int:
            uid = await created(console, f"db{step}", sharding=False, shards_count=1, memory_size=20_000_000)
            async with console.store.begin() as session:
                await service.delete(session, uid, ADMIN)
            return uid

        async def done(uid: int) -> None:
            await until(lambda: gone(console, uid))
            await until(lambda: no_rows(console, uid))

        assert await self.kill_at_each_step(console, agents, sampling.kill_steps(20, 500), order, done) > 8
        assert not alive(agents)

    async def test_changing(self, console: Console, agents: FakeAgents, sampling: Sampling) -> None:
        uid = await created(console)

        async def order(step: int) -> int:
            async with console.store.begin() as session:
                await service.update(session, uid, {"memory_size": 600_000_000 + 6 * step}, ADMIN)
            return uid

        async def done(_: int) -> Bdb:
            return await reach(console, uid, "active")

        steps = await self.kill_at_each_step(console, agents, sampling.kill_steps(36, 500), order, done)
        assert steps > 6
        sent = [argv for _, argv in agents.commands if argv[:2] == ("CONFIG", "SET")]
        assert sent[-1][3] == str(100_000_000 + steps)


@pytest.mark.store_in_all
class TestUpdate:
    async def test_it_reaches_every_shard_and_its_file(self, console: Console, agents: FakeAgents) -> None:
        uid = await created(console)
        agents.commands.clear()
        async with console.store.begin() as session:
            given = {"memory_size": 1_200_000_000, "eviction_policy": "allkeys-lru"}
            await service.update(session, uid, given, ADMIN)
        assert (await bdb(console, uid)).status == "active-change-pending"  # type: ignore[union-attr]
        async with running(console):
            changed = await reach(console, uid, "active")
        assert (changed.status_detail, changed.action_uid) == ("", None)
        settings = ("CONFIG", "SET", "maxmemory", "200000000", "maxmemory-policy", "allkeys-lru")
        uids = {row.uid for row in await rows(console, uid)}
        assert {shard for shard, argv in agents.commands if argv[: len(settings)] == settings} == uids
        assert {shard for shard, argv in agents.commands if argv == ("CONFIG", "REWRITE")} == uids
        assert await last_sentence(console, uid) == "The change of shop was applied to all its shards."

    async def test_append_only_files_are_written_one_at_a_time_on_each_node(
        self, console: Console, agents: FakeAgents
    ) -> None:
        uid = await created(console)
        agents.commands.clear()
        held = await rows(console, uid)
        async with console.store.begin() as session:
            await service.update(session, uid, {"data_persistence": "aof"}, ADMIN)
        busy = held[0].uid
        agents.told[busy, "INFO persistence"] = "aof_enabled:1\r\naof_rewrite_in_progress:1\r\n"
        beside = {row.uid for row in held if row.node_uid == held[0].node_uid} - {busy}
        begins = ("CONFIG", "SET", "appendonly", "yes")
        async with running(console):
            others = {row.uid for row in held} - beside - {busy}
            await until(lambda: {shard for shard, argv in agents.commands if argv == begins} == others)
            assert not [argv for _, argv in agents.commands if argv == ("CONFIG", "REWRITE")]
            del agents.told[busy, "INFO persistence"]
            await reach(console, uid, "active")
        assert {shard for shard, argv in agents.commands if argv == begins} == {row.uid for row in held}
        assert {shard for shard, argv in agents.commands if argv == ("CONFIG", "REWRITE")} == {row.uid for row in held}
        config = ("appendfsync", "everysec", "save", "", "rdbcompression", "yes")
        [settings] = {argv for _, argv in agents.commands if "appendfsync" in argv}
        assert " ".join(config) in " ".join(settings)

    async def test_a_password_reaches_every_shard_and_then_the_proxies(
        self, console: Console, agents: FakeAgents
    ) -> None:
        uid = await created(console)
        agents.commands.clear()
        async with console.store.begin() as session:
            await service.update(session, uid, {"authentication_redis_pass": "correct-horse"}, ADMIN)
        assert (await bdb(console, uid)).access_version == 0  # type: ignore[union-attr]
        async with running(console):
            assert (await reach(console, uid, "active")).access_version == 1
        await Endpoints(console.store, console.bus, agents).serve(uid)
        assert {told.access for state in agents.proxies.values() for told in state.databases} == {1}
        told_to = {shard: argv for shard, argv in agents.commands if argv[:3] == ("ACL", "SETUSER", "default")}
        assert set(told_to) == {row.uid for row in await rows(console, uid)}
        assert {argv[3:5] for argv in told_to.values()} == {("on", "resetpass")}
        assert "correct-horse" not in str(agents.commands)

    async def test_without_persistence_it_ends_at_once(self, console: Console, agents: FakeAgents) -> None:
        uid = await created(console)
        async with console.store.begin() as session:
            given = {"data_persistence": "snapshot", "snapshot_policy": [{"secs": 3600, "writes": 1}]}
            await service.update(session, uid, given, ADMIN)
        async with running(console):
            await reach(console, uid, "active")
        [settings] = {argv for _, argv in agents.commands if "appendfsync" in argv}
        assert (settings[settings.index("save") + 1], settings[settings.index("appendonly") + 1]) == ("3600 1", "no")

    @pytest.mark.usefixtures("impatient")
    async def test_a_shard_that_refuses_ends_it_with_a_sentence(self, console: Console) -> None:
        uid = await created(console)
        refusing = RefusingEngines()
        refusing.running = console.agents.running  # type: ignore[attr-defined]
        refusing.refused = ("CONFIG", "REWRITE")
        async with console.store.begin() as session:
            await service.update(session, uid, {"memory_size": 1_200_000_000}, ADMIN)
        async with running(console, agents=refusing):
            back = await reach(console, uid, "active")
        first = (await rows(console, uid))[0].uid
        reason = f"Shard redis:{first} (and 5 more): ERR not today."
        assert back.status_detail == f"The last change was not applied to all shards: {reason}"
        assert (await action(console, uid)).status == "failed"
        assert back.incomplete_changes == ["memory_size"]

    @pytest.mark.usefixtures("impatient")
    @pytest.mark.parametrize("again", [{}, {"maxclients": 500}, {"name": "other"}])
    async def test_what_has_not_reached_all_shards_goes_with_the_next_order(
        self, console: Console, agents: FakeAgents, again: dict[str, Any]
    ) -> None:
        uid = await created(console)
        refusing = RefusingEngines()
        refusing.running = agents.running
        refusing.refused = ("ACL", "SETUSER")
        given = {"maxclients": 500, "authentication_redis_pass": "correct-horse"}
        async with console.store.begin() as session:
            await service.update(session, uid, given, ADMIN)
        async with running(console, agents=refusing):
            assert (await reach(console, uid, "active")).incomplete_changes == sorted(given)
        agents.commands.clear()
        async with console.store.begin() as session:
            ordered, _ = await service.update(session, uid, again, ADMIN)
            assert ordered.status == "active-change-pending"
        async with running(console):
            back = await reach(console, uid, "active")
        assert (back.incomplete_changes, back.status_detail) == ([], "")
        told = [argv for _, argv in agents.commands]
        assert {argv[3:5] for argv in told if argv[:2] == ("ACL", "SETUSER")} == {("on", "resetpass")}
        assert any("maxclients" in argv for argv in told)
        async with console.store.begin() as session:
            assert (await service.update(session, uid, {}, ADMIN))[0].status == "active"


async def unreachable(console: Console, uid: int) -> bool:
    return "unreachable_since" in (await action(console, uid)).params


@pytest.mark.store
class TestFlush:
    async def test_it_empties_those_that_are_primaries_now(self, console: Console, agents: FakeAgents) -> None:
        uid = await created(console)
        held = await rows(console, uid)
        pair = [row for row in held if row.pair == 0]
        async with console.store.begin() as session:
            for row in pair:  # a failover that nobody ordered
                found = await shards.by_uid(session, row.uid)
                assert found is not None
                found.observed_role = "slave" if row.role == "master" else "master"
            await service.flush(session, uid, ADMIN)
        async with running(console):
            await reach(console, uid, "active")
        flushed = {shard for shard, argv in agents.commands if argv == ("FLUSHALL", "ASYNC")}
        assert flushed == {row.uid for row in held if row.pair != 0 and row.role == "master"} | {
            row.uid for row in pair if row.role == "slave"
        }
        event = (await told(console, uid))[-1]
        assert (event.severity, event.description) == ("WARNING", "All keys of shop were deleted.")

    async def test_it_waits_for_the_failover_of_a_lost_primary(self, console: Console, agents: FakeAgents) -> None:
        """A replica that is promoted after the flush would bring its keys back."""
        uid = await created(console)
        lost, promoted = sorted((row for row in await rows(console, uid) if row.pair == 0), key=lambda row: row.role)
        await pairs.die(console, agents, lost.uid)
        async with console.store.begin() as session:
            await service.flush(session, uid, ADMIN)
        async with running(console):
            await until(lambda: unreachable(console, uid))
            assert [argv for _, argv in agents.commands if argv[0] == "FLUSHALL"] == []
            await pairs.observe(console, promoted.uid, role="master")
            await reach(console, uid, "active")
        flushed = {shard for shard, argv in agents.commands if argv == ("FLUSHALL", "ASYNC")}
        assert promoted.uid in flushed
        assert len(flushed) == 3

    @pytest.mark.usefixtures("impatient")
    async def test_a_node_that_is_away_ends_it(self, console: Console, agents: FakeAgents) -> None:
        uid = await created(console)
        agents.unreachable = {1}
        async with console.store.begin() as session:
            await service.flush(session, uid, ADMIN)
        async with running(console):
            back = await reach(console, uid, "active")
        assert back.status_detail == (
            "Flushing did not reach all shards: Shard redis:1: the agent of node 1 (10.0.0.1:9700) cannot be reached."
        )


@pytest.mark.store
class TestDelete:
    async def delete(self, console: Console, uid: int) -> None:
        async with console.store.begin() as session:
            await service.delete(session, uid, ADMIN)

    async def test_everything_goes(self, console: Console, agents: FakeAgents) -> None:
        uid = await created(console)
        await self.delete(console, uid)
        async with running(console):
            await until(lambda: gone(console, uid))
        assert not alive(agents)
        assert await rows(console, uid) == []
        assert await last_sentence(console, uid) == "Database shop was deleted."

    async def test_shards_on_a_lost_node_wait_for_its_agent(self, console: Console, agents: FakeAgents) -> None:
        uid = await created(console)
        agents.unreachable = {3}
        await self.set_agent_status(console, 3, "lost")
        await self.delete(console, uid)
        async with running(console):
            await until(lambda: gone(console, uid))
            assert await last_sentence(console, uid) == (
                "Database shop was deleted. Its shards on node 3 will be removed when its agent reconnects."
            )
            left = await rows(console, uid)
            assert {(row.node_uid, row.desired) for row in left} == {(3, "absent")}
            assert alive(agents) == {row.uid for row in left}
            agents.unreachable = set()
            await until(lambda: no_rows(console, uid))
        assert not alive(agents)

    async def test_a_removal_that_failed_once_is_tried_again(self, console: Console, agents: FakeAgents) -> None:
        uid = await created(console)
        agents.unreachable = {2}
        await self.delete(console, uid)
        async with running(console):
            await until(lambda: agents.calls.count(("remove", 2)) >= 2)
            agents.unreachable = set()
            await until(lambda: gone(console, uid))

    async def test_what_is_under_way_is_waited_for(self, console: Console, agents: FakeAgents) -> None:
        """It might start a shard when all seem to be gone."""
        uid = await created(console)
        async with console.store.begin() as session:
            session.info["locked"] = True
            other = queue.start(
                session, "SMOther", object_uid=uid, description="Other", originator="", deadline=timedelta(60)
            )
            other.status, other.lease_token, other.lease_until = "running", "other", datetime.now(UTC) + timedelta(60)
        await self.delete(console, uid)
        async with running(console):
            await until(lambda: no_rows(console, uid))
            await until(lambda: self.waits(console, uid))
            async with console.store.begin() as session:
                (await session.get_one(Action, other.uid)).status = "completed"
            await until(lambda: gone(console, uid))

    async def waits(self, console: Console, uid: int) -> bool:
        async with console.store.read() as session:
            [order] = [each for each in await actions.of_bdb(session, uid) if each.name == "SMDeleteBDB"]
        return [each["name"] for each in order.steps] == ["Wait for another action: Other"]

    async def set_agent_status(self, console: Console, uid: int, status: str) -> None:
        async with console.store.begin() as session:
            node = await nodes.by_uid(session, uid)
            assert node is not None
            node.agent_status = status

    async def test_the_deadline_leaves_it_to_be_deleted_again(self, console: Console, agents: FakeAgents) -> None:
        uid = await created(console)
        agents.unreachable = {2}
        await self.delete(console, uid)
        async with console.store.begin() as session:
            order = (await actions.of_bdb(session, uid))[0]
            order.deadline_at = datetime.now(UTC)
        async with running(console):
            await until(lambda: self.failed(console, uid))
            left = await bdb(console, uid)
            assert left is not None
            assert (left.status, left.action_uid) == ("delete-pending", None)
            assert left.status_detail.startswith("Deletion failed: It took too long.")
            agents.unreachable = set()
            await self.delete(console, uid)
            await until(lambda: gone(console, uid))

    async def failed(self, console: Console, uid: int) -> bool:
        return (await action(console, uid)).status == "failed"
