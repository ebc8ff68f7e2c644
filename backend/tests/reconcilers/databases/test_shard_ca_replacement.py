"""Replacement of the CA of a database's shards: all parties trust each other at every step, and only the new CA at the end."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from backend.tests.reconcilers.databases.test_shard_certificates import LATER, stored_certificates
from backend.tests.reconcilers.loop_helpers import (
    ADMIN,
    Gate,
    GatedAgents,
    GatedStore,
    create_active_database,
    events_of_bdb,
    shard_rows,
)
from backend.tests.support.case_sampling import Sampling
from cryptography import x509

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import ShardTls
from shardboard.pki.shard_certificates import ShardCertificates, replace_cas
from shardboard.reconcilers.databases import shard_ca_replacement
from shardboard.reconcilers.databases.endpoints import Endpoints
from shardboard.reconcilers.databases.shard_certificates import CertificatesLoop
from shardboard.services.cluster import certificates as service
from shardboard.state.cluster import nodes
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.store.db import Store

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


def loop_of(console: Console, agents: Any, store: Store | None = None) -> CertificatesLoop:
    store = store or console.store
    return CertificatesLoop(store, console.bus, agents, Endpoints(store, console.bus, agents))


async def request_replacement(console: Console) -> None:
    async with console.store.begin() as session:
        await service.replace_cas(session, ADMIN)


async def run_step(loop: CertificatesLoop) -> None:
    await loop.distribute()
    await loop.advance()


async def finish_replacement(console: Console, loop: CertificatesLoop, uid: int) -> ShardCertificates:
    while (certificates := await stored_certificates(console, uid)).replacement_step:
        await run_step(loop)
        assert await stored_certificates(console, uid) != certificates, "every run is a step if all nodes are reachable"
    return certificates


async def mark_shards_ok(console: Console, uid: int) -> None:
    """Mark the shards of the database as running, as the first samples after their start do."""
    async with console.store.begin() as session:
        for row in await shards.list_all(session):
            if row.bdb_uid == uid:
                row.observed_status = "ok"


async def create_served_database(console: Console, agents: FakeAgents) -> int:
    uid = await create_active_database(console)
    await mark_shards_ok(console, uid)
    await Endpoints(console.store, console.bus, agents).serve(uid)
    return uid


def certificates_in_use(agents: FakeAgents, uid: int) -> Iterator[ShardTls]:
    """Yield the TLS settings of each shard of the database and of each proxy that connects to them."""
    for specs in agents.running.values():
        yield from (agents.certificates[spec.uid] for spec in specs.values() if spec.bdb_uid == uid)
    for state in agents.proxies.values():
        for database in state.databases:
            if database.uid == uid and database.shard_tls is not None:
                yield database.shard_tls


def signs(authority: x509.Certificate, certificate: x509.Certificate) -> bool:
    return authority.subject == certificate.issuer


def assert_all_trust_each_other(agents: FakeAgents, uid: int) -> None:
    all_certificates = list(certificates_in_use(agents, uid))
    for first in all_certificates:
        trusted = x509.load_pem_x509_certificates(first.cas.encode())
        for other in all_certificates:
            certificate = x509.load_pem_x509_certificate(other.certificate.encode())
            assert any(signs(ca, certificate) for ca in trusted)


async def test_the_ca_is_replaced_everywhere(console: Console, agents: FakeAgents) -> None:
    uid = await create_served_database(console, agents)
    before = await stored_certificates(console, uid)
    await request_replacement(console)
    loop = loop_of(console, agents)
    steps = []
    while (certificates := await stored_certificates(console, uid)).replacement_step:
        steps.append(certificates.replacement_step)
        await run_step(loop)
        assert_all_trust_each_other(agents, uid)
    assert steps == ["announced", "served", "removed"]
    after = await stored_certificates(console, uid)
    assert after.ca != before.ca
    assert {tls.cas for tls in certificates_in_use(agents, uid)} == {after.ca}
    assert {tls.certificate for tls in certificates_in_use(agents, uid)} == {after.certificate}
    assert (await events_of_bdb(console, uid))[-1].type == "bdb_authority_replaced"
    calls = len(agents.calls)
    await run_step(loop)
    assert len(agents.calls) == calls


async def test_killed_at_every_step_all_trust_each_other(
    console: Console, agents: FakeAgents, sampling: Sampling
) -> None:
    uid = await create_served_database(console, agents)
    for step in sampling.kill_steps(30, 500):
        before = await stored_certificates(console, uid)
        await request_replacement(console)
        gate = Gate(step)
        loop = loop_of(console, GatedAgents(agents, gate), GatedStore(console.store, gate))
        completion = asyncio.create_task(finish_replacement(console, loop, uid))
        await asyncio.wait({completion, asyncio.create_task(gate.reached.wait())}, return_when=asyncio.FIRST_COMPLETED)
        completion.cancel()
        await asyncio.gather(completion, return_exceptions=True)
        assert_all_trust_each_other(agents, uid)
        assert (await finish_replacement(console, loop_of(console, agents), uid)).ca != before.ca
        assert_all_trust_each_other(agents, uid)
        if not gate.reached.is_set():
            return
    raise AssertionError("the operation never completed")


async def test_unreachable_nodes_are_waited_for_but_down_nodes_are_not(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = await create_served_database(console, agents)
    await request_replacement(console)
    loop = loop_of(console, agents)
    await set_node(console, 2, agent_status="unreachable")
    agents.unreachable.add(2)
    await run_step(loop)
    await run_step(loop)
    assert (await stored_certificates(console, uid)).replacement_step == "announced"
    assert (await events_of_bdb(console, uid))[-1].type != "bdb_authority_waits", "not at once"
    monkeypatch.setattr(shard_ca_replacement, "REPORT_AFTER_SECONDS", 0)
    await run_step(loop)
    await run_step(loop)
    messages = [event.description for event in await events_of_bdb(console, uid) if event.type == "bdb_authority_waits"]
    reason = "node 2 has not completed the last step"
    assert messages == [f"The replacement of the shards' CA of shop is waiting: {reason}. It continues automatically."]
    await set_node(console, 2, health="down")
    async with console.store.begin() as session:
        for row in await shards.list_all(session):
            row.observed_status = "down" if row.node_uid == 2 else "ok"
    after = await finish_replacement(console, loop, uid)
    agents.unreachable.clear()
    await set_node(console, 2, health="up", agent_status="connected")
    await loop.distribute()
    assert {agents.certificates[row.uid].cas for row in await shard_rows(console, uid)} == {after.ca}


async def set_node(console: Console, uid: int, **columns: str) -> None:
    async with console.store.begin() as session:
        node = await nodes.by_uid(session, uid)
        assert node is not None
        for name, value in columns.items():
            setattr(node, name, value)


async def test_a_shard_started_with_older_certificates_is_waited_for(console: Console, agents: FakeAgents) -> None:
    uid = await create_served_database(console, agents)
    [late, *_] = await shard_rows(console, uid)
    spec = agents.running[late.node_uid].pop(late.uid)
    async with console.store.begin() as session:
        (await session.merge(late)).observed_status = "unknown"
    await request_replacement(console)
    loop = loop_of(console, agents)
    await run_step(loop)
    assert (await stored_certificates(console, uid)).replacement_step == "announced"
    agents.running[late.node_uid][late.uid] = spec
    await mark_shards_ok(console, uid)
    await finish_replacement(console, loop, uid)
    assert_all_trust_each_other(agents, uid)


async def test_a_shard_restarted_with_older_certificates_is_updated(console: Console, agents: FakeAgents) -> None:
    """Until the restart, its agent keeps the files of the dead shard and confirms each step."""
    uid = await create_served_database(console, agents)
    [lost, *_] = await shard_rows(console, uid)
    before = agents.certificates[lost.uid]
    async with console.store.begin() as session:
        (await session.merge(lost)).observed_status = "down"
    await request_replacement(console)
    loop = loop_of(console, agents)
    after = await finish_replacement(console, loop, uid)
    agents.certificates[lost.uid] = before
    await mark_shards_ok(console, uid)
    await loop.distribute()
    assert agents.certificates[lost.uid].cas == after.ca
    assert_all_trust_each_other(agents, uid)


async def test_the_proxy_of_a_retiring_address_is_updated(console: Console, agents: FakeAgents) -> None:
    uid = await create_served_database(console, agents)
    await request_replacement(console)
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, uid)
        [node_uid] = bdb.endpoint_nodes
        other_node = node_uid % 3 + 1
        bdb.retiring = {other_node: datetime.now(UTC) + timedelta(hours=1)}
    loop = loop_of(console, agents)
    await run_step(loop)
    for node in (other_node, node_uid):
        [database] = agents.proxies[node].databases
        assert database.shard_tls is not None
        assert database.shard_tls.cas.count("BEGIN") == 2
    await set_node(console, other_node, agent_status="unreachable")
    assert (await stored_certificates(console, uid)).replacement_step == "served"
    await run_step(loop)
    await run_step(loop)
    assert (await stored_certificates(console, uid)).replacement_step == "served"
    await set_node(console, other_node, agent_status="connected")
    await finish_replacement(console, loop, uid)
    assert_all_trust_each_other(agents, uid)


async def test_connections_from_a_removed_node_are_closed(console: Console, agents: FakeAgents) -> None:
    uid = await create_served_database(console, agents)
    [first, second, *_] = await shard_rows(console, uid)
    async with console.store.begin() as session:
        replace_cas(await bdbs.list_all(session), "192.0.2.7")
    client_list = (
        "id=3 addr=192.0.2.7:40001 laddr=192.0.2.1:21001 fd=8 name= age=5 flags=S\n"
        "id=4 addr=192.0.2.70:40001 laddr=192.0.2.1:21001 fd=9 name= age=5 flags=N\n"
        "id=5 addr=192.0.2.7:40002 laddr=192.0.2.1:21001 fd=10 name= age=5 flags=N\n"
        "id=6 addr=/run/s:0 laddr=/run/s:0 fd=11 name=id=7 addr=192.0.2.7:1 flags=U\n"
    )
    agents.replies[first.uid, "CLIENT LIST"] = client_list
    agents.replies[second.uid, "CLIENT LIST"] = "id=9 addr=[192.0.2.7]:40001 laddr=192.0.2.1:21001 fd=8\n"
    agents.commands.clear()
    loop = loop_of(console, agents)
    agents.died[second.uid] = "it was killed"
    await run_step(loop)
    await run_step(loop)
    await run_step(loop)
    assert (await stored_certificates(console, uid)).replacement_step == "removed", (
        "one shard does not list its connections"
    )
    agents.died.clear()
    agents.commands.clear()
    certificates = await finish_replacement(console, loop, uid)
    killed = {(shard, argv[-1]) for shard, argv in agents.commands if argv[:3] == ("CLIENT", "KILL", "ID")}
    assert killed == {(first.uid, "3"), (first.uid, "5"), (second.uid, "9")}
    assert certificates.removed_addresses == ""


async def test_connections_of_a_new_node_at_a_removed_address_are_kept(console: Console, agents: FakeAgents) -> None:
    uid = await create_served_database(console, agents)
    [first, *_] = await shard_rows(console, uid)
    async with console.store.begin() as session:
        [joined, *_] = await nodes.list_all(session)
        replace_cas(await bdbs.list_all(session), joined.addr)
    agents.replies[first.uid, "CLIENT LIST"] = f"id=3 addr={joined.addr}:40001 laddr=192.0.2.1:21001 fd=8\n"
    await finish_replacement(console, loop_of(console, agents), uid)
    assert not [argv for _, argv in agents.commands if argv[:2] == ("CLIENT", "KILL")]


async def test_a_ca_that_expires_soon_is_replaced_automatically(console: Console, agents: FakeAgents) -> None:
    uid = await create_served_database(console, agents)
    certificates = await stored_certificates(console, uid)
    expiry = x509.load_pem_x509_certificate(certificates.ca.encode()).not_valid_after_utc
    loop = loop_of(console, agents)
    await loop.renew(expiry - LATER)
    assert (await stored_certificates(console, uid)).replacement_step == "announced"
    assert (await finish_replacement(console, loop, uid)).ca != certificates.ca
