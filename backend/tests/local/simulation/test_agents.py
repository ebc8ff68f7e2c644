"""Tests of simulated agents: the console's own functions create databases on them, promote replicas, and read their state."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from backend.tests.support.real_shards import ENGINE, plan_shards

from shardboard.contract import ProbeTarget
from shardboard.contract.recovery_copies import RecoveryCopy
from shardboard.domain.databases.creation import DesiredShard, next_step
from shardboard.driver import replication, unknown_nodes, valkey_cluster
from shardboard.driver.interfaces import NodeRef
from shardboard.driver.valkey_cluster import ShardRef
from shardboard.local.simulation.agents import SimulatedAgents
from shardboard.local.simulation.serve_agents import AgentServer
from shardboard.valkey.replies import cluster_lines, info_fields

NODES = [NodeRef(uid, f"127.1.1.{uid}", 9700) for uid in (1, 2, 3)]
SHARDS = plan_shards(NODES, 3, replication=True)
FIRST, PROMOTED = SHARDS[0], SHARDS[3]
"""A primary and its replica."""


@pytest.fixture
async def agents() -> SimulatedAgents:
    """Agents of a database with three primaries and three replicas."""
    simulated = SimulatedAgents(clock=lambda: 7.0)
    simulated.nodes = {node.uid: node for node in NODES}
    assert await create(simulated, SHARDS) == ["start", "promote", "start", "done"]
    return simulated


async def create(agents: SimulatedAgents, shards: Sequence[ShardRef]) -> list[str]:
    """Create a database like the console. Return the steps."""
    desired = [DesiredShard(shard.uid, shard.node.uid, shard.role, shard.pair) for shard in shards]
    steps: list[str] = []
    while len(steps) < 10:
        step = next_step(desired, await valkey_cluster.read_conditions(agents, shards, cluster=True))
        assert not step.failed, step.failed
        if step.done:
            return [*steps, "done"]
        if step.start:
            assert await valkey_cluster.start(agents, ENGINE, shards, step.start) == {}
            steps.append("start")
        if step.promote:
            chosen = [shard for shard in shards if shard.uid in step.promote]
            assert await valkey_cluster.promote_initial_primaries(agents, chosen) == {}
            steps.append("promote")
    return steps


async def test_all_shards_report_the_same_cluster(agents: SimulatedAgents) -> None:
    replies = await valkey_cluster.command(agents, SHARDS, "CLUSTER", "NODES")
    for shard in SHARDS:
        view = cluster_lines(replies[shard.uid].reply)
        assert {engine_id: line.slots for engine_id, line in view.items() if line.is_primary} == {
            primary.engine_id: primary.slots for primary in SHARDS[:3]
        }
        assert [engine_id for engine_id, line in view.items() if "myself" in line.flags] == [shard.engine_id]
        assert view.keys() == {each.engine_id for each in SHARDS}
    assert await unknown_nodes.find(agents, SHARDS[:3], {shard.engine_id for shard in SHARDS}) == []
    replicas = [(replica, primary) for primary, replica in zip(SHARDS[:3], SHARDS[3:], strict=True)]
    unaware = await replication.unaware_hosts(agents, SHARDS[:3], replicas)
    assert unaware == {shard.uid: [] for shard in SHARDS[3:]}


async def test_replicas_follow_their_primaries(agents: SimulatedAgents) -> None:
    links = await replication.links(agents, SHARDS)
    assert [links[shard.uid].is_primary for shard in SHARDS] == [True] * 3 + [False] * 3
    assert links[PROMOTED.uid].primary == (FIRST.node.addr, FIRST.port)
    assert agents.primaries(FIRST.node.uid) == [FIRST.uid]


async def test_promoted_replica_has_the_slots_and_a_newer_epoch(agents: SimulatedAgents) -> None:
    agents.kill_shards([FIRST.uid])
    links = await replication.links(agents, SHARDS)
    assert FIRST.uid not in links, "a dead shard does not reply"
    assert not links[PROMOTED.uid].up
    await valkey_cluster.command(agents, [PROMOTED], "CLUSTER", "FAILOVER", "FORCE")
    assert agents.promotion_requests == {shard.uid: 7.0 for shard in (*SHARDS[:3], PROMOTED)}
    [reply] = (await valkey_cluster.command(agents, [SHARDS[1]], "CLUSTER", "NODES")).values()
    view = cluster_lines(reply.reply)
    assert view[PROMOTED.engine_id].slots == FIRST.slots
    assert view[PROMOTED.engine_id].epoch > max(view[shard.engine_id].epoch for shard in SHARDS[1:3])
    assert (view[FIRST.engine_id].is_healthy, view[FIRST.engine_id].slots) == (False, ())
    [info] = (await valkey_cluster.command(agents, [PROMOTED], "CLUSTER", "INFO")).values()
    assert info_fields(info.reply)["cluster_my_epoch"] == str(view[PROMOTED.engine_id].epoch)


async def test_lost_primary_returns_as_replica(agents: SimulatedAgents) -> None:
    agents.kill_shards([FIRST.uid])
    await valkey_cluster.command(agents, [PROMOTED], "CLUSTER", "FAILOVER", "FORCE")
    engine_ids = {FIRST.uid: FIRST.engine_id}
    assert all(outcome.ok for outcome in await agents.remove(FIRST.node, engine_ids, dead_only=True))
    view = await valkey_cluster.newest_view(agents, [PROMOTED, *SHARDS[1:3]])
    primaries = [PROMOTED, *SHARDS[1:3]]
    assert await valkey_cluster.start_new_shards(agents, ENGINE, SHARDS, primaries, [FIRST], view) == {}
    links = await replication.links(agents, SHARDS)
    assert links[FIRST.uid] == replication.Link(is_primary=False, up=True, primary=(PROMOTED.node.addr, PROMOTED.port))
    assert agents.primaries(PROMOTED.node.uid) == [SHARDS[1].uid, PROMOTED.uid]


async def test_dead_shards_do_not_respond_to_probes(agents: SimulatedAgents) -> None:
    targets = [ProbeTarget(address=FIRST.node.addr, port=port) for port in (FIRST.port, FIRST.bus_port)]
    assert await agents.probe(NODES[1], targets) == [True, True]
    agents.kill_shards([FIRST.uid])
    assert await agents.probe(NODES[1], targets) == [False, False]


async def test_removed_database_is_forgotten(agents: SimulatedAgents) -> None:
    for node in NODES:
        engine_ids = {shard.uid: shard.engine_id for shard in SHARDS if shard.node == node}
        await agents.remove(node, engine_ids)
    assert not agents.databases[ENGINE.uid].members
    assert await valkey_cluster.read_conditions(agents, SHARDS, cluster=True) == {}


async def test_copies_of_many_nodes_are_stored_once(agents: SimulatedAgents) -> None:
    for node in NODES:
        copy = RecoveryCopy(name="cluster", term=1, counter=1, content="…")
        await agents.keep_copies(node, [copy], ["cluster"])
    held = [await agents.read_copy(node, "cluster") for node in NODES]
    assert held[0] is held[1] is held[2] is not None


async def test_without_a_primary_with_a_replica_nothing_is_killed(tmp_path: Path) -> None:
    server = AgentServer(tmp_path)
    assert await server.kill_shard([]) == {"killed": []}
    assert await server.lose_node([]) == {"killed": []}
