"""Databases whose stored shards differ from those of the agents are reported, and repaired on request."""

import asyncio
import hashlib
from typing import Any

import pytest
from backend.tests.reconcilers.loop_helpers import ADMIN
from backend.tests.support import active_database
from backend.tests.support.real_shards import wait_until

from shardboard.console import Console
from shardboard.contract import ShardSpec
from shardboard.domain.cluster.actions import OPEN_STATUSES, ActionName
from shardboard.driver.fake_agents import FakeAgents
from shardboard.errors import ApiError
from shardboard.reconcilers.databases.repair import RepairDatabase
from shardboard.reconcilers.databases.unknown_shards import InventoryLoop
from shardboard.reconcilers.failures.failover import FailoverLoop
from shardboard.reconcilers.failures.replica_recovery import ReplicaRecoveryLoop
from shardboard.reconcilers.failures.shard_restart import RestartLoop
from shardboard.reconcilers.loop import ActionLoop
from shardboard.services.failures import repair as service
from shardboard.services.failures import shard_restart
from shardboard.state.alerting import events
from shardboard.state.alerting.events import STORE_MISMATCH, UNKNOWN_SHARDS, Event
from shardboard.state.cluster import actions, nodes
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import shards
from shardboard.state.databases.bdbs import Bdb

pytestmark = [pytest.mark.store, pytest.mark.usefixtures("nodes")]

BDB = active_database.BDB
SECRET = hashlib.sha256(b"secret").hexdigest()


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: object) -> None:
    await active_database.create_active_database(console, agents)
    await set_columns(console, replication=True)
    report_slots(agents, {1: "0-5460", 2: "5461-10922", 3: "10923-16383"})


async def set_columns(console: Console, **columns: Any) -> None:
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, BDB)
        for name, value in columns.items():
            setattr(bdb, name, value)


def report_slots(agents: FakeAgents, primaries: dict[int, str], replicas: dict[int, int] | None = None) -> None:
    """Let all shards report these primaries with their slots, and replicas with the uids of their primaries."""
    replicas = replicas or {4: 1, 5: 2, 6: 3}
    lines = [
        f"{uid:040x} 10.0.0.1:{20000 + uid}@{25000 + uid} master - 0 0 {uid} connected {held}"
        for uid, held in primaries.items()
    ]
    lines += [
        f"{uid:040x} 10.0.0.1:{20000 + uid}@{25000 + uid} slave {head:040x} 0 0 {head} connected"
        for uid, head in replicas.items()
    ]
    text = "\n".join(line.replace(",", " ") for line in lines)
    agents.replies |= {(uid, "CLUSTER NODES"): text for uid in range(1, 20)}


def lose(agents: FakeAgents, *uids: int) -> None:
    """Remove shards and their files."""
    for held in agents.running.values():
        for uid in uids:
            held.pop(uid, None)


def add_member(agents: FakeAgents, uid: int, node_uid: int, *, password: str = SECRET) -> None:
    """Run a shard of the database that the store does not contain."""
    agents.running[node_uid][uid] = ShardSpec(
        uid=uid, bdb_uid=BDB, engine_id=f"{uid:040x}", port=20000 + uid, bus_port=25000 + uid, role="master"
    )
    agents.replies[uid, "ACL GETUSER shardboard"] = f"['flags', ['on'], 'passwords', ['{password}']]"


async def sweep(console: Console, agents: FakeAgents) -> None:
    await InventoryLoop(console.store, console.bus, agents).sweep()


async def load_bdb(console: Console) -> Bdb:
    async with console.store.read() as session:
        return await session.get_one(Bdb, BDB)


async def open_alarms(console: Console) -> list[Event]:
    async with console.store.read() as session:
        return list(await events.list_open_spans(session, STORE_MISMATCH))


async def events_of_type(console: Console, type_: str) -> list[Event]:
    async with console.store.read() as session:
        return [each for each in await events.page(session, newest_first=False) if each.type == type_]


