"""Shards and endpoints that the store does not contain are reported and left alone; only shards that it removed are orphans."""

import asyncio
from typing import Any

import pytest
from backend.tests.support import active_database
from backend.tests.support.real_shards import wait_until

from shardboard.console import Console
from shardboard.contract import ProxyDatabase, ProxyShard, ProxyState, ShardSpec
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.reconcilers.databases.bdbs import Create
from shardboard.reconcilers.databases.endpoints import Endpoints
from shardboard.reconcilers.databases.unknown_shards import InventoryLoop
from shardboard.reconcilers.failures.failover import FailoverLoop
from shardboard.reconcilers.placement import shard_removal
from shardboard.reconcilers.placement.shard_removal import RemovalLoop
from shardboard.services.access.authorization import Principal
from shardboard.services.databases import bdbs as service
from shardboard.state.alerting import events
from shardboard.state.alerting.events import UNKNOWN_SHARDS, Event
from shardboard.state.cluster import actions, cluster, nodes
from shardboard.state.databases import shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

pytestmark = [pytest.mark.store, pytest.mark.usefixtures("nodes")]

ADMIN = Principal("admin@example.org", "admin")
NODE = NodeRef(1, "10.0.0.1", 9700)


def spec(uid: int, *, bdb_uid: int = 9, engine_id: str | None = None, port: int | None = None) -> ShardSpec:
    port = port or 20000 + uid
    return ShardSpec(
        uid=uid, bdb_uid=bdb_uid, engine_id=engine_id or f"{0xFACE00 + uid:040x}", port=port, bus_port=port + 5000,
        role="master",
    )  # fmt: skip


def serve(agents: FakeAgents, node_uid: int, *specs: ShardSpec, uid: int = 9, port: int = 12000) -> None:
    """Let the proxy of the node serve a database of these shards, as an earlier state of the store required."""
    proxy_shards = [
        ProxyShard(uid=each.uid, engine_id=each.engine_id, role="master", address="10.0.0.1", port=each.port, slots=[])
        for each in specs
    ]
    database = ProxyDatabase(
        uid=uid, port=port, hides_cluster=True, cluster=False, version=1, tls=False, max_connections=0, shards=proxy_shards,
        endpoints=[],
    )  # fmt: skip
    agents.proxies[node_uid] = ProxyState(threads=1, databases=[database])


async def sweep(console: Console, agents: FakeAgents) -> bool:
    return await InventoryLoop(console.store, console.bus, agents).sweep()


async def create(console: Console, **changes: Any) -> tuple[Bdb, list[Shard]]:
    fields = {"name": "carts", "memory_size": 10**8, **changes}
    async with console.store.begin() as session:
        bdb, rows = await service.create(session, fields, ADMIN, allow_duplicate_name=True)
        return bdb, list(rows)


async def perform_creation(console: Console, agents: FakeAgents, uid: int) -> str:
    """Perform the creation until it ends. Return the reason of a failure, or an empty string."""
    stepper = Create(console.store, agents, Endpoints(console.store, console.bus, agents))
    while True:
        async with console.store.read() as session:
            [action] = await actions.list_open_for_bdb(session, uid)
        outcome = await stepper.step(action)
        if outcome.failed:
            async with console.store.begin() as session:
                await stepper.fail(session, action, outcome.failed)
        if outcome.failed or outcome.finished:
            return outcome.failed


async def remove_absent(console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_removal, "RETRY_SECONDS", 0.02)
    endpoints = Endpoints(console.store, console.bus, agents)
    task = asyncio.create_task(RemovalLoop(console.store, console.bus, agents, endpoints.update).run())

    async def is_removed() -> bool:
        async with console.store.read() as session:
            return not await shards.list_absent(session)

    try:
        await wait_until(is_removed)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def open_alarms(console: Console) -> list[Event]:
    async with console.store.read() as session:
        return list(await events.list_open_spans(session, UNKNOWN_SHARDS))


async def test_uids_ports_and_memory_of_unknown_shards_are_avoided(console: Console, agents: FakeAgents) -> None:
    foreign = spec(7, port=20000)
    agents.running[1][7] = foreign
    serve(agents, 1, foreign)
    assert await sweep(console, agents)
    bdb, [row] = await create(console, use_nodes=["1"])
    assert (bdb.uid, bdb.port) == (10, 12001)
    assert (row.uid, row.port) == (8, 20001)
    assert await perform_creation(console, agents, bdb.uid) == ""
    assert agents.running[1] == {7: foreign, 8: agents.running[1][8]}
    assert [database.uid for database in agents.proxies[1].databases] == [10, 9]


async def test_an_alarm_is_open_while_a_node_has_unknown_shards(console: Console, agents: FakeAgents) -> None:
    agents.running[2] = {7: spec(7), 8: spec(8, bdb_uid=11)}
    await sweep(console, agents)
    await sweep(console, agents)
    [alarm] = await open_alarms(console)
    assert alarm.node_uid == 2
    assert (alarm.details["shards"], alarm.details["databases"]) == ([7, 8], [9, 11])
    agents.running[2].clear()
    await sweep(console, agents)
    assert await open_alarms(console) == []


