"""Certificates of agents are renewed in time, once, and what stands in the way is told."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from shardboard.agent import key
from shardboard.console import Console
from shardboard.driver.fake import FakeAgents
from shardboard.driver.ports import NodeRef
from shardboard.reconcilers import agent_certificates
from shardboard.reconcilers.agent_certificates import AgentCertificatesLoop
from shardboard.state import events, nodes
from shardboard.tls import CA_DAYS, PEER_DAYS

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]

NOW = datetime.now(UTC)
REQUEST = key.fresh()[1]


@pytest.fixture
def loop(console: Console, agents: FakeAgents) -> AgentCertificatesLoop:
    agents.requests = dict.fromkeys((1, 2, 3), REQUEST)
    return AgentCertificatesLoop(console.store, console.bus, agents, console.authority)


async def told(console: Console, name: str) -> list[str]:
    async with console.store.read() as session:
        return [each.description for each in await events.page(session, newest_first=False) if each.type == name]


async def status(console: Console, uid: int, agent_status: str) -> None:
    async with console.store.begin() as session:
        node = await nodes.by_uid(session, uid)
        assert node is not None
        node.agent_status = agent_status


async def test_the_ones_that_are_due_are_renewed(
    console: Console, agents: FakeAgents, loop: AgentCertificatesLoop
) -> None:
    """Those that are going to end, and those of earlier releases."""
    agents.ends = {
        1: NOW + timedelta(days=PEER_DAYS * 2 // 3, hours=1),
        2: NOW + timedelta(days=PEER_DAYS * 2 // 3),
        3: NOW + timedelta(days=CA_DAYS),
    }
    await loop.look(NOW)
    given = dict(agents.given)  # side by side, in whichever order
    assert (sorted(given), len(agents.given)) == ([2, 3], 2)
    certificate = x509.load_pem_x509_certificate(given[2].encode())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    async with console.store.read() as session:
        node = await nodes.by_uid(session, 2)
        assert node is not None
        assert [str(name.value) for name in names] == [node.addr]
    good_until = f"is valid until {datetime.now(UTC) + timedelta(days=PEER_DAYS):%Y-%m-%d}"
    assert [good_until in each for each in await told(console, "node_certificate_renewed")] == [True, True]
    await loop.look(NOW)
    assert len(agents.given) == 2


async def test_who_connects_is_looked_at_and_others_after_an_hour(
    console: Console, agents: FakeAgents, loop: AgentCertificatesLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def looks() -> list[int]:
        return sorted(uid for call, uid in agents.calls if call == "look_at_certificate")

    await status(console, 3, "unreachable")
    await loop.look(NOW)
    assert looks() == [1, 2]
    await status(console, 3, "connected")
    await loop.look(NOW)
    assert looks() == [1, 2, 3]
    await loop.look(NOW)
    assert looks() == [1, 2, 3]
    monkeypatch.setattr(agent_certificates, "LOOK_AGAIN", -1.0)
    await loop.look(NOW)
    assert looks() == [1, 1, 2, 2, 3, 3]


async def test_who_cannot_be_asked_now_is_asked_the_next_time(
    console: Console, agents: FakeAgents, loop: AgentCertificatesLoop
) -> None:
    agents.ends = {1: NOW + timedelta(days=1)}
    agents.unreachable = {1}
    await loop.look(NOW)
    assert agents.given == []
    agents.unreachable = set()
    await loop.look(NOW)
    assert [uid for uid, _ in agents.given] == [1]
    assert await told(console, "node_certificate_failed") == []


async def test_agents_of_the_release_before_keep_theirs(
    console: Console, agents: FakeAgents, loop: AgentCertificatesLoop
) -> None:
    agents.ends, agents.requests = {1: NOW + timedelta(days=CA_DAYS)}, {}
    await loop.look(NOW)
    assert await told(console, "node_certificate_failed") == []


async def test_a_failure_is_told_once_and_again_when_it_is_another_one(
    console: Console, agents: FakeAgents, loop: AgentCertificatesLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_certificates, "LOOK_AGAIN", -1.0)
    agents.ends = {1: NOW + timedelta(days=1)}
    agents.refuse[1] = "its disk is full"
    for _ in range(2):
        await loop.look(NOW)
    [sentence] = await told(console, "node_certificate_failed")
    assert "its disk is full" in sentence
    agents.requests[1] = "nonsense"
    await loop.look(NOW)
    assert "request is not readable" in (await told(console, "node_certificate_failed"))[1]
    agents.requests[1], agents.refuse = REQUEST, {}
    await loop.look(NOW)
    assert len(await told(console, "node_certificate_renewed")) == 1
    agents.ends[1], agents.refuse[1] = NOW + timedelta(days=1), "its disk is full"
    await loop.look(NOW)
    assert len(await told(console, "node_certificate_failed")) == 3


async def test_one_that_was_taken_and_is_not_shown(
    console: Console, agents: FakeAgents, loop: AgentCertificatesLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def shrug(*_: object) -> None:
        pass

    monkeypatch.setattr(agents, "give_certificate", shrug)
    agents.ends = {1: NOW + timedelta(days=1)}
    await loop.look(NOW)
    [sentence] = await told(console, "node_certificate_failed")
    assert "still serves another one" in sentence


async def test_one_that_breaks_every_promise_holds_nobody_else_up(
    console: Console, agents: FakeAgents, loop: AgentCertificatesLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = agents.request_certificate

    async def odd(node: NodeRef) -> str:
        if node.uid == 1:
            raise LookupError("whatever")
        if node.uid == 2:
            await asyncio.Event().wait()
        return await ask(node)

    monkeypatch.setattr(agents, "request_certificate", odd)
    monkeypatch.setattr(agent_certificates, "MOST_SECONDS", 0.5)
    agents.ends = dict.fromkeys((1, 2, 3), NOW + timedelta(days=1))
    await loop.look(NOW)
    assert [uid for uid, _ in agents.given] == [3]
    sentences = sorted(await told(console, "node_certificate_failed"))
    assert "of node 1 was not renewed: see the console's log." in sentences[0]
    assert "of node 2 was not renewed: it takes longer than " in sentences[1]


async def test_a_node_that_is_removed_meanwhile_gets_none(
    console: Console, agents: FakeAgents, loop: AgentCertificatesLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = agents.request_certificate

    async def slowly(node: NodeRef) -> str:
        async with console.store.begin() as session:
            row = await nodes.by_uid(session, node.uid)
            assert row is not None
            await session.delete(row)
        return await ask(node)

    monkeypatch.setattr(agents, "request_certificate", slowly)
    agents.ends = {1: NOW + timedelta(days=1)}
    await loop.look(NOW)
    assert agents.given == []
