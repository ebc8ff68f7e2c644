"""Certificates of shards are renewed in time and reach every shard, even if a node was unreachable."""

from datetime import UTC, datetime, timedelta

import pytest
from backend.tests.reconcilers.loop_helpers import create_active_database, shard_rows

from shardboard.console import Console
from shardboard.contract import CommandResult, RenewCertificates
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.errors import AgentOutdated
from shardboard.pki.shard_certificates import DAYS, ShardCertificates
from shardboard.reconcilers.databases.endpoints import Endpoints
from shardboard.reconcilers.databases.shard_certificates import CertificatesLoop
from shardboard.state.alerting import events
from shardboard.state.databases import bdbs

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]

LATER = timedelta(days=DAYS - 20)


def loop_of(console: Console, agents: FakeAgents) -> CertificatesLoop:
    return CertificatesLoop(console.store, console.bus, agents, Endpoints(console.store, console.bus, agents))


async def stored_certificates(console: Console, uid: int) -> ShardCertificates:
    async with console.store.read() as session:
        bdb = await bdbs.by_uid(session, uid)
        assert bdb is not None
        assert bdb.shard_certificates is not None
        return ShardCertificates.read(bdb.shard_certificates)


async def installed_certificates(console: Console, agents: FakeAgents, uid: int) -> set[str]:
    return {agents.certificates[row.uid].certificate for row in await shard_rows(console, uid)}


async def test_shards_start_with_the_certificate_of_their_database(console: Console, agents: FakeAgents) -> None:
    uid = await create_active_database(console)
    assert await installed_certificates(console, agents, uid) == {(await stored_certificates(console, uid)).certificate}
    loop = loop_of(console, agents)
    await loop.renew(datetime.now(UTC))
    await loop.distribute()
    assert ("renew_certificates", 1) not in agents.calls
    assert (await stored_certificates(console, uid)).number == 1


async def test_an_expiring_certificate_is_replaced_on_every_shard(console: Console, agents: FakeAgents) -> None:
    uid = await create_active_database(console)
    before = await stored_certificates(console, uid)
    loop = loop_of(console, agents)
    await loop.renew(datetime.now(UTC) + LATER)
    after = await stored_certificates(console, uid)
    assert (after.ca, after.number) == (before.ca, 2)
    await loop.distribute()
    assert await installed_certificates(console, agents, uid) == {after.certificate}
    requests = agents.calls.count(("renew_certificates", 1))
    await loop.distribute()
    assert agents.calls.count(("renew_certificates", 1)) == requests
    async with console.store.read() as session:
        event = await events.newest(session, "bdb_certificate_renewed", bdb_uid=uid)
    assert event is not None
    assert f"{after.valid_until:%Y-%m-%d}" in event.description


async def test_certificates_are_sent_again_after_an_outage_or_restart(console: Console, agents: FakeAgents) -> None:
    uid = await create_active_database(console)
    loop = loop_of(console, agents)
    await loop.renew(datetime.now(UTC) + LATER)
    agents.unreachable.add(2)
    await loop.distribute()
    new_certificate = (await stored_certificates(console, uid)).certificate
    uids_on_node_2 = {row.uid for row in await shard_rows(console, uid) if row.node_uid == 2}
    assert {agents.certificates[shard].certificate for shard in uids_on_node_2} != {new_certificate}
    agents.unreachable.clear()
    await loop.distribute()
    assert await installed_certificates(console, agents, uid) == {new_certificate}
    before = len(agents.calls)
    await loop_of(console, agents).distribute()
    assert len(agents.calls) > before


async def test_an_older_agent_is_reported_once_for_all_databases(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_active_database(console)

    async def renew(node: NodeRef, _request: RenewCertificates) -> list[CommandResult]:
        raise AgentOutdated(f"the agent of node {node.uid} is of an older release; upgrade the agent")

    monkeypatch.setattr(agents, "renew_certificates", renew)
    loop = loop_of(console, agents)
    await loop.renew(datetime.now(UTC) + LATER)
    for _ in range(2):
        await loop.distribute()
    async with console.store.read() as session:
        all_events = await events.list_after(session, 0, datetime.now(UTC) + LATER, 1000)
    failures = [event for event in all_events if event.type == "bdb_certificate_failed"]
    assert {event.severity for event in failures} == {"WARNING"}
    assert len({event.node_uid for event in failures}) == len(failures) > 0
    assert all("upgrade the agent" in event.description for event in failures)


async def test_a_shard_that_refuses_a_certificate_is_retried(console: Console, agents: FakeAgents) -> None:
    uid = await create_active_database(console)
    loop = loop_of(console, agents)
    await loop.renew(datetime.now(UTC) + LATER)
    [first, *_] = await shard_rows(console, uid)
    agents.refusals[first.uid] = "no"
    await loop.distribute()
    await loop.distribute()
    async with console.store.read() as session:
        all_events = await events.list_after(session, 0, datetime.now(UTC) + LATER, 1000)
    [message] = [event.description for event in all_events if event.type == "bdb_certificate_failed"]
    assert f"Shard redis:{first.uid} of" in message
    assert message.endswith("did not accept the new certificate: no. The console retries.")
    agents.refusals.clear()
    await loop.distribute()
    assert await installed_certificates(console, agents, uid) == {(await stored_certificates(console, uid)).certificate}
