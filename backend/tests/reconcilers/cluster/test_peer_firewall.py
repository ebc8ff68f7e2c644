"""Agents get the addresses of all nodes, and only while these are complete."""

import asyncio
from typing import Any

import pytest

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import PeerAccess
from shardboard.reconcilers.cluster import peer_firewall
from shardboard.reconcilers.cluster.peer_firewall import PeerFirewallLoop
from shardboard.state.cluster import cluster, nodes

pytestmark = [pytest.mark.store, pytest.mark.usefixtures("nodes")]


async def change_node(console: Console, uid: int, *, status: str = "connected", **facts: Any) -> None:
    async with console.store.begin() as session:
        node = await nodes.by_uid(session, uid)
        assert node is not None
        node.facts, node.agent_status = {**node.facts, **facts}, status
        if uid == 2:
            node.addr = "fd00::2"


@pytest.fixture
async def loop(console: Console) -> PeerFirewallLoop:
    for uid in (1, 2, 3):
        await change_node(console, uid, addresses=[f"10.0.0.{uid}", f"192.168.0.{uid}"])
    return PeerFirewallLoop(console.store, console.bus, console.agents)


async def stored_state(console: Console, uid: int) -> Any:
    async with console.store.read() as session:
        node = await nodes.by_uid(session, uid)
        return node and (node.facts.get("firewall") or {}).get("state")


async def test_agents_get_the_addresses_of_all_nodes(
    console: Console, agents: FakeAgents, loop: PeerFirewallLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await loop.update() == 3
    sent = agents.peers[1]
    assert set(agents.peers) == {1, 2, 3}
    assert sent.enabled
    assert {"10.0.0.1", "192.168.0.3", "fd00::2"} <= set(sent.addresses)
    assert await stored_state(console, 3) == "active"
    assert await loop.update() == 0
    assert agents.calls.count(("set_peers", 1)) == 1, "nothing has changed"
    await change_node(console, 3, addresses=["10.0.0.3", "10.0.7.7"])
    await loop.update()
    assert "10.0.7.7" in agents.peers[1].addresses
    monkeypatch.setattr(peer_firewall, "REPEAT_SECONDS", 0.0)
    before = agents.calls.count(("set_peers", 1))
    await loop.update()
    assert agents.calls.count(("set_peers", 1)) == before + 1, "the agent may have been restarted"


async def test_lost_nodes_are_still_admitted(console: Console, agents: FakeAgents, loop: PeerFirewallLoop) -> None:
    await change_node(console, 3, status="lost")
    await loop.update()
    assert set(agents.peers) == {1, 2}
    assert "10.0.0.3" in agents.peers[1].addresses


async def test_incomplete_addresses_admit_all_machines(
    console: Console, agents: FakeAgents, loop: PeerFirewallLoop
) -> None:
    """An agent of the previous release does not report its addresses."""
    await loop.update()
    await change_node(console, 2, addresses=[])
    await loop.update()
    assert agents.peers[1] == PeerAccess(enabled=False)
    assert await stored_state(console, 1) == "off"


async def test_policy_turns_the_rules_off(console: Console, agents: FakeAgents, loop: PeerFirewallLoop) -> None:
    async with console.store.begin() as session:
        (await cluster.load(session)).policy = {"shard_firewall": False}
    await loop.update()
    assert agents.peers[1] == PeerAccess(enabled=False)


async def test_unreachable_agent_does_not_delay_others(
    console: Console, agents: FakeAgents, loop: PeerFirewallLoop
) -> None:
    agents.unreachable = {1}
    async with asyncio.timeout(10):
        await loop.update()
    assert set(agents.peers) == {2, 3}
    agents.unreachable = set()
    await loop.update()
    assert set(agents.peers) == {1, 2, 3}
