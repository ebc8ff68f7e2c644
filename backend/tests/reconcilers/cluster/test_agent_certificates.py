"""Certificates of agents are renewed in time and once, and failures are reported."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from shardboard.agent.cluster import key_generation
from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.pki.tls import CA_DAYS, PEER_DAYS
from shardboard.reconcilers.cluster import agent_certificates
from shardboard.reconcilers.cluster.agent_certificates import AgentCertificatesLoop
from shardboard.state.alerting import events
from shardboard.state.cluster import nodes

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]

NOW = datetime.now(UTC)
REQUEST = key_generation.generate()[1]


@pytest.fixture
def loop(console: Console, agents: FakeAgents) -> AgentCertificatesLoop:
    agents.requests = dict.fromkeys((1, 2, 3), REQUEST)
    return AgentCertificatesLoop(console.store, console.bus, agents, console.ca)


async def event_messages(console: Console, name: str) -> list[str]:
    async with console.store.read() as session:
        return [each.description for each in await events.page(session, newest_first=False) if each.type == name]


async def set_agent_status(console: Console, uid: int, agent_status: str) -> None:
    async with console.store.begin() as session:
        node = await nodes.by_uid(session, uid)
        assert node is not None
        node.agent_status = agent_status


async def test_due_certificates_are_renewed(console: Console, agents: FakeAgents, loop: AgentCertificatesLoop) -> None:
    """Certificates are due if they expire soon or have the long validity of earlier releases."""
    agents.valid_until = {
        1: NOW + timedelta(days=PEER_DAYS * 2 // 3, hours=1),
        2: NOW + timedelta(days=PEER_DAYS * 2 // 3),
        3: NOW + timedelta(days=CA_DAYS),
    }
    await loop.check(NOW)
    certificates = dict(agents.accepted_certificates)  # renewals run concurrently, in any order
    assert (sorted(certificates), len(agents.accepted_certificates)) == ([2, 3], 2)
    certificate = x509.load_pem_x509_certificate(certificates[2].encode())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    async with console.store.read() as session:
        node = await nodes.by_uid(session, 2)
        assert node is not None
        assert [str(name.value) for name in names] == [node.addr]
    good_until = f"is valid until {datetime.now(UTC) + timedelta(days=PEER_DAYS):%Y-%m-%d}"
    assert [good_until in each for each in await event_messages(console, "node_certificate_renewed")] == [True, True]
    await loop.check(NOW)
    assert len(agents.accepted_certificates) == 2


async def test_certificates_are_checked_on_connect_and_every_hour(
    console: Console, agents: FakeAgents, loop: AgentCertificatesLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def checks() -> list[int]:
        return sorted(uid for call, uid in agents.calls if call == "read_certificate")

    await set_agent_status(console, 3, "unreachable")
    await loop.check(NOW)
    assert checks() == [1, 2]
    await set_agent_status(console, 3, "connected")
    await loop.check(NOW)
    assert checks() == [1, 2, 3]
    await loop.check(NOW)
    assert checks() == [1, 2, 3]
    monkeypatch.setattr(agent_certificates, "CHECK_SECONDS", -1.0)
    await loop.check(NOW)
    assert checks() == [1, 1, 2, 2, 3, 3]


async def test_an_unreachable_agent_is_renewed_the_next_time(
    console: Console, agents: FakeAgents, loop: AgentCertificatesLoop
) -> None:
    agents.valid_until = {1: NOW + timedelta(days=1)}
    agents.unreachable = {1}
    await loop.check(NOW)
    assert agents.accepted_certificates == []
    agents.unreachable = set()
    await loop.check(NOW)
    assert [uid for uid, _ in agents.accepted_certificates] == [1]
    assert await event_messages(console, "node_certificate_failed") == []


async def test_agents_of_the_previous_release_keep_their_certificates(
    console: Console, agents: FakeAgents, loop: AgentCertificatesLoop
) -> None:
    agents.valid_until, agents.requests = {1: NOW + timedelta(days=CA_DAYS)}, {}
    await loop.check(NOW)
    assert await event_messages(console, "node_certificate_failed") == []


async def test_each_different_failure_is_reported_once(
    console: Console, agents: FakeAgents, loop: AgentCertificatesLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_certificates, "CHECK_SECONDS", -1.0)
    agents.valid_until = {1: NOW + timedelta(days=1)}
    agents.refusals[1] = "its disk is full"
    for _ in range(2):
        await loop.check(NOW)
    [message] = await event_messages(console, "node_certificate_failed")
    assert "its disk is full" in message
    agents.requests[1] = "nonsense"
    await loop.check(NOW)
    assert "request is not readable" in (await event_messages(console, "node_certificate_failed"))[1]
    agents.requests[1], agents.refusals = REQUEST, {}
    await loop.check(NOW)
    assert len(await event_messages(console, "node_certificate_renewed")) == 1
    agents.valid_until[1], agents.refusals[1] = NOW + timedelta(days=1), "its disk is full"
    await loop.check(NOW)
    assert len(await event_messages(console, "node_certificate_failed")) == 3


async def test_a_certificate_that_is_accepted_but_not_served_is_a_failure(
    console: Console, agents: FakeAgents, loop: AgentCertificatesLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def accept_only(*_: object) -> None:
        pass

    monkeypatch.setattr(agents, "install_certificate", accept_only)
    agents.valid_until = {1: NOW + timedelta(days=1)}
    await loop.check(NOW)
    [message] = await event_messages(console, "node_certificate_failed")
    assert "still serves another one" in message


async def test_an_agent_that_fails_unexpectedly_does_not_delay_others(
    console: Console, agents: FakeAgents, loop: AgentCertificatesLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = agents.request_certificate

    async def misbehave(node: NodeRef) -> str:
        if node.uid == 1:
            raise LookupError("whatever")
        if node.uid == 2:
            await asyncio.Event().wait()
        return await original(node)

    monkeypatch.setattr(agents, "request_certificate", misbehave)
    monkeypatch.setattr(agent_certificates, "RENEWAL_TIMEOUT_SECONDS", 2.0)
    agents.valid_until = dict.fromkeys((1, 2, 3), NOW + timedelta(days=1))
    await loop.check(NOW)
    assert [uid for uid, _ in agents.accepted_certificates] == [3]
    messages = sorted(await event_messages(console, "node_certificate_failed"))
    assert "of node 1 was not renewed: see the console's log." in messages[0]
    assert "of node 2 was not renewed: it takes longer than " in messages[1]


async def test_a_node_removed_during_the_renewal_gets_no_certificate(
    console: Console, agents: FakeAgents, loop: AgentCertificatesLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = agents.request_certificate

    async def remove_node_first(node: NodeRef) -> str:
        async with console.store.begin() as session:
            row = await nodes.by_uid(session, node.uid)
            assert row is not None
            await session.delete(row)
        return await original(node)

    monkeypatch.setattr(agents, "request_certificate", remove_node_first)
    agents.valid_until = {1: NOW + timedelta(days=1)}
    await loop.check(NOW)
    assert agents.accepted_certificates == []