async def request_repair(console: Console, confirm: str = "", *, dry_run: bool = False) -> service.ScheduledRepair:
    async with console.store.begin() as session:
        return await service.schedule(session, BDB, ADMIN, confirm=confirm, dry_run=dry_run)


async def repair(console: Console, agents: FakeAgents, confirm: str = "") -> Action:
    """Request the repair and perform it until it ends."""
    scheduled = await request_repair(console, confirm)
    assert scheduled.action is not None
    uid = scheduled.action.uid

    async def has_ended() -> bool:
        return (await load_action(console, uid)).status not in OPEN_STATUSES

    loop = ActionLoop(
        console.store, console.bus, {ActionName.REPAIR_BDB: RepairDatabase(console.store, agents)}, "test"
    )
    task = asyncio.create_task(loop.run())
    try:
        await wait_until(has_ended)
    finally:
        working = list(loop._tasks.values())
        task.cancel()
        await asyncio.gather(task, *working, return_exceptions=True)
    return await load_action(console, uid)


async def load_action(console: Console, uid: str) -> Action:
    async with console.store.read() as session:
        action = await actions.by_uid(session, uid)
    assert action is not None
    return action


async def test_shards_of_a_deleted_database_are_down_and_reported(console: Console, agents: FakeAgents) -> None:
    lose(agents, *range(1, 7))
    await sweep(console, agents)
    await sweep(console, agents)
    states = {uid: await active_database.get_shard(console, uid) for uid in range(1, 7)}
    assert {row.observed_status for row in states.values()} == {"down"}
    assert states[4].detail == "the agent of node 2 does not have it"
    assert len(await events_of_type(console, "shard_down")) == 6, "one event for each shard"
    [alarm] = await open_alarms(console)
    assert (alarm.bdb_uid, alarm.severity) == (BDB, "ERROR")
    assert alarm.details["empty"] == [1, 2, 3, 4, 5, 6]
    assert "Agents did not have 6 shards (redis:1, redis:6 on node 1" in alarm.description


async def test_the_alarm_ends_when_the_shards_are_back(console: Console, agents: FakeAgents) -> None:
    before = {node: dict(held) for node, held in agents.running.items()}
    lose(agents, *range(1, 7))
    await sweep(console, agents)
    agents.running.update(before)
    await sweep(console, agents)
    assert await open_alarms(console) == []
    assert (await load_bdb(console)).store_mismatch == {}


async def test_the_alarm_ends_when_the_database_is_deleted(console: Console, agents: FakeAgents) -> None:
    lose(agents, *range(1, 7))
    await sweep(console, agents)
    async with console.store.begin() as session:
        for row in await shards.list_for_bdb(session, BDB):
            await shards.delete(session, row)
        await session.delete(await session.get_one(Bdb, BDB))
    await sweep(console, agents)
    assert await open_alarms(console) == []


async def test_unreachable_agents_have_no_missing_shards(console: Console, agents: FakeAgents) -> None:
    lose(agents, *range(1, 7))
    agents.unreachable = {1, 2, 3}
    await sweep(console, agents)
    assert (await load_bdb(console)).store_mismatch == {}
    agents.unreachable = {1}
    await sweep(console, agents)
    assert (await load_bdb(console)).mismatch.missing == (2, 5), "the successors of the others could run on node 1"


async def test_differences_remain_known_while_their_node_does_not_respond(console: Console, agents: FakeAgents) -> None:
    lose(agents, *range(1, 7))
    await sweep(console, agents)
    agents.unreachable = {1}
    await sweep(console, agents)
    assert (await load_bdb(console)).mismatch.missing == (1, 2, 3, 4, 5, 6)
    assert len(await open_alarms(console)) == 1


async def test_busy_databases_are_not_compared(console: Console, agents: FakeAgents) -> None:
    lose(agents, *range(1, 7))
    await set_columns(console, status="active-change-pending")
    await sweep(console, agents)
    assert (await active_database.get_shard(console, 1)).observed_status == "ok"


