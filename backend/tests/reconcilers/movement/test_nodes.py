"""What the removal of a node leaves behind: nothing that it has had opens anything."""

from datetime import UTC, datetime, timedelta

import pytest
from backend.tests.reconcilers.loops import ADMIN, created, rows, running
from backend.tests.reconcilers.test_certificates import stored
from backend.tests.shards import until

from shardboard.agent import key
from shardboard.console import Console
from shardboard.driver.fake import FakeAgents
from shardboard.reconcilers.agent_certificates import AgentCertificatesLoop
from shardboard.services import nodes as service
from shardboard.state import events, issued_certificates, nodes

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]

NOW = datetime.now(UTC)


async def remove(console: Console, uid: int) -> None:
    async with console.store.begin() as session:
        await service.remove(session, uid, ADMIN)

    async def is_gone() -> bool:
        async with console.store.read() as session:
            return await nodes.by_uid(session, uid) is None

    async with running(console):
        await until(is_gone)


async def test_its_certificates_are_refused_and_databases_get_other_authorities(
    console: Console, agents: FakeAgents
) -> None:
    lone = {"shards_count": 1, "sharding": False, "replication": False}
    uid = await created(console, **lone)
    clear = await created(console, "clear", data_internode_encryption=False, **lone)
    used = {row.node_uid for each in (uid, clear) for row in await rows(console, each)}
    left = max({1, 2, 3} - used)
    agents.requests = {left: key.fresh()[1]}
    agents.ends = {left: NOW + timedelta(days=1)}
    loop = AgentCertificatesLoop(console.store, console.bus, agents, console.authority)
    await loop.look(NOW)  # renewed: it had two
    await remove(console, left)
    async with console.store.read() as session:
        refused = await issued_certificates.refused(session)
        assert {f"{left:x}", agents.serials[left]} == refused
        [told] = [each for each in await events.page(session, newest_first=False) if each.type == "node_removed"]
    assert told.description.endswith("The 1 encrypted database will no longer trust its certificates.")
    assert (await stored(console, uid)).replacing == "announced"
    assert (await stored(console, uid)).left != ""
    with pytest.raises(AssertionError):
        await stored(console, clear)
    assert not console.authority.refuse(set()), "not before the loop has looked"
    await loop.refuse()
    assert not console.authority.refuse(refused), "it did that"


async def test_a_node_that_is_removed_meanwhile_is_given_nothing(console: Console, agents: FakeAgents) -> None:
    agents.requests = {3: key.fresh()[1]}
    agents.ends = {3: NOW + timedelta(days=1)}
    loop = AgentCertificatesLoop(console.store, console.bus, agents, console.authority)
    ask = agents.request_certificate

    async def removed_meanwhile(node: object) -> str:
        await remove(console, 3)
        return await ask(node)  # type: ignore[arg-type]

    agents.request_certificate = removed_meanwhile  # type: ignore[method-assign,assignment]
    await loop.look(NOW)
    assert agents.given == []
    async with console.store.read() as session:
        assert not [
            each for each in await events.page(session, newest_first=False) if each.type == "node_certificate_failed"
        ]
