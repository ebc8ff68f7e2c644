"""The engine's own view of its cluster, and what newcomers are told of it."""

from backend.tests.shards import ENGINE, layout

from shardboard.driver import cluster
from shardboard.driver.cluster import Place
from shardboard.driver.fake import FakeAgents
from shardboard.driver.ports import NodeRef

NODES = [NodeRef(uid, f"10.0.0.{uid}", 9700) for uid in (1, 2, 3)]

TEXT = """\
07c37dfeb235213a872192d90877d0cd55635b91 127.0.0.1:30004@31004,,tls-port=0,shard-id=69bc slave \
e7d1eecce10fd6bb5eb35b9f99a514335d9ba9ca 0 1426238317239 4 connected
67ed2db8d677e59ec4a4cefb06858cf2a1a89fa1 127.0.0.1:30002@31002,hostname2 master - 0 1426238316232 2 connected 5461-10922
292f8b365bb7edb5e285caf0b7e6ddc7265d2f4f 127.0.0.1:30003@31003 master,fail - 1426238316000 1426238315000 3 disconnected \
10923-12000 12002 12500-16383
6ec23923021cf3ffec47632106199cb7f496ce01 127.0.0.1:30005@31005 slave,fail? 67ed2db8d677e59ec4a4cefb06858cf2a1a89fa1 \
1426238316500 1426238315000 5 connected
824fe116063bc5fcf9f4ffd895bc17aee7731ac3 127.0.0.1:30006@31006 master,noaddr - 0 0 0 disconnected
e7d1eecce10fd6bb5eb35b9f99a514335d9ba9ca 127.0.0.1:30001@31001 myself,master - 0 0 7 connected 0 \
[93-<-292f8b365bb7edb5e285caf0b7e6ddc7265d2f4f] [77->-67ed2db8d677e59ec4a4cefb06858cf2a1a89fa1]

"""


def test_cluster_nodes() -> None:
    assert {uid[:4]: place for uid, place in cluster._parse_nodes(TEXT).items()} == {
        "07c3": Place("slave", 4, ()),
        "67ed": Place("master", 2, ((5461, 10922),)),
        "292f": Place("master", 3, ((10923, 12000), (12002, 12002), (12500, 16383))),
        "6ec2": Place("slave", 5, ()),
        "824f": Place("master", 0, ()),
        "e7d1": Place("master", 7, ((0, 0),)),
    }


def test_a_primary_that_only_imports_has_no_slots_yet() -> None:
    line = f"{'a' * 40} 10.0.0.1:20001@25001 master - 0 0 1 connected [93-<-{'b' * 40}]"
    assert cluster._parse_nodes(line)["a" * 40].slots == ()
    assert cluster._parse_nodes("-LOADING\n\nshort line") == {}


async def test_the_newest_view_counts() -> None:
    agents = FakeAgents()
    shards = layout(NODES, 3, replication=False)
    await cluster.start(agents, ENGINE, shards, {shard.node.uid: [shard.uid] for shard in shards})
    found = await cluster.view(agents, shards)
    assert {shard.uid: found[shard.engine_id].epoch for shard in shards} == {1: 1, 2: 2, 3: 3}


async def test_a_lost_primary_returns_as_replica_of_its_replica_while_another_pair_has_nobody() -> None:
    agents = FakeAgents()
    shards = layout(NODES, 3, replication=True)
    first, _, third, promoted, *_ = shards
    # Pair 0 is led by its former replica now, pair 1 by nobody, pair 2 as it was.
    view = {shard.engine_id: Place("master", 10 + shard.uid, shard.slots) for shard in shards}
    refused = await cluster.start_late(agents, ENGINE, shards, [promoted, third], [first], view)
    assert refused == {}
    [spec] = [spec for held in agents.running.values() for spec in held.values()]
    assert (spec.uid, spec.role, spec.swap_with) == (first.uid, "slave", None)


async def test_newcomers_are_told_the_present_epochs_and_roles() -> None:
    told = []

    class Listening(FakeAgents):
        async def start(self, node: object, request: object) -> list[object]:  # type: ignore[override]
            told.append(request)
            return []

    shards = layout(NODES, 3, replication=True)
    promoted, lost = shards[3], shards[0]
    view = {shard.engine_id: Place("master", 10 + shard.uid, shard.slots) for shard in shards}
    await cluster.start_late(Listening(), ENGINE, shards, [promoted, *shards[1:3]], [lost], view)
    [request] = told
    peers = {peer.engine_id: peer for peer in request.bdb.peers}  # type: ignore[attr-defined]
    assert peers[lost.engine_id].primary_engine_id == promoted.engine_id
    assert (peers[lost.engine_id].slots, peers[promoted.engine_id].slots) == ([], list(lost.slots))
    assert peers[lost.engine_id].epoch == peers[promoted.engine_id].epoch == 14
    assert len({peer.pair_id for peer in peers.values()}) == 3
