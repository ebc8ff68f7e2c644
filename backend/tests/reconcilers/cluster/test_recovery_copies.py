"""Tests of the copies that agents get for a console that has lost its store."""

import json
import logging
from typing import Any

import pytest
from backend.tests.support.active_database import create_active_database, set_observed_state

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.kit.tenure import Tenure
from shardboard.pki.recovery_seal import CA_COLUMN, Envelope, seal, unseal
from shardboard.pki.recovery_shares import ca_of
from shardboard.pki.signer import CertificateAuthority
from shardboard.reconcilers.cluster import recovery_copies
from shardboard.reconcilers.cluster.recovery_copies import RecoveryCopiesLoop
from shardboard.state.access.roles_and_acls import Role
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster, nodes
from shardboard.state.databases.bdbs import Bdb

pytestmark = [pytest.mark.store, pytest.mark.usefixtures("nodes")]


@pytest.fixture
async def loop(console: Console, agents: FakeAgents) -> RecoveryCopiesLoop:
    await create_active_database(console, agents, pairs=1, sharding=False)
    return RecoveryCopiesLoop(console.store, console.bus, console.agents, console.ca)


def versions(agents: FakeAgents, node: int) -> dict[str, tuple[int, int]]:
    return {name: copy.order for name, copy in agents.recovery_copies[node].items()}


def opened(console: Console, agents: FakeAgents, node: int, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(unseal(console.ca.current, agents.recovery_copies[node][name]))
    return content


async def change_bdb(console: Console, **columns: Any) -> None:
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, 1)
        for name, value in columns.items():
            setattr(bdb, name, value)


async def add_role(console: Console) -> None:
    async with console.store.begin() as session:
        session.add(Role(uid=100, name="reader", management="none"))


async def test_agents_get_the_cluster_and_their_databases(
    console: Console, agents: FakeAgents, loop: RecoveryCopiesLoop
) -> None:
    """The shards are on the nodes 1 and 2."""
    await loop.update()
    assert [sorted(versions(agents, node)) for node in (1, 2, 3)] == [["bdb-1", "cluster"]] * 2 + [["cluster"]]
    database = opened(console, agents, 2, "bdb-1")
    assert database["bdb"]["admin_password"] == "secret"
    assert [row["uid"] for row in database["shards"]] == [1, 2]
    found = opened(console, agents, 3, "cluster")
    assert [node["uid"] for node in found["nodes"]] == [1, 2, 3]
    assert found["certificates"]["ca"] == console.ca.state.stored["ca"]
    assert found["databases"] == {"1": "shop"}
    assert "jwt_secret" not in found["cluster"]


async def test_only_changes_make_new_versions(console: Console, agents: FakeAgents, loop: RecoveryCopiesLoop) -> None:
    await loop.update()
    before, calls = versions(agents, 1), len(agents.calls)
    await set_observed_state(console, 1, status="down")
    async with console.store.begin() as session:
        node = await nodes.by_uid(session, 1)
        assert node is not None
        node.facts = {**node.facts, "uptime": 5}
    await loop.update()
    assert versions(agents, 1) == before
    assert len(agents.calls) == calls
    await change_bdb(console, port=12345)
    await loop.update()
    after = versions(agents, 1)
    assert after["bdb-1"] > before["bdb-1"]
    assert after["cluster"] == before["cluster"]
    assert opened(console, agents, 1, "bdb-1")["bdb"]["port"] == 12345


async def test_roles_after_a_failover_make_a_new_version(
    console: Console, agents: FakeAgents, loop: RecoveryCopiesLoop
) -> None:
    await loop.update()
    before = versions(agents, 1)
    await set_observed_state(console, 2, role="master")
    await loop.update()
    assert versions(agents, 1)["bdb-1"] > before["bdb-1"]


