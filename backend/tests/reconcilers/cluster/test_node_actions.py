"""After the removal of a node, no certificate or key of the node gives access."""

from datetime import UTC, datetime, timedelta

import pytest
from backend.tests.reconcilers.databases.test_shard_certificates import stored_certificates
from backend.tests.reconcilers.loop_helpers import ADMIN, create_active_database, running_loops, shard_rows
from backend.tests.support.real_shards import wait_until

from shardboard.agent.cluster import key_generation
from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.reconcilers.cluster.agent_certificates import AgentCertificatesLoop
from shardboard.services.cluster import node_actions as service
from shardboard.state.alerting import events
from shardboard.state.cluster import agent_certificates, nodes

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]

NOW = datetime.now(UTC)


async def remove(console: Console, uid: int) -> None:
    async with console.store.begin() as session:
        await service.remove(session, uid, ADMIN)

    async def is_removed() -> bool:
        async with console.store.read() as session:
            return await nodes.by_uid(session, uid) is None

    async with running_loops(console):
        await wait_until(is_removed)


async def test_certificates_of_a_removed_node_are_refused_and_cas_replaced(
    console: Console, agents: FakeAgents
) -> None:
    single_shard = {"shards_count": 1, "sharding": False, "replication": False}
    uid = await create_active_database(console, **single_shard)
    unencrypted = await create_active_database(console, "unencrypted", data_internode_encryption=False, **single_shard)
    used_nodes = {row.node_uid for each in (uid, unencrypted) for row in await shard_rows(console, each)}
    removed_node = max({1, 2, 3} - used_nodes)
    agents.requests = {removed_node: key_generation.generate()[1]}
    agents.valid_until = {removed_node: NOW + timedelta(days=1)}
    loop = AgentCertificatesLoop(console.store, console.bus, agents, console.ca)
    await loop.check(NOW)  # this renews the certificate, so the node has had two
    await remove(console, removed_node)
    async with console.store.read() as session:
        refused = await agent_certificates.revoked_serials(session)
        assert {f"{removed_node:x}", agents.serials[removed_node]} == refused
        [event] = [each for each in await events.page(session, newest_first=False) if each.type == "node_removed"]
    assert event.description.endswith("The 1 encrypted database will no longer trust its certificates.")
    assert (await stored_certificates(console, uid)).replacement_step == "announced"
    assert (await stored_certificates(console, uid)).removed_addresses != ""
    with pytest.raises(AssertionError):
        await stored_certificates(console, unencrypted)
    assert not console.ca.reject_certificates(set()), "the loop has not refused it yet"
    await loop.reject_removed()
    assert not console.ca.reject_certificates(refused), "the loop has already refused it"


async def test_a_node_removed_during_a_renewal_gets_no_certificate(console: Console, agents: FakeAgents) -> None:
    agents.requests = {3: key_generation.generate()[1]}
    agents.valid_until = {3: NOW + timedelta(days=1)}
    loop = AgentCertificatesLoop(console.store, console.bus, agents, console.ca)
    original = agents.request_certificate

    async def remove_node_first(node: object) -> str:
        await remove(console, 3)
        return await original(node)  # type: ignore[arg-type]

    agents.request_certificate = remove_node_first  # type: ignore[method-assign,assignment]
    await loop.check(NOW)
    assert agents.accepted_certificates == []
    async with console.store.read() as session:
        assert not [
            each for each in await events.page(session, newest_first=False) if each.type == "node_certificate_failed"
        ]
