"""State that the console sends to proxies. Agents are fakes; the store is real."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from backend.tests.support.real_shards import wait_until

from shardboard.console import Console
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.placement import slots
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import NodeRef, ProxyDatabase, ProxyReport, ProxyState
from shardboard.errors import AgentUnreachable
from shardboard.pki.shard_certificates import ShardCertificates
from shardboard.reconcilers.databases import endpoints
from shardboard.reconcilers.databases.endpoints import Endpoints
from shardboard.schemas.databases import bdb_fields
from shardboard.services.access.authorization import Principal
from shardboard.services.cluster import certificates
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster import nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

pytestmark = pytest.mark.store_in_all


@pytest.fixture
async def serving(console: Console, nodes: list[Node], agents: FakeAgents) -> Endpoints:
    """Endpoints of database 1 with primaries 1 and 2 on nodes 1 and 2, and each replica on the other node."""
    now = datetime.now(UTC)
    config: dict[str, Any] = {
        **bdb_fields.CONFIG_DEFAULTS,
        "oss_cluster": True,
        "proxy_policy": "all-master-shards",
    }
    async with console.store.begin() as session:
        session.add(
            Bdb(
                uid=1, name="shop", status="active", memory_size=10**9, port=12000, sharding=True, shards_count=2,
                replication=True, config=config, admin_password="", created_at=now, changed_at=now,
            )
        )  # fmt: skip
        for pair, first, second in ((0, 1, 2), (1, 2, 1)):
            for uid, node_uid, role in ((pair + 1, first, "master"), (pair + 3, second, "slave")):
                session.add(
                    Shard(
                        uid=uid, bdb_uid=1, pair=pair, node_uid=node_uid, role=role, port=20000 + uid,
                        bus_port=25000 + uid, engine_id=f"{uid:040x}", slots=slots.render((slots.split(2)[pair],)),
                    )
                )  # fmt: skip
    return Endpoints(console.store, console.bus, agents)


@pytest.fixture
async def running(serving: Endpoints) -> AsyncIterator[Endpoints]:
    task = asyncio.create_task(serving.run())
    yield serving
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def reconcile(serving: Endpoints) -> None:
    """Poll once, and wait until all updates are sent."""
    await serving.update_all()
    await asyncio.gather(*serving._pushers.values())


def proxy_database(agents: FakeAgents, node_uid: int) -> ProxyDatabase:
    [database] = agents.proxies[node_uid].databases
    return database


async def test_every_node_with_a_primary_gets_the_complete_database(serving: Endpoints, agents: FakeAgents) -> None:
    assert await serving.serve(1) == {}
    assert sorted(agents.proxies) == [1, 2]
    assert proxy_database(agents, 1) == proxy_database(agents, 2)
    database = proxy_database(agents, 1)
    assert (database.port, database.hides_cluster, database.cluster, database.tls) == (12000, False, True, False)
    assert {shard.uid: shard.role for shard in database.shards} == {1: "master", 2: "master", 3: "slave", 4: "slave"}
    assert [shard.slots for shard in database.shards] == [[(0, 8191)], [(8192, 16383)], [], []]
    owners = {shard.uid: shard.endpoint_id for shard in database.shards}
    assert [owners[1], owners[2]] == [endpoint.id for endpoint in database.endpoints]


async def test_deleted_databases_and_nodes_are_evicted(console: Console, serving: Endpoints) -> None:
    await reconcile(serving)
    assert (serving._versions.keys(), serving._applied.keys()) == ({1}, {1, 2, 3})
    async with console.store.begin() as session:
        for row in (*await shards.list_all(session), await session.get_one(Bdb, 1), await session.get_one(Node, 2)):
            await session.delete(row)
    await reconcile(serving)
    assert (serving._versions.keys(), serving._applied.keys()) == (set(), {1, 3})


async def test_proxies_get_the_certificates_for_encrypted_shards(
    console: Console, serving: Endpoints, agents: FakeAgents
) -> None:
    await serving.serve(1)
    assert proxy_database(agents, 1).shard_tls is None
    issued_certificates = ShardCertificates.issue()
    async with console.store.begin() as session:
        bdb = await bdbs.by_uid(session, 1)
        assert bdb is not None
        bdb.shard_certificates = issued_certificates.stored()
    await reconcile(serving)
    before = proxy_database(agents, 1)
    assert before.shard_tls is not None
    assert (before.shard_tls.cas, before.shard_tls.certificate) == (
        issued_certificates.ca,
        issued_certificates.certificate,
    )
    assert before.shard_tls.key not in repr(before)
    async with console.store.begin() as session:
        await certificates.rotate(session, Principal("admin@example.org", "admin"))
    await reconcile(serving)
    after = proxy_database(agents, 1).shard_tls
    assert after is not None
    assert (after.cas, after.certificate == before.shard_tls.certificate) == (
        before.shard_tls.cas,
        False,
    )
    # The list of shards has the same version, so no connection is reopened.
    assert proxy_database(agents, 1).version == before.version


async def test_the_rate_of_canary_writes_follows_the_policy(
    console: Console, serving: Endpoints, agents: FakeAgents
) -> None:
    await serving.serve(1)
    before = proxy_database(agents, 1).canary
    assert before is not None
    assert (before.user, before.interval_ms) == ("shardboard-canary", 100)
    assert before.password not in repr(proxy_database(agents, 1))
    for rate in (0, 50):
        async with console.store.begin() as session:
            cluster = await clusters.load(session)
            cluster.policy = {**cluster.policy, "canary_writes_per_second": rate}
        await reconcile(serving)
        canary = proxy_database(agents, 1).canary
        assert (canary.interval_ms if canary is not None else None) == {0: None, 50: 20}[rate]


async def test_a_promotion_is_sent_at_once_with_a_newer_version(
    console: Console, running: Endpoints, agents: FakeAgents
) -> None:
    await wait_until(lambda: sorted(agents.proxies) == [1, 2, 3])
    before = proxy_database(agents, 2).version
    async with console.store.begin() as session:
        lost, promoted = await session.get_one(Shard, 1), await session.get_one(Shard, 3)
        lost.observed_role, promoted.observed_role = "slave", "master"
    await wait_until(lambda: proxy_database(agents, 2).shards[2].role == "master")
    assert proxy_database(agents, 2).version > before
    assert proxy_database(agents, 2).shards[0].slots == []
    assert proxy_database(agents, 2).shards[2].slots == [(0, 8191)]


async def test_a_hanging_node_does_not_delay_others(
    console: Console, running: Endpoints, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    await wait_until(lambda: sorted(agents.proxies) == [1, 2, 3])
    apply = agents.apply_proxy

    async def hang(node: NodeRef, state: ProxyState) -> ProxyReport:
        if node.uid == 1:
            await asyncio.Event().wait()
        return await apply(node, state)

    monkeypatch.setattr(agents, "apply_proxy", hang)
    for uid in (3, 4):
        async with console.store.begin() as session:
            (await session.get_one(Shard, uid)).observed_role = "master"
        await wait_until(lambda uid=uid: proxy_database(agents, 2).shards[uid - 1].role == "master")


async def test_an_unreachable_agent_is_not_a_failed_endpoint(serving: Endpoints, agents: FakeAgents) -> None:
    agents.unreachable = {2}
    with pytest.raises(AgentUnreachable, match="the proxy of node 2 could not be updated"):
        await serving.serve(1)
    agents.unreachable = set()
    assert await serving.serve(1) == {}


async def test_a_node_that_is_down_is_not_waited_for(console: Console, serving: Endpoints, agents: FakeAgents) -> None:
    """Its agent may count as connected for a few more seconds."""
    async with console.store.begin() as session:
        node = await nodes.by_uid(session, 2)
        assert node is not None
        node.health = "down"
    assert await serving.serve(1) == {}
    assert 2 not in agents.proxies


async def test_an_unchanged_state_is_not_sent_again(serving: Endpoints, agents: FakeAgents) -> None:
    await reconcile(serving)
    calls = len(agents.calls)
    await reconcile(serving)
    assert len(agents.calls) == calls


async def test_a_state_that_waited_is_not_sent_after_a_newer_one(
    console: Console, serving: Endpoints, agents: FakeAgents
) -> None:
    """The endpoint of a new database would be closed again, after the database became active."""
    async with serving._pushing[1]:
        for status in (BdbStatus.ACTIVE, BdbStatus.CREATION_FAILED):
            await set_status(console, status)
            await serving.update_all()
            await wait_until(lambda: node_uids(serving._latest) <= {1})
        await set_status(console, BdbStatus.ACTIVE)
        served = asyncio.create_task(serving.serve(1))
        await wait_until(lambda: len(serving._pushing[1]._waiters or ()) == 2)
    assert await served == {}
    await asyncio.gather(*serving._pushers.values())
    assert proxy_database(agents, 1).uid == 1


def node_uids(latest: Mapping[NodeRef, object]) -> set[int]:
    return {node.uid for node in latest}


async def set_status(console: Console, status: BdbStatus) -> None:
    async with console.store.begin() as session:
        bdb = await bdbs.by_uid(session, 1)
        assert bdb is not None
        bdb.status = status


async def test_a_reconnected_node_gets_the_state(console: Console, serving: Endpoints, agents: FakeAgents) -> None:
    agents.unreachable = {2}
    await reconcile(serving)
    assert sorted(agents.proxies) == [1, 3]
    agents.unreachable = set()
    await reconcile(serving)
    assert sorted(agents.proxies) == [1, 2, 3]


async def test_a_failed_endpoint_and_its_recovery_are_recorded(
    console: Console, serving: Endpoints, agents: FakeAgents
) -> None:
    agents.proxy_failures = {1: "port 12000 is in use"}
    failed = await serving.serve(1)
    assert failed == {1: "port 12000 is in use", 2: "port 12000 is in use"}
    assert "port 12000 of node 1 (and on 1 more nodes)" in endpoints.unavailable_message(12000, failed)
    agents.proxy_failures = {}
    await reconcile(serving)
    async with console.store.read() as session:
        page = await events.page(session, newest_first=False)
        endpoint_events = [event.type for event in page if event.type.startswith("endpoint_")]
        row = await nodes.by_uid(session, 1)
    assert endpoint_events == ["endpoint_down"] * 2 + ["endpoint_up"] * 2
    assert row is not None
    assert (row.proxy["state"], row.proxy["failures"]) == ("running", {})


async def test_an_endpoint_of_a_deleted_database_is_closed(
    console: Console, serving: Endpoints, agents: FakeAgents
) -> None:
    await reconcile(serving)
    async with console.store.begin() as session:
        row = await bdbs.by_uid(session, 1)
        assert row is not None
        row.status = "delete-pending"
    await reconcile(serving)
    assert agents.proxies[1].databases == []


async def test_a_single_endpoint_moves_when_its_node_is_down(
    console: Console, serving: Endpoints, agents: FakeAgents
) -> None:
    async with console.store.begin() as session:
        row = await bdbs.by_uid(session, 1)
        assert row is not None
        row.config = {**row.config, "proxy_policy": "single", "oss_cluster": False}
    await reconcile(serving)
    assert proxy_database(agents, 1).hides_cluster
    assert agents.proxies[2].databases == []
    async with console.store.begin() as session:
        node = await nodes.by_uid(session, 1)
        assert node is not None
        node.health, node.agent_status = "down", "lost"
        for shard in await shards.list_all(session):
            if shard.node_uid == 1:
                shard.observed_status = "down"
    await reconcile(serving)
    assert proxy_database(agents, 2).port == 12000


async def test_the_threads_of_a_node_are_sent(console: Console, serving: Endpoints, agents: FakeAgents) -> None:
    async with console.store.begin() as session:
        node = await nodes.by_uid(session, 1)
        assert node is not None
        node.config = {**node.config, "proxy_threads": 5}
    await reconcile(serving)
    assert agents.proxies[1].threads == 5
    assert agents.proxies[2].threads == 1


async def bind_to_node(console: Console, node_uid: int) -> None:
    """Give database 1 a single address, on this node."""
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, 1)
        bdb.config = {**bdb.config, "proxy_policy": "single"}
        bdb.endpoint_nodes = [node_uid]


async def enter_maintenance(console: Console, node_uid: int) -> None:
    """Put the node into maintenance, and make its primaries replicas."""
    async with console.store.begin() as session:
        (await session.get_one(Node, node_uid)).duty = "maintenance"
        for shard in await shards.list_for_node(session, node_uid):
            partner = next(
                each for each in await shards.list_for_bdb(session, 1) if each.pair == shard.pair and each is not shard
            )
            shard.role, partner.role = "slave", "master"


async def event_messages(console: Console, type_: str) -> list[str]:
    async with console.store.read() as session:
        return [event.description for event in await events.page(session, newest_first=False) if event.type == type_]


async def endpoint_state(console: Console) -> tuple[list[int], dict[str, str]]:
    async with console.store.read() as session:
        bdb = await session.get_one(Bdb, 1)
        return bdb.endpoint_nodes, bdb.endpoint_retiring


async def test_an_address_stays_on_a_node_without_shards(
    console: Console, serving: Endpoints, agents: FakeAgents
) -> None:
    await bind_to_node(console, 3)
    await reconcile(serving)
    assert await endpoint_state(console) == ([3], {})
    assert [shard.uid for shard in proxy_database(agents, 3).shards] == [1, 2, 3, 4]


async def test_a_moved_address_is_reported_and_both_addresses_answer(
    console: Console, serving: Endpoints, agents: FakeAgents
) -> None:
    await bind_to_node(console, 1)
    await enter_maintenance(console, 1)
    await reconcile(serving)
    bound_nodes, retiring = await endpoint_state(console)
    assert (bound_nodes, list(retiring)) == ([2], ["1"])
    [moved] = await event_messages(console, "endpoint_moved")
    assert moved.startswith(
        "Clients of shop must change from 10.0.0.1:12000 to 10.0.0.2:12000: the old address responds for another 10 min"
    )
    assert [end.address for end in proxy_database(agents, 2).endpoints] == ["10.0.0.2"]
    assert [end.address for end in proxy_database(agents, 1).endpoints] == ["10.0.0.2", "10.0.0.1"]
    restarted = Endpoints(console.store, console.bus, agents)  # a restarted console
    await reconcile(restarted)
    assert await endpoint_state(console) == (bound_nodes, retiring)
    assert proxy_database(agents, 1).uid == 1


async def test_a_retiring_address_ends_after_its_time(console: Console, serving: Endpoints, agents: FakeAgents) -> None:
    await bind_to_node(console, 1)
    await enter_maintenance(console, 1)
    await reconcile(serving)
    async with console.store.begin() as session:
        (await session.get_one(Bdb, 1)).endpoint_retiring = {"1": datetime.now(UTC).isoformat()}
    await reconcile(serving)
    assert await endpoint_state(console) == ([2], {})
    assert agents.proxies[1].databases == []
    assert await event_messages(console, "endpoint_ended") == [
        "The old address 10.0.0.1:12000 of shop is no longer available."
    ]


async def test_a_retiring_address_ends_when_its_node_is_removed(
    console: Console, serving: Endpoints, agents: FakeAgents
) -> None:
    await bind_to_node(console, 1)
    await enter_maintenance(console, 1)
    await reconcile(serving)
    async with console.store.begin() as session:
        for shard in await shards.list_for_node(session, 1):
            await session.delete(shard)
        await session.delete(await session.get_one(Node, 1))
    await reconcile(serving)
    assert await endpoint_state(console) == ([2], {})
    assert len(await event_messages(console, "endpoint_ended")) == 1
