"""Replacement of the console CA: every agent is updated, and the former CA is removed only when it is no longer used."""

import asyncio
from datetime import UTC, datetime
from ipaddress import ip_network

import pytest
from backend.tests.support.certificates import create_root_ca, sign_intermediate_ca
from backend.tests.support.real_shards import wait_until
from cryptography import x509
from sqlalchemy import event
from sqlalchemy.orm import Session

from shardboard.agent.cluster import key_generation
from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.errors import AgentRefused, Conflict
from shardboard.pki.console_ca import ConsoleCa
from shardboard.pki.server_certificate import ServerCertificate
from shardboard.reconcilers.cluster.agent_certificates import AgentCertificatesLoop
from shardboard.reconcilers.cluster.console_ca import ConsoleCaLoop
from shardboard.reconcilers.cluster.trust_distribution import TrustDistribution
from shardboard.services.access.authorization import Principal
from shardboard.services.cluster import console_ca as service
from shardboard.state.alerting import events
from shardboard.state.cluster import console_certificates as certificates
from shardboard.state.cluster import nodes

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]

ADMIN = Principal("admin@example.org", "admin")
REQUEST = key_generation.generate()[1]


class Loops:
    """The two loops of a console that distribute CAs and renew agent certificates."""

    def __init__(self, console: Console, authority: ConsoleCa) -> None:
        trust = TrustDistribution(console.store, console.agents, authority)
        self._distribution = ConsoleCaLoop(console.store, console.bus, authority, trust)
        self._renewal = AgentCertificatesLoop(console.store, console.bus, console.agents, authority)

    async def run_once(self) -> None:
        await self._renewal.check(datetime.now(UTC))
        await self._distribution.advance()


@pytest.fixture
def loops(console: Console, agents: FakeAgents) -> Loops:
    agents.requests = dict.fromkeys((1, 2, 3), REQUEST)
    agents.signing_keys = dict.fromkeys((1, 2, 3), console.ca.current.key_id)
    return Loops(console, console.ca)


async def set_agent_status(console: Console, uid: int, agent_status: str) -> None:
    async with console.store.begin() as session:
        node = await nodes.by_uid(session, uid)
        assert node is not None
        node.agent_status = agent_status


async def announce(console: Console) -> None:
    async with console.store.begin() as session:
        await service.announce(session, console.ca, ADMIN, "")


async def switch(console: Console) -> None:
    async with console.store.begin() as session:
        await service.switch(session, console.ca, ADMIN)


async def pending_reasons(console: Console) -> dict[int, str]:
    """Return by node uid why the replacement waits for it; empty if it does not."""
    async with console.store.read() as session:
        return {node.uid: reason for node, reason in await service.blocking_reasons(session, console.ca)}


async def ca_event_types(console: Console) -> list[str]:
    async with console.store.read() as session:
        return [each.type for each in await events.page(session, newest_first=False) if "authority" in each.type]


def disk_full(*_: object) -> None:
    raise OSError(28, "No space left on device")


async def test_a_replacement_runs_from_announcement_to_the_end(
    console: Console, agents: FakeAgents, loops: Loops
) -> None:
    ca, before = console.ca, console.ca.current
    await loops.run_once()
    assert agents.trusted_cas == dict.fromkeys((1, 2, 3), before.pem)
    await announce(console)
    with pytest.raises(Conflict, match=r"node 1: its agent does not trust the new CA yet; node 2: .*; node 3: "):
        await switch(console)
    await loops.run_once()
    after = ca.next_ca
    assert after is not None
    assert agents.trusted_cas == dict.fromkeys((1, 2, 3), before.pem + after.pem)
    await switch(console)
    await loops.run_once()
    assert sorted(uid for uid, _ in agents.accepted_certificates) == [1, 2, 3]
    for _, certificate in agents.accepted_certificates:
        x509.load_pem_x509_certificate(certificate.encode()).verify_directly_issued_by(after.certificate)
    assert ca.step == ""
    assert agents.trusted_cas == dict.fromkeys((1, 2, 3), after.pem)
    assert await ca_event_types(console) == ["authority_announced", "authority_switched", "authority_forgotten"]
    calls = len(agents.calls)
    await loops.run_once()
    assert len(agents.calls) == calls, "nothing is left to do"