async def test_status_of_an_operation_makes_a_new_version(
    console: Console, agents: FakeAgents, loop: RecoveryCopiesLoop
) -> None:
    """A restore has deleted the keys, and changes nothing else. A recovery lists such databases."""
    for status in ("active", "import-pending", "active"):
        await change_bdb(console, status=status)
        await loop.update()
        assert opened(console, agents, 1, "bdb-1")["bdb"]["status"] == status


async def test_too_large_copies_do_not_replace_earlier_ones(
    console: Console,
    agents: FakeAgents,
    loop: RecoveryCopiesLoop,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    await loop.update()
    before, sealed = versions(agents, 1), []

    def seal_small(ca: Any, version: Any, plain: bytes, wrapped: str) -> Any:
        sealed.append(version.name)
        if version.name == "bdb-1":
            raise ValueError
        return seal(ca, version, plain, wrapped)

    monkeypatch.setattr(recovery_copies, "seal", seal_small)
    for port in (12001, 12002):
        sealed.clear()
        caplog.clear()
        await change_bdb(console, port=port)
        for _ in range(3):
            await loop.update()
        assert sealed == ["bdb-1"]
        assert [each.levelno for each in caplog.records].count(logging.ERROR) == 1
    await add_role(console)
    await loop.update()
    after = versions(agents, 1)
    assert after["bdb-1"] == before["bdb-1"]
    assert after["cluster"] > before["cluster"]
    failures = {node.uid: failure.reason for node, failure in loop._failures.items()}
    assert failures == dict.fromkeys((1, 2), "too large: bdb-1")
    monkeypatch.undo()
    await change_bdb(console, port=12003)
    await loop.update()
    assert versions(agents, 1)["bdb-1"] > before["bdb-1"]
    assert loop._failures == {}


async def test_deleted_and_moved_databases_are_removed(
    console: Console, agents: FakeAgents, loop: RecoveryCopiesLoop
) -> None:
    await loop.update()
    await change_bdb(console, status="delete-pending")
    await loop.update()
    assert [sorted(versions(agents, node)) for node in (1, 2, 3)] == [["cluster"]] * 3
    assert opened(console, agents, 1, "cluster")["databases"] == {}


async def test_copies_of_a_new_leader_are_newer(console: Console, agents: FakeAgents, loop: RecoveryCopiesLoop) -> None:
    for port in (12001, 12002, 12003):
        await change_bdb(console, port=port)
        with Tenure(4, "a", float("inf")).acting():
            await loop.update()
    before = versions(agents, 1)
    assert before["bdb-1"][0] == 4
    successor = RecoveryCopiesLoop(console.store, console.bus, console.agents, console.ca)
    with Tenure(5, "b", float("inf")).acting():
        await successor.update()
    assert versions(agents, 1)["bdb-1"] > before["bdb-1"]
    assert versions(agents, 1)["cluster"][0] == 5


async def test_raised_term_makes_copies_newer(console: Console, agents: FakeAgents, loop: RecoveryCopiesLoop) -> None:
    """The agents have copies of a higher term, because the store was rebuilt or restored."""
    tenure = Tenure(1, "a", float("inf"))
    with Tenure(9, "lost", float("inf")).acting():
        await RecoveryCopiesLoop(console.store, console.bus, console.agents, console.ca).update()
    with tenure.acting():
        await loop.update()
        assert versions(agents, 1)["cluster"][0] == 9
        tenure.term = 10
        await loop.update()
    assert {version[0] for version in versions(agents, 1).values()} == {10}


async def test_unreachable_agents_get_the_newest_version_later(
    console: Console, agents: FakeAgents, loop: RecoveryCopiesLoop
) -> None:
    agents.unreachable = {1}
    await loop.update()
    assert versions(agents, 2)
    await change_bdb(console, port=12345)
    agents.unreachable = set()
    await loop.update()
    assert versions(agents, 1) == versions(agents, 2)


async def test_lost_copies_are_sent_again(
    console: Console, agents: FakeAgents, loop: RecoveryCopiesLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk of a node was replaced."""
    await loop.update()
    before = versions(agents, 1)
    agents.recovery_copies[1].clear()
    monkeypatch.setattr(recovery_copies, "REPEAT_SECONDS", 0.0)
    await loop.update()  # reads which copies the agent has
    await loop.update()
    assert versions(agents, 1) == before


async def test_store_key_opens_the_ca(console: Console, agents: FakeAgents, loop: RecoveryCopiesLoop) -> None:
    await loop.update()
    envelope = Envelope.parse(agents.recovery_copies[1]["cluster"].content)
    assert console.store.keys is not None
    ca = console.store.keys.decrypt(envelope.ca_for_store_key, CA_COLUMN).encode()
    assert CertificateAuthority.read(ca, ca).fingerprint == console.ca.ca_fingerprint()
    assert not Envelope.parse(agents.recovery_copies[1]["bdb-1"].content).ca_for_store_key


async def test_copies_follow_the_ca(console: Console, agents: FakeAgents, loop: RecoveryCopiesLoop) -> None:
    await loop.update()
    before = versions(agents, 1)
    console.ca.apply(console.ca.state.announcing().switched())
    async with console.store.begin() as session:
        await cluster.load_for_update(session)
    await loop.update()
    assert all(after > before[name] for name, after in versions(agents, 1).items())
    assert opened(console, agents, 1, "bdb-1")["bdb"]["name"] == "shop"


async def test_copies_of_most_nodes_open_the_ca(console: Console, agents: FakeAgents, loop: RecoveryCopiesLoop) -> None:
    await loop.update()
    found = [Envelope.parse(agents.recovery_copies[node]["cluster"].content) for node in (1, 2, 3)]
    assert ca_of(found[:2]).fingerprint == ca_of(found[1:]).fingerprint == console.ca.ca_fingerprint()
    assert not Envelope.parse(agents.recovery_copies[1]["bdb-1"].content).share


async def reasons(console: Console) -> dict[int | None, str]:
    """Return the reasons of the active alarms by node."""
    async with console.store.read() as session:
        return {
            each.node_uid: each.details["reason"]
            for each in await events.list_open_spans(session, events.RECOVERY_COPIES)
        }


async def test_alarm_reports_agents_without_the_newest_copies(
    console: Console, agents: FakeAgents, loop: RecoveryCopiesLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents.unreachable = {1}
    await loop.update()
    assert await reasons(console) == {}, "it may be a short interruption"
    monkeypatch.setattr(recovery_copies, "ALARM_SECONDS", 0.0)
    await loop.update()
    await loop.update()
    assert set(await reasons(console)) == {1}
    async with console.store.read() as session:
        assert len(await events.list_open_spans(session, events.RECOVERY_COPIES)) == 1
    agents.unreachable = set()
    await loop.update()
    assert await reasons(console) == {}


async def test_alarm_reports_agents_that_keep_an_old_version(
    console: Console, agents: FakeAgents, loop: RecoveryCopiesLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk of node 2 is full. The next leader ends the alarm."""
    if console.store.is_shared:
        pytest.skip("only the term of the real leader can write to this store")
    monkeypatch.setattr(recovery_copies, "ALARM_SECONDS", 0.0)
    await loop.update()
    keep = agents.keep_copies

    async def keep_nothing(node: Any, copies: Any, names: Any) -> Any:
        return await (agents.list_copies(node) if node.uid == 2 else keep(node, copies, names))

    with monkeypatch.context() as context:
        context.setattr(agents, "keep_copies", keep_nothing)
        await change_bdb(console, port=12345)
        await loop.update()
        [(node, reason)] = (await reasons(console)).items()
        assert (node, "did not store all of them" in reason) == (2, True)
    with Tenure(5, "b", float("inf")).acting():
        await RecoveryCopiesLoop(console.store, console.bus, console.agents, console.ca).update()
    assert await reasons(console) == {}
