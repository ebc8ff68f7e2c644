"""The console's authority is replaced with everybody along: nobody is left behind, and nothing is forgotten too early."""

import asyncio
from datetime import UTC, datetime
from ipaddress import ip_network

import pytest
from backend.tests.certificates import below, root
from backend.tests.shards import until
from cryptography import x509

from shardboard.agent import key
from shardboard.agents_trust import AgentsTrust
from shardboard.authority import Authority
from shardboard.console import Console
from shardboard.driver.fake import FakeAgents
from shardboard.driver.ports import NodeRef
from shardboard.errors import AgentRefused, Conflict
from shardboard.reconcilers.agent_certificates import AgentCertificatesLoop
from shardboard.reconcilers.console_authority import ConsoleAuthorityLoop
from shardboard.services import console_authority as orders
from shardboard.services.users import Principal
from shardboard.state import events, nodes

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]

ADMIN = Principal("admin@example.org", "admin")
REQUEST = key.fresh()[1]


class Loops:
    """Both loops of a console."""

    def __init__(self, console: Console, authority: Authority) -> None:
        trust = AgentsTrust(console.store, console.agents, authority)
        self._telling = ConsoleAuthorityLoop(console.store, console.bus, authority, trust)
        self._renewing = AgentCertificatesLoop(console.store, console.bus, console.agents, authority)

    async def turn(self) -> None:
        await self._renewing.look(datetime.now(UTC))
        await self._telling.advance()


@pytest.fixture
def loops(console: Console, agents: FakeAgents) -> Loops:
    agents.requests = dict.fromkeys((1, 2, 3), REQUEST)
    agents.signing_keys = dict.fromkeys((1, 2, 3), console.authority.present.key_id)
    return Loops(console, console.authority)


async def status(console: Console, uid: int, agent_status: str) -> None:
    async with console.store.begin() as session:
        node = await nodes.by_uid(session, uid)
        assert node is not None
        node.agent_status = agent_status


async def announce(console: Console) -> None:
    async with console.store.begin() as session:
        await orders.announce(session, console.authority, ADMIN, "")


async def switch(console: Console) -> None:
    async with console.store.begin() as session:
        await orders.switch(session, console.authority, ADMIN)
    console.authority.renew()


async def waiting(console: Console) -> dict[int, str]:
    """Why each node is in the way, by its uid."""
    async with console.store.read() as session:
        return {node.uid: why for node, why in await orders.waiting(session, console.authority)}


async def types(console: Console) -> list[str]:
    async with console.store.read() as session:
        return [each.type for each in await events.page(session, newest_first=False) if "authority" in each.type]


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


async def test_from_the_first_order_to_the_end(console: Console, agents: FakeAgents, loops: Loops) -> None:
    authority, before = console.authority, console.authority.present
    await loops.turn()
    assert agents.trusting == dict.fromkeys((1, 2, 3), before.pem)
    await announce(console)
    with pytest.raises(Conflict, match=r"node 1: its agent does not trust the new CA yet; node 2: .*; node 3: "):
        await switch(console)
    await loops.turn()
    after = authority.following
    assert after is not None
    assert agents.trusting == dict.fromkeys((1, 2, 3), before.pem + after.pem)
    await switch(console)
    await loops.turn()
    assert sorted(uid for uid, _ in agents.given) == [1, 2, 3]
    for _, certificate in agents.given:
        x509.load_pem_x509_certificate(certificate.encode()).verify_directly_issued_by(after.certificate)
    assert authority.step == ""
    assert agents.trusting == dict.fromkeys((1, 2, 3), after.pem)
    assert await types(console) == ["authority_announced", "authority_switched", "authority_forgotten"]
    calls = len(agents.calls)
    await loops.turn()
    assert len(agents.calls) == calls, "nothing is left to do"