async def test_an_unreachable_node_is_waited_for_in_both_steps(
    console: Console, agents: FakeAgents, loops: Loops
) -> None:
    ca = console.ca
    await set_agent_status(console, 3, "unreachable")
    await announce(console)
    await loops.run_once()
    with pytest.raises(
        Conflict, match="node 3: its agent is not connected: reconnect it, or remove the node"
    ) as refusal:
        await switch(console)
    assert "node 1" not in str(refusal.value)
    await set_agent_status(console, 3, "connected")
    await loops.run_once()
    await switch(console)
    await set_agent_status(console, 2, "unreachable")
    await loops.run_once()
    assert ca.former is not None
    reasons = await pending_reasons(console)
    assert (reasons[1], reasons[3]) == ("", "")
    assert "not connected" in reasons[2]
    assert ca.former.pem in agents.trusted_cas[1], "node 2 serves a certificate of the former CA"
    await set_agent_status(console, 2, "connected")
    await loops.run_once()
    assert ca.former is None
    assert {*agents.trusted_cas.values()} == {ca.current.pem}


async def test_a_removed_node_is_not_waited_for(console: Console, loops: Loops) -> None:
    await announce(console)
    await loops.run_once()
    await switch(console)
    await set_agent_status(console, 2, "unreachable")
    await loops.run_once()
    assert console.ca.former is not None
    async with console.store.begin() as session:
        await session.delete(await nodes.by_uid(session, 2))
    await loops.run_once()
    assert console.ca.former is None


async def test_a_reconnected_agent_gets_the_cas_again(console: Console, agents: FakeAgents, loops: Loops) -> None:
    """The agent may have joined again with another state directory."""
    await loops.run_once()
    for agent_status in ("unreachable", "connected"):
        await set_agent_status(console, 1, agent_status)
        agents.trusted_cas.pop(1, None)
        await loops.run_once()
    assert agents.trusted_cas[1] == console.ca.trusted
    assert [uid for call, uid in agents.calls if call == "set_trusted_cas"].count(2) == 1


async def test_an_agent_that_refuses_is_named(console: Console, agents: FakeAgents, loops: Loops) -> None:
    agents.refusals[1] = "its disk is full"
    await announce(console)
    await loops.run_once()
    with pytest.raises(Conflict, match="node 1: its disk is full"):
        await switch(console)
    agents.refusals.clear()
    await loops.run_once()
    await switch(console)


@pytest.mark.parametrize("step", range(5))
async def test_a_killed_console_continues_the_replacement(
    console: Console, agents: FakeAgents, loops: Loops, step: int
) -> None:
    """The new console has only the store and does not know what was sent to the agents."""

    async def restarted(number: int, running: Loops) -> Loops:
        if number != step:
            return running
        async with console.store.read() as session:
            state = await certificates.find(session)
        assert state is not None
        console.ca = ConsoleCa(state, console.settings)
        console.certificate = ServerCertificate(console.ca, console.settings)
        return Loops(console, console.ca)

    loops = await restarted(0, loops)
    await announce(console)
    loops = await restarted(1, loops)
    await loops.run_once()
    loops = await restarted(2, loops)
    await loops.run_once()
    await switch(console)
    loops = await restarted(3, loops)
    await loops.run_once()
    loops = await restarted(4, loops)
    await loops.run_once()
    assert console.ca.step == ""
    assert {*agents.trusted_cas.values()} == {console.ca.current.pem}
    assert {*agents.signing_keys.values()} == {console.ca.current.key_id}


async def test_a_failing_store_leaves_everything_unchanged(
    console: Console, loops: Loops, monkeypatch: pytest.MonkeyPatch
) -> None:
    await announce(console)
    await loops.run_once()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = console.ca.state
    event.listen(Session, "before_commit", fail)
    try:
        with pytest.raises(OSError, match="No space left on device"):
            await switch(console)
    finally:
        event.remove(Session, "before_commit", fail)
    assert console.ca.state is before
    async with console.store.read() as session:
        stored = await certificates.find(session)
    assert stored is not None
    assert stored.stored == before.stored
    assert await ca_event_types(console) == ["authority_announced"]


