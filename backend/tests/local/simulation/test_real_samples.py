"""Comparison of simulated samples with those of real shards."""

import json
import time
from pathlib import Path

import pytest
from backend.tests.support.real_shards import ENGINE, local_nodes, plan_shards, start_database

from shardboard.agent.databases.probe_rate import ProbeRate
from shardboard.agent.databases.proxy import ProxyProcess
from shardboard.agent.metrics import sampler as sampling
from shardboard.agent.metrics.machine import MachineSampler
from shardboard.agent.metrics.sample_ring import SampleRing
from shardboard.agent.metrics.sampler import Sampler
from shardboard.contract import NODE_FIELDS, SHARD_FIELDS, Sample
from shardboard.driver import valkey_cluster
from shardboard.local.simulation.agents import SimulatedAgents
from shardboard.local.simulation.samples import NodeSampler


def known(names: tuple[str, ...], row: list[float | None]) -> set[str]:
    return {name for name, value in zip(names, row, strict=True) if value is not None}


@pytest.mark.slow
async def test_simulated_rows_have_the_fields_and_size_of_real_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "TIMEOUT", 30)
    async with local_nodes(tmp_path) as real:
        shards = plan_shards(real.nodes * 3, 3, replication=True)
        await start_database(real, ENGINE, shards)
        settings = real.settings[1]
        sampler = Sampler(real[1], MachineSampler(settings), ProxyProcess(settings), ProbeRate(), settings.address)
        for _ in range(2):
            await sampler._beat(int(time.time()))
        measured = Sample.model_validate_json(sampler.ring.newest)
    agents = SimulatedAgents()
    agents.nodes = {node.uid: node for node in real.nodes}
    uids = [shard.uid for shard in shards]
    assert await valkey_cluster.start(agents, ENGINE, shards, {1: uids}) == {}
    await valkey_cluster.promote_initial_primaries(agents, shards[:3])
    simulated = NodeSampler(agents, real.nodes[0], 0, SampleRing()).sample(int(time.time()))
    assert simulated.shards.keys() == measured.shards.keys()
    for uid in uids:
        rows = [sample.shards[uid] for sample in (simulated, measured)]
        assert known(SHARD_FIELDS, rows[0]) == known(SHARD_FIELDS, rows[1])
        sizes = [len(json.dumps(row)) for row in rows]
        assert sizes[0] == pytest.approx(sizes[1], rel=0.15), rows
    assert known(NODE_FIELDS, simulated.node) >= known(NODE_FIELDS, measured.node)
