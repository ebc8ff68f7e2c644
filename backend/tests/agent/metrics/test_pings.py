"""Tests of PINGs between samples: stored durations, stalls, and exclusion from the traffic of clients."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from backend.tests.support.real_shards import (
    LocalNodes,
    execute_as_admin,
    local_nodes,
    standalone_shard,
    start_request,
    wait_until,
)

from shardboard.agent.databases.engine_client import EngineError
from shardboard.agent.databases.probe_rate import RATES, ProbeRate
from shardboard.agent.databases.proxy import ProxyProcess
from shardboard.agent.databases.shard import LocalShard
from shardboard.agent.metrics import sampler as sampling
from shardboard.agent.metrics.machine import MachineSampler
from shardboard.agent.metrics.pings import MAX_PINGS, PingSampler
from shardboard.agent.metrics.sampler import Sampler
from shardboard.contract import SHARD_FIELDS, Sample


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[LocalNodes]:
    async with local_nodes(tmp_path) as nodes:
        assert all(
            outcome.ok for outcome in await nodes[1].start(start_request(standalone_shard(1), standalone_shard(2)))
        )
        for shard in shards(nodes):
            await execute_as_admin(shard, "PING")
        yield nodes


def shards(node: LocalNodes) -> list[LocalShard]:
    return [node[1].shards[uid] for uid in sorted(node[1].shards)]


async def test_every_answer_is_returned_once(node: LocalNodes) -> None:
    pings = PingSampler(ProbeRate())
    counts = {1: 0, 2: 0}
    for _ in range(3):
        pings.send(shards(node))
        # A slow answer counts several times, so a busy machine can produce more than three values.
        await wait_until(
            lambda counts=counts: all(len(pings._waits[uid].taken) > count for uid, count in counts.items())
        )
        counts = {uid: len(pings._waits[uid].taken) for uid in counts}
    durations = pings.take(1)
    assert len(durations) == counts[1] >= 3
    assert all(0 < microseconds < 5_000_000 for microseconds in durations)
    assert not pings.has_results(1)
    assert pings.has_results(2)
    pings.retain([1])
    assert pings.take(2) == []


async def test_shard_with_a_pending_ping_gets_no_second_one(node: LocalNodes) -> None:
    pings, shard = PingSampler(ProbeRate()), shards(node)[0]
    before = shard.own_traffic.commands["ping"]
    frozen = psutil.Process(shard.record.pid)
    frozen.suspend()
    try:
        for _ in range(5):
            pings.send(shards(node))
            await asyncio.sleep(0)
        assert shard.own_traffic.commands["ping"] == before + 1
        assert not pings.has_results(1)
    finally:
        frozen.resume()
    await wait_until(lambda: pings.has_results(1))


def test_stall_counts_as_several_slow_pings() -> None:
    answered: list[Any] = []

    def record_callback(_data: bytes, _name: str, then: Any) -> None:
        answered.append(then)

    # The connection is simulated, because a real one does not wait if the machine stalls for 5 ms here.
    connection = SimpleNamespace(
        idle=True, last_seconds=0.35, send_and_wait=record_callback, send_packed=record_callback
    )
    shard: Any = SimpleNamespace(connection=connection, record=SimpleNamespace(spec=SimpleNamespace(uid=1)))
    pings = PingSampler(ProbeRate())
    pings.send([shard])
    answered[0]("PONG")
    assert pings.take(1) == [350_000, 250_000, 150_000, 50_000]
    pings.send([shard])
    answered[1](EngineError("the shard closed the connection"))
    assert pings.take(1) == []


def test_agents_with_many_shards_probe_each_shard_less_often() -> None:
    disconnected: Any = SimpleNamespace(connection=None)
    assert PingSampler(ProbeRate()).send([disconnected] * 10) == 1 / RATES[-1]
    assert PingSampler(ProbeRate()).send([disconnected] * 50) == 50 / MAX_PINGS
    assert PingSampler(ProbeRate()).send([disconnected] * 500) == 1


def test_shards_on_a_crowded_machine_are_probed_less_often() -> None:
    disconnected: Any = SimpleNamespace(connection=None)
    rate = ProbeRate()
    rate.per_second = 2
    assert PingSampler(rate).send([disconnected]) == 0.5


async def test_pings_are_not_counted_as_traffic(node: LocalNodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "TIMEOUT", 30)
    sampler = Sampler(
        node[1], MachineSampler(node.settings[1]), ProxyProcess(node.settings[1]), ProbeRate(), "127.0.0.1"
    )
    pings = sampler._readings.pings
    payloads: list[dict[str, Any]] = []
    for _ in range(10):
        for _ in range(7):
            pings.send(shards(node))
            await asyncio.sleep(0)
        await sampler._beat(int(time.time()))
        sample = Sample.model_validate_json(sampler.ring.newest)
        assert sorted(sample.shards) == [1, 2]
        assert list(sample.pings) == [1]
        values = dict(zip(SHARD_FIELDS, sample.shards[1], strict=True))
        assert 0 < values["ping_p50_ms"] <= values["ping_ms"]  # type: ignore[operator]
        assert round(values["ping_ms"] * 1000) <= max(sample.pings[1])  # type: ignore[operator]
        payloads.append(values)
    for name in ("read_cmds", "write_cmds", "other_cmds", "net_in", "net_out"):
        assert {values[name] for values in payloads} == {payloads[0][name]}, name