async def test_the_loops_complete_the_replacement_on_their_own(
    console: Console, agents: FakeAgents, loops: Loops
) -> None:
    """From the switch to the end, no further request is needed."""
    await announce(console)
    await loops.run_once()
    distribution = ConsoleCaLoop(console.store, console.bus, console.ca, console.trust)
    renewal = AgentCertificatesLoop(console.store, console.bus, agents, console.ca)
    tasks = [asyncio.create_task(each.run()) for each in (distribution, renewal)]
    await switch(console)
    await wait_until(lambda: not console.ca.step)
    for task in tasks:
        task.cancel()


async def test_the_former_ca_is_kept_while_the_console_serves_its_certificate(
    console: Console, loops: Loops, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its disk is full, so it keeps its certificate. Agents that trust only the new CA would reject it."""
    await announce(console)
    await loops.run_once()

    monkeypatch.setattr("shardboard.pki.console_ca.write_private", disk_full)
    await switch(console)
    await loops.run_once()
    assert console.ca.step == "served"
    monkeypatch.undo()
    console.ca.renew()
    await loops.run_once()
    assert console.ca.step == ""


async def test_an_agent_that_refuses_the_final_cas_is_reported_once(
    console: Console, agents: FakeAgents, loops: Loops
) -> None:
    await announce(console)
    await loops.run_once()
    await switch(console)
    original = agents.set_trusted_cas

    async def refusing(node: NodeRef, certificates: str, bundle: str) -> None:
        if node.uid == 2 and certificates == console.ca.current.pem:
            raise AgentRefused("its disk is full")
        await original(node, certificates, bundle)

    agents.set_trusted_cas = refusing  # type: ignore[method-assign]
    for _ in range(3):
        await loops.run_once()
    assert console.ca.step == ""
    assert await pending_reasons(console) == {1: "", 2: "its disk is full", 3: ""}
    async with console.store.read() as session:
        failures = [
            each for each in await events.page(session, newest_first=False) if each.type == "node_authorities_failed"
        ]
    assert [(each.node_uid, each.severity) for each in failures] == [(2, "ERROR")], "once"
    agents.set_trusted_cas = original  # type: ignore[method-assign]
    await loops.run_once()
    assert agents.trusted_cas[2] == console.ca.trusted


async def test_an_agent_that_cannot_renew_is_named_and_retried(
    console: Console, agents: FakeAgents, loops: Loops
) -> None:
    await announce(console)
    await loops.run_once()
    await switch(console)
    del agents.requests[3]
    agents.requests[2] = "nonsense"
    await loops.run_once()
    reasons = await pending_reasons(console)
    assert "request is not readable" in reasons[2]
    assert reasons[3] == "its agent serves a certificate of the previous CA"
    agents.requests = dict.fromkeys((1, 2, 3), REQUEST)
    await set_agent_status(console, 3, "unreachable")
    await loops.run_once()
    await set_agent_status(console, 3, "connected")
    await loops.run_once()
    assert console.ca.step == ""


async def test_an_agent_that_fails_unexpectedly_does_not_delay_others(
    console: Console, agents: FakeAgents, loops: Loops
) -> None:
    original = agents.set_trusted_cas

    async def misbehave(node: NodeRef, certificates: str, bundle: str) -> None:
        if node.uid == 1:
            raise LookupError("whatever")
        await original(node, certificates, bundle)

    agents.set_trusted_cas = misbehave  # type: ignore[method-assign]
    await loops.run_once()
    assert sorted(agents.trusted_cas) == [2, 3]


async def test_a_ca_that_cannot_sign_for_all_nodes_is_rejected(
    console: Console, agents: FakeAgents, loops: Loops
) -> None:
    """The node changed its address after the CA was announced."""
    ca = console.ca
    async with console.store.begin() as session:
        request = await service.create_signing_request(session, ca, ADMIN, "", "")
        chain = sign_intermediate_ca(
            create_root_ca(), request.key, x509.NameConstraints(None, [x509.IPAddress(ip_network("10.9.0.0/16"))])
        ).pem
        await service.announce(session, ca, ADMIN, chain)
    async with console.store.begin() as session:
        node = await nodes.by_uid(session, 3)
        assert node is not None
        node.addr = "10.9.0.1"
    await loops.run_once()
    with pytest.raises(Conflict, match=r"for 10\.9\.0\.1 are rejected: excluded subtree violation"):
        await switch(console)
