"""Tests of simulated samples: they have the values, size and encoding of those of real agents."""

import time

import pytest
from backend.tests.support.real_shards import ENGINE, plan_shards

from shardboard.agent.metrics.sample_ring import SampleRing
from shardboard.contract import NODE_FIELDS, SHARD_FIELDS, ProxyDatabase, ProxyState, Sample
from shardboard.domain.databases.creation import DesiredShard, next_step
from shardboard.driver import valkey_cluster
from shardboard.driver.interfaces import NodeRef
from shardboard.local.simulation.agents import KILLED, SimulatedAgents
from shardboard.local.simulation.samples import NodeSampler, latency_buckets

NODES = [NodeRef(uid, f"127.1.1.{uid}", 9700) for uid in (1, 2)]
SHARDS = plan_shards(NODES, 2, replication=True)
HOSTED = [shard.uid for shard in SHARDS if shard.node == NODES[0]]
"""A primary and the replica of another one."""


async def running_shards() -> SimulatedAgents:
    agents = SimulatedAgents()
    agents.nodes = {node.uid: node for node in NODES}
    desired = [DesiredShard(shard.uid, shard.node.uid, shard.role, shard.pair) for shard in SHARDS]
    while not (step := next_step(desired, await valkey_cluster.read_conditions(agents, SHARDS, cluster=True))).done:
        await valkey_cluster.start(agents, ENGINE, SHARDS, step.start)
        await valkey_cluster.promote_initial_primaries(agents, [each for each in SHARDS if each.uid in step.promote])
    database = ProxyDatabase(
        uid=ENGINE.uid, port=12000, hides_cluster=False, cluster=True, version=1, tls=False, max_connections=0,
        shards=[], endpoints=[],
    )  # fmt: skip
    await agents.apply_proxy(NODES[0], ProxyState(threads=3, databases=[database]))
    return agents


def values(sample: Sample, uid: int) -> dict[str, float | None]:
    return dict(zip(SHARD_FIELDS, sample.shards[uid], strict=True))


async def test_each_shard_has_one_row() -> None:
    agents, now = await running_shards(), int(time.time())
    sampler = NodeSampler(agents, NODES[0], 0, ring := SampleRing())
    sample = sampler.sample(now)
    assert list(sample.shards) == HOSTED
    assert [values(sample, uid)["is_primary"] for uid in HOSTED] == [1, 0]
    assert [values(sample, uid)["replicas"] for uid in HOSTED] == [1, 0]
    unknown = [{name for name, value in values(sample, uid).items() if value is None} for uid in HOSTED]
    assert unknown == [set(), {"cluster_down"}]
    assert [name for name, value in zip(NODE_FIELDS, sample.node, strict=True) if value is None] == ["flash_free"]
    assert Sample.model_validate_json(ring.newest) == sample
    assert len(sample.pings[ENGINE.uid]) == 10 * len(HOSTED)
    assert sample.proxy is not None
    assert sample.proxy.databases[ENGINE.uid].latency == {}
    assert sampler.sample(now + 1).seq == 2


async def test_counters_grow_with_the_simulated_requests() -> None:
    agents, now = await running_shards(), int(time.time()) + 10
    sampler = NodeSampler(agents, NODES[0], 100, SampleRing())
    before, after = (sampler.sample(second) for second in (now, now + 1))
    primary, replica = HOSTED
    growth = {name: (values(after, primary)[name] or 0) - (values(before, primary)[name] or 0) for name in SHARD_FIELDS}
    assert (growth["read_cmds"], growth["write_cmds"], growth["hits"]) == (50, 50, 50)
    assert growth["cpu"] == pytest.approx(600e-6)
    assert values(before, replica) == values(after, replica)
    assert after.proxy is not None
    endpoint = after.proxy.databases[ENGINE.uid]
    assert sum(endpoint.values[:3]) == 100
    assert sum(count for _, count in endpoint.latency["read"]) == pytest.approx(50, rel=0.2)


async def test_killed_shard_is_reported() -> None:
    agents, now = await running_shards(), int(time.time())
    agents.kill_shards(HOSTED[:1])
    sample = NodeSampler(agents, NODES[0], 0, SampleRing()).sample(now)
    assert (sample.died, list(sample.shards)) == ({HOSTED[0]: KILLED}, HOSTED[1:])


def test_latency_has_the_buckets_of_the_proxy() -> None:
    buckets = latency_buckets(100_000)
    total = sum(count for _, count in buckets)
    assert total == pytest.approx(100_000, rel=0.01)
    assert [highest for highest, _ in buckets] == sorted({highest for highest, _ in buckets})
    assert all(highest < 2048 or highest % 2 for highest, _ in buckets), "above 2,047 µs, buckets are 2 µs wide"
    below = 0
    for highest, count in buckets:
        below += count
        if below >= total / 2:
            assert highest == pytest.approx(600, rel=0.02)
            break