async def test_a_missing_replica_is_recovered_without_an_alarm(console: Console, agents: FakeAgents) -> None:
    lose(agents, 4)
    await sweep(console, agents)
    assert await open_alarms(console) == []
    await ReplicaRecoveryLoop(console.store, console.bus).sweep()
    async with console.store.read() as session:
        [action] = await actions.list_open_for_bdb(session, BDB)
    assert action.current_name == ActionName.RECOVER_REPLICAS
    with pytest.raises(ApiError, match="Another action is running"):
        await request_repair(console)


async def test_missing_primaries_are_not_restarted_from_persistence(console: Console, agents: FakeAgents) -> None:
    bdb = await load_bdb(console)
    await set_columns(console, config={**bdb.config, "data_persistence": "aof"})
    lose(agents, 1, 4)
    await sweep(console, agents)
    await RestartLoop(console.store, console.bus).sweep()
    async with console.store.read() as session:
        assert await actions.list_open_for_bdb(session, BDB) == []
    async with console.store.begin() as session:
        with pytest.raises(ApiError, match="Repair database shop instead"):
            await shard_restart.schedule(session, 1, ADMIN, confirm="shard 1", discard_data=True, dry_run=False)


async def test_a_repair_of_a_deleted_database_needs_confirmation_and_starts_it_empty(
    console: Console, agents: FakeAgents
) -> None:
    lose(agents, *range(1, 7))
    await sweep(console, agents)
    planned = await request_repair(console, dry_run=True)
    assert planned.loses_data
    assert "all keys of all slots are lost" in planned.changes[0]
    with pytest.raises(ApiError, match='send "database 1"'):
        await request_repair(console, "database 2")
    action = await repair(console, agents, "database 1")
    assert (action.status, action.error) == ("completed", "")
    assert {uid for held in agents.running.values() for uid in held} == set(range(1, 7))
    assert await open_alarms(console) == []
    [event] = await events_of_type(console, "bdb_repaired")
    assert event.description == "Database shop was repaired. 6 shards had no data."
    assert (await active_database.get_shard(console, 1)).observed_status == "ok"


async def test_a_repair_without_differences_is_refused(console: Console, agents: FakeAgents) -> None:
    await sweep(console, agents)
    with pytest.raises(ApiError, match="agree on database shop"):
        await request_repair(console)


async def test_no_shard_starts_empty_while_a_node_that_can_have_its_data_does_not_respond(
    console: Console, agents: FakeAgents
) -> None:
    lose(agents, 1, 4)
    await sweep(console, agents)
    scheduled = await request_repair(console, "database 1")
    await active_database.set_node_columns(console, 3, agent_status="lost")
    outcome = await RepairDatabase(console.store, agents).step(scheduled.action)  # type: ignore[arg-type]
    assert outcome.unreachable == "the agent of node 3 does not respond"
    async with console.store.begin() as session:
        await session.delete(await session.get_one(Action, scheduled.action.uid))  # type: ignore[union-attr]
    with pytest.raises(ApiError, match="The agent of node 3 does not respond"):
        await request_repair(console, "database 1")


async def test_a_repair_does_not_start_more_shards_empty_than_confirmed(console: Console, agents: FakeAgents) -> None:
    lose(agents, 1, 4)
    await sweep(console, agents)
    scheduled = await request_repair(console, "database 1")
    lose(agents, 2, 5)
    outcome = await RepairDatabase(console.store, agents).step(scheduled.action)  # type: ignore[arg-type]
    assert outcome.failed.startswith("More shards are missing")
    assert 1 not in agents.running[1]