async def test_a_creation_before_the_poll_fails_and_touches_nothing(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store returned to an earlier state while the console ran, for example by a failover to an asynchronous standby."""
    foreign = spec(1, bdb_uid=1, port=20000)
    agents.running[1][1] = foreign
    serve(agents, 1, foreign, uid=1)
    bdb, [row] = await create(console, use_nodes=["1"])
    assert (bdb.uid, row.uid) == (1, 1)
    assert "runs another shard 1" in await perform_creation(console, agents, 1)
    await remove_absent(console, agents, monkeypatch)
    assert agents.running[1] == {1: foreign}
    assert await sweep(console, agents)
    await Endpoints(console.store, console.bus, agents)._push_all({1})
    [database] = agents.proxies[1].databases
    assert [shard.engine_id for shard in database.shards] == [foreign.engine_id]


async def test_a_foreign_shard_with_the_uid_of_a_row_is_not_commanded_or_removed(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    await active_database.create_active_database(console, agents)
    foreign = spec(1, bdb_uid=1)
    agents.running[1][1] = foreign
    async with console.store.begin() as session:
        (await session.get_one(Shard, 1)).desired = "absent"
    await remove_absent(console, agents, monkeypatch)
    assert agents.running[1][1] == foreign
    assert not [argv for uid, argv in agents.commands if uid == 1]
    await sweep(console, agents)
    assert agents.running[1][1] == foreign, "the uid was removed, this engine id was not"


async def test_only_shards_that_this_store_removed_are_orphans(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    await active_database.create_active_database(console, agents)
    late = agents.running[1][1]
    async with console.store.begin() as session:
        (await session.get_one(Shard, 1)).desired = "absent"
        (await cluster.load(session)).next_shard_uid = 100
    await remove_absent(console, agents, monkeypatch)
    agents.running[1] |= {1: late, 50: spec(50), 7000: spec(7000)}
    agents.unreachable = {3}
    assert not await sweep(console, agents)
    assert set(agents.running[1]) == {6, 50, 7000}
    async with console.store.read() as session:
        removals = [event for event in await events.page(session, newest_first=False) if event.type == "orphan_removed"]
        assert (await cluster.load(session)).next_shard_uid == 7001
    assert [event.description for event in removals] == [
        "Shard redis:1 on node 1 was removed: its database no longer exists."
    ]


async def test_shards_of_the_previous_release_are_kept_if_they_have_rows(console: Console, agents: FakeAgents) -> None:
    await active_database.create_active_database(console, agents)
    before = {uid: dict(shards_of_node) for uid, shards_of_node in agents.running.items()}
    await sweep(console, agents)
    assert {uid: dict(shards_of_node) for uid, shards_of_node in agents.running.items() if shards_of_node} == before
    assert await open_alarms(console) == []


async def test_an_agent_cannot_use_up_the_uids(console: Console, agents: FakeAgents) -> None:
    agents.running[1][2**31 - 1] = spec(2**31 - 1, port=24000)
    await sweep(console, agents)
    async with console.store.read() as session:
        assert (await cluster.load(session)).next_shard_uid == 1


async def test_an_outdated_database_is_not_failed_over(console: Console, agents: FakeAgents) -> None:
    """Its primary moved after the backup: the shard in the store no longer exists, and its successor serves."""
    await active_database.create_active_database(console, agents)
    await active_database.kill_shards(console, agents, 1)
    agents.running[3][7] = spec(7, bdb_uid=1)
    await sweep(console, agents)
    await FailoverLoop(console.store, console.bus).sweep()
    async with console.store.read() as session:
        assert await actions.list_open_for_bdb(session, 1) == []
    agents.running[3].pop(7)
    await sweep(console, agents)
    await FailoverLoop(console.store, console.bus).sweep()
    async with console.store.read() as session:
        assert len(await actions.list_open_for_bdb(session, 1)) == 1


async def test_an_old_agent_with_unknown_shards_keeps_its_endpoints(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its proxy would close all endpoints that are not in an update, so no update is sent."""
    foreign = spec(7)
    agents.running[1][7] = foreign
    serve(agents, 1, foreign)
    report = agents._proxy_report
    monkeypatch.setattr(agents, "_proxy_report", lambda node: report(node).model_copy(update={"serving": None}))
    await sweep(console, agents)
    before = agents.proxies[1]
    endpoints = Endpoints(console.store, console.bus, agents)
    await endpoints.update_all()
    await asyncio.gather(*endpoints._pushers.values())
    assert agents.proxies[1] == before


async def test_a_port_of_an_unknown_shard_is_not_served_for_another_database(
    console: Console, agents: FakeAgents
) -> None:
    await active_database.create_active_database(console, agents)
    del agents.running[1][1]
    agents.running[1][9] = spec(9, port=20001)
    await sweep(console, agents)
    async with console.store.begin() as session:
        for node in await nodes.list_all(session):
            bdb = await session.get_one(Bdb, 1)
            bdb.endpoint_nodes = [*bdb.endpoint_nodes, node.uid]
    await Endpoints(console.store, console.bus, agents)._push_all({2})
    [database] = agents.proxies[2].databases
    assert {shard.uid for shard in database.shards} == {2, 3, 4, 5, 6}