async def test_who_is_away_is_waited_for_in_both_steps(console: Console, agents: FakeAgents, loops: Loops) -> None:
    authority = console.authority
    await status(console, 3, "unreachable")
    await announce(console)
    await loops.turn()
    with pytest.raises(
        Conflict, match="node 3: its agent is not connected: reconnect it, or remove the node"
    ) as refusal:
        await switch(console)
    assert "node 1" not in str(refusal.value)
    await status(console, 3, "connected")
    await loops.turn()
    await switch(console)
    await status(console, 2, "unreachable")
    await loops.turn()
    assert authority.former is not None
    told = await waiting(console)
    assert (told[1], told[3]) == ("", "")
    assert "not connected" in told[2]
    assert authority.former.pem in agents.trusting[1], "node 2 shows a certificate of the former one"
    await status(console, 2, "connected")
    await loops.turn()
    assert authority.former is None
    assert {*agents.trusting.values()} == {authority.present.pem}


async def test_who_is_removed_is_not_waited_for(console: Console, loops: Loops) -> None:
    await announce(console)
    await loops.turn()
    await switch(console)
    await status(console, 2, "unreachable")
    await loops.turn()
    assert console.authority.former is not None
    async with console.store.begin() as session:
        await session.delete(await nodes.by_uid(session, 2))
    await loops.turn()
    assert console.authority.former is None


async def test_who_was_away_is_told_again(console: Console, agents: FakeAgents, loops: Loops) -> None:
    """It may have joined from another directory."""
    await loops.turn()
    for agent_status in ("unreachable", "connected"):
        await status(console, 1, agent_status)
        agents.trusting.pop(1, None)
        await loops.turn()
    assert agents.trusting[1] == console.authority.trusted
    assert [uid for call, uid in agents.calls if call == "tell_authorities"].count(2) == 1


async def test_who_cannot_or_will_not_is_named(console: Console, agents: FakeAgents, loops: Loops) -> None:
    agents.refuse[1] = "its disk is full"
    await announce(console)
    await loops.turn()
    with pytest.raises(Conflict, match="node 1: its disk is full"):
        await switch(console)
    agents.refuse.clear()
    await loops.turn()
    await switch(console)


@pytest.mark.parametrize("step", range(5))
async def test_a_console_that_was_killed_goes_on(console: Console, agents: FakeAgents, loops: Loops, step: int) -> None:
    """Another one starts with what is on disk, and knows of nobody what was told before."""

    async def restarted(number: int, running: Loops) -> Loops:
        if number != step:
            return running
        console.authority = Authority.load(console.settings)
        return Loops(console, console.authority)

    loops = await restarted(0, loops)
    await announce(console)
    loops = await restarted(1, loops)
    await loops.turn()
    loops = await restarted(2, loops)
    await loops.turn()
    await switch(console)
    loops = await restarted(3, loops)
    await loops.turn()
    loops = await restarted(4, loops)
    await loops.turn()
    assert console.authority.step == ""
    assert {*agents.trusting.values()} == {console.authority.present.pem}
    assert {*agents.signing_keys.values()} == {console.authority.present.key_id}


async def test_a_disk_that_cannot_be_written_changes_nothing(
    console: Console, loops: Loops, monkeypatch: pytest.MonkeyPatch
) -> None:
    await announce(console)
    await loops.turn()

    monkeypatch.setattr("shardboard.authority_files.write_private", full)
    before = console.authority.ca_fingerprint()
    with pytest.raises(Exception, match=r"cannot be written: No space left on device\. Nothing was changed"):
        await switch(console)
    assert (console.authority.ca_fingerprint(), console.authority.step) == (before, "announced")
    assert await types(console) == ["authority_announced"]


async def test_the_loops_run_until_they_are_cancelled(console: Console, agents: FakeAgents, loops: Loops) -> None:
    """From the second order to the end with nobody's help."""
    await announce(console)
    await loops.turn()
    telling = ConsoleAuthorityLoop(console.store, console.bus, console.authority, console.trust)
    renewing = AgentCertificatesLoop(console.store, console.bus, agents, console.authority)
    running = [asyncio.create_task(each.run()) for each in (telling, renewing)]
    await switch(console)
    console.bus.publish("authority", ("switch", None))
    await until(lambda: not console.authority.step)
    for task in running:
        task.cancel()