async def test_slots_of_removed_shards_are_taken_over_from_the_cluster(console: Console, agents: FakeAgents) -> None:
    """The database had three primaries at the time of the backup and has two now."""
    lose(agents, 3, 6)
    report_slots(agents, {1: "0-8191", 2: "8192-16383"}, {4: 1, 5: 2})
    await sweep(console, agents)
    [alarm] = await open_alarms(console)
    assert (alarm.severity, alarm.details["missing"]) == ("WARNING", [3, 6])
    action = await repair(console, agents)
    assert (action.status, action.error) == ("completed", "")
    bdb = await load_bdb(console)
    assert (bdb.shards_count, bdb.incomplete_changes) == (2, ["memory_size"])
    async with console.store.read() as session:
        rows = {row.uid: row.slots for row in await shards.list_for_bdb(session, BDB)}
        absent = [row.uid for row in await shards.list_absent(session)]
    assert rows == {1: "0-8191", 4: "0-8191", 2: "8192-16383", 5: "8192-16383"}
    assert absent == [3, 6]


async def test_added_shards_are_taken_over_if_they_have_the_password_of_the_database(
    console: Console, agents: FakeAgents
) -> None:
    """The database had three primaries at the time of the backup and has four now."""
    add_member(agents, 9, 2)
    add_member(agents, 10, 3)
    add_member(agents, 11, 1, password="0" * 64)
    quarters = {1: "0-4095", 2: "5461-9556", 3: "10923-15018", 9: "4096-5460,9557-10922,15019-16383"}
    report_slots(agents, quarters, {4: 1, 5: 2, 6: 3, 10: 9})
    await sweep(console, agents)
    [alarm] = await open_alarms(console)
    assert alarm.details["unknown"] == [9, 10], "shard 11 belongs to another database with the same uid"
    action = await repair(console, agents)
    assert (action.status, action.error) == ("completed", "")
    async with console.store.read() as session:
        found = await shards.list_for_bdb(session, BDB)
        rows = {row.uid: (row.node_uid, row.pair, row.role, row.slots) for row in found}
        machines = {node.uid: node for node in await nodes.list_all(session)}
    assert rows[9] == (2, 3, "master", quarters[9])
    assert rows[10] == (3, 3, "slave", quarters[9])
    assert rows[4] == (2, 0, "slave", "0-4095")
    assert 11 not in rows
    assert machines[2].unknown_shards.shards == ()
    async with console.store.read() as session:
        assert [each.node_uid for each in await events.list_open_spans(session, UNKNOWN_SHARDS)] == [1]
    assert [each.uid for each in machines[1].unknown_shards.shards] == [11]
    assert (await load_bdb(console)).shards_count == 4
    await sweep(console, agents)
    assert await open_alarms(console) == []


async def test_a_member_that_does_not_respond_prevents_the_repair(console: Console, agents: FakeAgents) -> None:
    add_member(agents, 9, 2)
    agents.died[9] = "killed"
    await sweep(console, agents)
    [alarm] = await open_alarms(console)
    assert alarm.details["unknown"] == [9]
    with pytest.raises(ApiError, match="Shard redis:9 on node 2 may belong to shop"):
        await request_repair(console)


async def test_a_replica_of_a_moved_primary_is_not_promoted(console: Console, agents: FakeAgents) -> None:
    """Primary 1 was moved after the backup: its successor serves, and replica 4 follows it."""
    lose(agents, 1)
    add_member(agents, 9, 3)
    report_slots(agents, {9: "0-5460", 2: "5461-10922", 3: "10923-16383"}, {4: 9, 5: 2, 6: 3})
    agents.unreachable = {3}
    await sweep(console, agents)
    await FailoverLoop(console.store, console.bus).sweep()
    agents.unreachable = set()
    await sweep(console, agents)
    await FailoverLoop(console.store, console.bus).sweep()
    await ReplicaRecoveryLoop(console.store, console.bus).sweep()
    async with console.store.read() as session:
        assert await actions.list_open_for_bdb(session, BDB) == []
    action = await repair(console, agents)
    assert (action.status, action.error) == ("completed", "")
    async with console.store.read() as session:
        pair = {row.uid: (row.role, row.slots) for row in await shards.list_for_bdb(session, BDB) if row.pair == 0}
    assert pair == {9: ("master", "0-5460"), 4: ("slave", "0-5460")}
