"""The authority of a database's shards is replaced: at every moment all let each other in, and in the end nothing of before."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from backend.tests.reconcilers.loops import ADMIN, Gate, GatedAgents, GatedStore, created, rows, told
from backend.tests.reconcilers.test_certificates import LATER, stored
from backend.tests.sampling import Sampling
from cryptography import x509

from shardboard.console import Console
from shardboard.db import Store
from shardboard.driver.fake import FakeAgents
from shardboard.driver.ports import ShardTls
from shardboard.reconcilers import authorities
from shardboard.reconcilers.certificates import CertificatesLoop
from shardboard.reconcilers.endpoints import Endpoints
from shardboard.services import certificates as service
from shardboard.shard_certificates import ShardCertificates, replace_authorities
from shardboard.state import bdbs, nodes, shards
from shardboard.state.bdbs import Bdb

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


def loop_of(console: Console, agents: Any, store: Store | None = None) -> CertificatesLoop:
    store = store or console.store
    return CertificatesLoop(store, console.bus, agents, Endpoints(store, console.bus, agents))


async def order(console: Console) -> None:
    async with console.store.begin() as session:
        await service.replace_authorities(session, ADMIN)


async def turn(loop: CertificatesLoop) -> None:
    await loop.bring()
    await loop.advance()


async def replaced(console: Console, loop: CertificatesLoop, uid: int) -> ShardCertificates:
    while (held := await stored(console, uid)).replacing:
        await turn(loop)
        assert await stored(console, uid) != held, "every turn is a step where nobody is away"
    return held


async def seen(console: Console, uid: int) -> None:
    """The shards, as samples find them a moment after their start."""
    async with console.store.begin() as session:
        for row in await shards.every(session):
            if row.bdb_uid == uid:
                row.observed_status = "ok"


async def made(console: Console, agents: FakeAgents) -> int:
    uid = await created(console)
    await seen(console, uid)
    await Endpoints(console.store, console.bus, agents).serve(uid)
    return uid


def carried(agents: FakeAgents, uid: int) -> Iterator[ShardTls]:
    """What everybody has who speaks to shards of the database, or is one."""
    for held in agents.running.values():
        yield from (agents.certificates[spec.uid] for spec in held.values() if spec.bdb_uid == uid)
    for state in agents.proxies.values():
        for database in state.databases:
            if database.uid == uid and database.shard_tls is not None:
                yield database.shard_tls


def signs(authority: x509.Certificate, certificate: x509.Certificate) -> bool:
    return authority.subject == certificate.issuer


def assert_all_meet(agents: FakeAgents, uid: int) -> None:
    everybody = list(carried(agents, uid))
    for one in everybody:
        trusted = x509.load_pem_x509_certificates(one.authorities.encode())
        for other in everybody:
            shown = x509.load_pem_x509_certificate(other.certificate.encode())
            assert any(signs(authority, shown) for authority in trusted)


async def test_it_is_another_one_everywhere(console: Console, agents: FakeAgents) -> None:
    uid = await made(console, agents)
    before = await stored(console, uid)
    await order(console)
    loop = loop_of(console, agents)
    steps = []
    while (held := await stored(console, uid)).replacing:
        steps.append(held.replacing)
        await turn(loop)
        assert_all_meet(agents, uid)
    assert steps == ["announced", "shown", "forgotten"]
    after = await stored(console, uid)
    assert after.authority != before.authority
    assert {tls.authorities for tls in carried(agents, uid)} == {after.authority}
    assert {tls.certificate for tls in carried(agents, uid)} == {after.certificate}
    assert (await told(console, uid))[-1].type == "bdb_authority_replaced"
    calls = len(agents.calls)
    await turn(loop)
    assert len(agents.calls) == calls


async def test_killed_at_every_step_all_meet(console: Console, agents: FakeAgents, sampling: Sampling) -> None:
    uid = await made(console, agents)
    for step in sampling.kill_steps(30, 500):
        before = await stored(console, uid)
        await order(console)
        gate = Gate(step)
        loop = loop_of(console, GatedAgents(agents, gate), GatedStore(console.store, gate))
        ended = asyncio.create_task(replaced(console, loop, uid))
        await asyncio.wait({ended, asyncio.create_task(gate.reached.wait())}, return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        await asyncio.gather(ended, return_exceptions=True)
        assert_all_meet(agents, uid)
        assert (await replaced(console, loop_of(console, agents), uid)).authority != before.authority
        assert_all_meet(agents, uid)
        if not gate.reached.is_set():
            return
    raise AssertionError("it never came through")


async def test_who_may_be_alive_is_waited_for_and_who_is_down_is_not(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = await made(console, agents)
    await order(console)
    loop = loop_of(console, agents)
    await set_node(console, 2, agent_status="unreachable")
    agents.unreachable.add(2)
    await turn(loop)
    await turn(loop)
    assert (await stored(console, uid)).replacing == "announced"
    assert (await told(console, uid))[-1].type != "bdb_authority_waits", "not at once"
    monkeypatch.setattr(authorities, "PATIENCE", 0)
    await turn(loop)
    await turn(loop)
    sentences = [event.description for event in await told(console, uid) if event.type == "bdb_authority_waits"]
    why = "node 2 has not completed the last step"
    assert sentences == [f"The replacement of the shards' CA of shop is waiting: {why}. It continues automatically."]
    await set_node(console, 2, health="down")
    async with console.store.begin() as session:
        for row in await shards.every(session):
            row.observed_status = "down" if row.node_uid == 2 else "ok"
    after = await replaced(console, loop, uid)
    agents.unreachable.clear()
    await set_node(console, 2, health="up", agent_status="connected")
    await loop.bring()
    assert {agents.certificates[row.uid].authorities for row in await rows(console, uid)} == {after.authority}


async def set_node(console: Console, uid: int, **columns: str) -> None:
    async with console.store.begin() as session:
        node = await nodes.by_uid(session, uid)
        assert node is not None
        for name, value in columns.items():
            setattr(node, name, value)


async def test_a_shard_that_was_started_with_what_was_read_before_is_waited_for(
    console: Console, agents: FakeAgents
) -> None:
    uid = await made(console, agents)
    [late, *_] = await rows(console, uid)
    spec = agents.running[late.node_uid].pop(late.uid)
    async with console.store.begin() as session:
        (await session.merge(late)).observed_status = "unknown"
    await order(console)
    loop = loop_of(console, agents)
    await turn(loop)
    assert (await stored(console, uid)).replacing == "announced"
    agents.running[late.node_uid][late.uid] = spec
    await seen(console, uid)
    await replaced(console, loop, uid)
    assert_all_meet(agents, uid)


async def test_a_shard_that_is_made_anew_with_what_was_read_before_is_told_when_it_is_seen(
    console: Console, agents: FakeAgents
) -> None:
    """Its agent holds what is left of it until it is made anew, and says that it took each step."""
    uid = await made(console, agents)
    [lost, *_] = await rows(console, uid)
    before = agents.certificates[lost.uid]
    async with console.store.begin() as session:
        (await session.merge(lost)).observed_status = "down"
    await order(console)
    loop = loop_of(console, agents)
    after = await replaced(console, loop, uid)
    agents.certificates[lost.uid] = before
    await seen(console, uid)
    await loop.bring()
    assert agents.certificates[lost.uid].authorities == after.authority
    assert_all_meet(agents, uid)


async def test_the_proxy_of_an_old_address_is_told_too(console: Console, agents: FakeAgents) -> None:
    uid = await made(console, agents)
    await order(console)
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, uid)
        [bound] = bdb.endpoint_nodes
        left = bound % 3 + 1
        bdb.retiring = {left: datetime.now(UTC) + timedelta(hours=1)}
    loop = loop_of(console, agents)
    await turn(loop)
    for node in (left, bound):
        [database] = agents.proxies[node].databases
        assert database.shard_tls is not None
        assert database.shard_tls.authorities.count("BEGIN") == 2
    await set_node(console, left, agent_status="unreachable")
    assert (await stored(console, uid)).replacing == "shown"
    await turn(loop)
    await turn(loop)
    assert (await stored(console, uid)).replacing == "shown"
    await set_node(console, left, agent_status="connected")
    await replaced(console, loop, uid)
    assert_all_meet(agents, uid)


async def test_what_a_node_holds_open_that_is_taken_out_is_closed(console: Console, agents: FakeAgents) -> None:
    uid = await made(console, agents)
    [first, second, *_] = await rows(console, uid)
    async with console.store.begin() as session:
        replace_authorities(await bdbs.every(session), "192.0.2.7")
    listed = (
        "id=3 addr=192.0.2.7:40001 laddr=192.0.2.1:21001 fd=8 name= age=5 flags=S\n"
        "id=4 addr=192.0.2.70:40001 laddr=192.0.2.1:21001 fd=9 name= age=5 flags=N\n"
        "id=5 addr=192.0.2.7:40002 laddr=192.0.2.1:21001 fd=10 name= age=5 flags=N\n"
        "id=6 addr=/run/s:0 laddr=/run/s:0 fd=11 name=id=7 addr=192.0.2.7:1 flags=U\n"
    )
    agents.told[first.uid, "CLIENT LIST"] = listed
    agents.told[second.uid, "CLIENT LIST"] = "id=9 addr=[192.0.2.7]:40001 laddr=192.0.2.1:21001 fd=8\n"
    agents.commands.clear()
    loop = loop_of(console, agents)
    agents.died[second.uid] = "it was killed"
    await turn(loop)
    await turn(loop)
    await turn(loop)
    assert (await stored(console, uid)).replacing == "forgotten", "one does not tell who is connected"
    agents.died.clear()
    agents.commands.clear()
    held = await replaced(console, loop, uid)
    killed = {(shard, argv[-1]) for shard, argv in agents.commands if argv[:3] == ("CLIENT", "KILL", "ID")}
    assert killed == {(first.uid, "3"), (first.uid, "5"), (second.uid, "9")}
    assert held.left == ""


async def test_who_joined_at_the_address_of_one_that_was_taken_out_keeps_its_connections(
    console: Console, agents: FakeAgents
) -> None:
    uid = await made(console, agents)
    [first, *_] = await rows(console, uid)
    async with console.store.begin() as session:
        [again, *_] = await nodes.every(session)
        replace_authorities(await bdbs.every(session), again.addr)
    agents.told[first.uid, "CLIENT LIST"] = f"id=3 addr={again.addr}:40001 laddr=192.0.2.1:21001 fd=8\n"
    await replaced(console, loop_of(console, agents), uid)
    assert not [argv for _, argv in agents.commands if argv[:2] == ("CLIENT", "KILL")]


async def test_an_authority_that_is_going_to_end_is_replaced_by_itself(console: Console, agents: FakeAgents) -> None:
    uid = await made(console, agents)
    held = await stored(console, uid)
    ends = x509.load_pem_x509_certificate(held.authority.encode()).not_valid_after_utc
    loop = loop_of(console, agents)
    await loop.renew(ends - LATER)
    assert (await stored(console, uid)).replacing == "announced"
    assert (await replaced(console, loop, uid)).authority != held.authority