async def test_nothing_is_forgotten_as_long_as_the_console_shows_something_of_it(
    console: Console, loops: Loops, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its disk is full: agents, which have their own, would not take what it shows."""
    await announce(console)
    await loops.turn()

    async with console.store.begin() as session:
        await orders.switch(session, console.authority, ADMIN)
    monkeypatch.setattr("shardboard.authority.write_private", full)
    monkeypatch.setattr("shardboard.authority_files.write_private", full)
    console.authority.renew()
    await loops.turn()
    assert console.authority.step == "shown"
    assert Authority.load(console.settings).step == "shown", "and it can be started"
    monkeypatch.undo()
    console.authority.renew()
    await loops.turn()
    assert console.authority.step == ""


async def test_who_is_told_in_vain_that_it_is_over_is_named(console: Console, agents: FakeAgents, loops: Loops) -> None:
    await announce(console)
    await loops.turn()
    await switch(console)
    tell = agents.tell_authorities

    async def refusing(node: NodeRef, certificates: str, bundle: str) -> None:
        if node.uid == 2 and certificates == console.authority.present.pem:
            raise AgentRefused("its disk is full")
        await tell(node, certificates, bundle)

    agents.tell_authorities = refusing  # type: ignore[method-assign]
    for _ in range(3):
        await loops.turn()
    assert console.authority.step == ""
    assert await waiting(console) == {1: "", 2: "its disk is full", 3: ""}
    async with console.store.read() as session:
        said = [
            each for each in await events.page(session, newest_first=False) if each.type == "node_authorities_failed"
        ]
    assert [(each.node_uid, each.severity) for each in said] == [(2, "ERROR")], "once"
    agents.tell_authorities = tell  # type: ignore[method-assign]
    await loops.turn()
    assert agents.trusting[2] == console.authority.trusted


async def test_who_cannot_renew_is_named_and_tried_again_soon(
    console: Console, agents: FakeAgents, loops: Loops
) -> None:
    await announce(console)
    await loops.turn()
    await switch(console)
    del agents.requests[3]
    agents.requests[2] = "nonsense"
    await loops.turn()
    told = await waiting(console)
    assert "request is not readable" in told[2]
    assert told[3] == "its agent serves a certificate of the previous CA"
    agents.requests = dict.fromkeys((1, 2, 3), REQUEST)
    await status(console, 3, "unreachable")
    await loops.turn()
    await status(console, 3, "connected")
    await loops.turn()
    assert console.authority.step == ""


async def test_an_agent_that_breaks_every_promise_holds_nobody_up(
    console: Console, agents: FakeAgents, loops: Loops
) -> None:
    tell = agents.tell_authorities

    async def odd(node: NodeRef, certificates: str, bundle: str) -> None:
        if node.uid == 1:
            raise LookupError("whatever")
        await tell(node, certificates, bundle)

    agents.tell_authorities = odd  # type: ignore[method-assign]
    await loops.turn()
    assert sorted(agents.trusting) == [2, 3]


async def test_an_authority_that_may_not_sign_for_everybody_is_not_changed_to(
    console: Console, agents: FakeAgents, loops: Loops
) -> None:
    """A node came after it was announced."""
    authority = console.authority
    async with console.store.begin() as session:
        request = await orders.request(session, authority, ADMIN, "", "")
        chain = below(root(), request.key, x509.NameConstraints(None, [x509.IPAddress(ip_network("10.9.0.0/16"))])).pem
        await orders.announce(session, authority, ADMIN, chain)
    async with console.store.begin() as session:
        node = await nodes.by_uid(session, 3)
        assert node is not None
        node.addr = "10.9.0.1"
    await loops.turn()
    with pytest.raises(Conflict, match=r"for 10\.9\.0\.1 are rejected: excluded subtree violation"):
        await switch(console)
