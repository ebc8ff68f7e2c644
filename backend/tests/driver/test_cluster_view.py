"""Tests of the cluster view of the engines, and of the peers that new shards get from it."""

from backend.tests.support.real_shards import ENGINE, plan_shards

from shardboard.domain.placement.slots import render
from shardboard.driver import valkey_cluster
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.driver.valkey_cluster import ShardRef
from shardboard.valkey.replies import ClusterLine, cluster_lines

NODES = [NodeRef(uid, f"10.0.0.{uid}", 9700) for uid in (1, 2, 3)]


def line_of(shard: ShardRef) -> ClusterLine:
    slots = render(shard.slots).replace(",", " ")
    return cluster_lines(f"{shard.engine_id} 10.0.0.1:1@2 master - 0 0 {10 + shard.uid} connected {slots}")[
        shard.engine_id
    ]


async def test_newest_view_is_used() -> None:
    agents = FakeAgents()
    shards = plan_shards(NODES, 3, replication=False)
    await valkey_cluster.start(agents, ENGINE, shards, {shard.node.uid: [shard.uid] for shard in shards})
    view = await valkey_cluster.newest_view(agents, shards)
    assert {shard.uid: view[shard.engine_id].epoch for shard in shards} == {1: 1, 2: 2, 3: 3}


async def test_lost_primary_returns_as_replica_while_another_pair_is_down() -> None:
    agents = FakeAgents()
    shards = plan_shards(NODES, 3, replication=True)
    first, _, third, promoted, *_ = shards
    # Pair 0 has a promoted replica, pair 1 has no primary, and pair 2 is unchanged.
    view = {shard.engine_id: line_of(shard) for shard in shards}
    refused = await valkey_cluster.start_new_shards(agents, ENGINE, shards, [promoted, third], [first], view)
    assert refused == {}
    [spec] = [spec for specs in agents.running.values() for spec in specs.values()]
    assert (spec.uid, spec.role, spec.swap_with) == (first.uid, "slave", None)


async def test_new_shards_get_current_epochs_and_roles() -> None:
    requests = []

    class RecordingAgents(FakeAgents):
        async def start(self, node: object, request: object) -> list[object]:  # type: ignore[override]
            requests.append(request)
            return []

    shards = plan_shards(NODES, 3, replication=True)
    promoted, lost = shards[3], shards[0]
    view = {shard.engine_id: line_of(shard) for shard in shards}
    await valkey_cluster.start_new_shards(RecordingAgents(), ENGINE, shards, [promoted, *shards[1:3]], [lost], view)
    [request] = requests
    peers = {peer.engine_id: peer for peer in request.bdb.peers}  # type: ignore[attr-defined]
    assert peers[lost.engine_id].primary_engine_id == promoted.engine_id
    assert (peers[lost.engine_id].slots, peers[promoted.engine_id].slots) == ([], list(lost.slots))
    assert peers[lost.engine_id].epoch == peers[promoted.engine_id].epoch == 14
    assert len({peer.pair_id for peer in peers.values()}) == 3
