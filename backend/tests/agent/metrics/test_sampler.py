"""Tests of the samples of real shards: what is counted, what is not, and shards that do not answer."""

import asyncio
import time
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import hiredis
import psutil
import pytest
from backend.tests.support.real_shards import (
    ENGINE,
    LocalNodes,
    execute_as_admin,
    has_exited,
    local_nodes,
    plan_shards,
    standalone_shard,
    start_database,
    start_request,
    wait_until,
    without_pulses,
)

from shardboard.agent.databases.probe_rate import ProbeRate
from shardboard.agent.databases.proxy import ProxyProcess
from shardboard.agent.metrics import sample_ring
from shardboard.agent.metrics import sampler as sampling
from shardboard.agent.metrics.machine import MachineSampler
from shardboard.agent.metrics.sampler import Sampler, next_second
from shardboard.contract import NODE_FIELDS, RING_SECONDS, SHARD_FIELDS, Sample


class SampledNode:
    """Two running shards and a sampler that takes samples when the test calls it."""

    def __init__(self, node: LocalNodes) -> None:
        self.node = node
        self.sampler = Sampler(
            node[1], MachineSampler(node.settings[1]), ProxyProcess(node.settings[1]), ProbeRate(), "127.0.0.1"
        )

    async def beat(self) -> Sample:
        await self.sampler._beat(int(time.time()))
        return Sample.model_validate_json(self.sampler.ring.newest)

    async def values(self, uid: int = 1) -> dict[str, float | None]:
        sample = await self.beat()
        assert uid in sample.shards, sample.missing
        return dict(zip(SHARD_FIELDS, sample.shards[uid], strict=True))


@pytest.fixture
async def sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SampledNode]:
    # Slow machines must not cause missing shards.
    monkeypatch.setattr(sampling, "TIMEOUT", 30)
    async with local_nodes(tmp_path) as node:
        assert all(
            outcome.ok for outcome in await node[1].start(start_request(standalone_shard(1), standalone_shard(2)))
        )
        yield SampledNode(node)


class Client:
    """Connection of an application. Its traffic must be counted to the byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.sent = self.received = 0

    @classmethod
    async def open(cls, sampled: SampledNode) -> "Client":
        return cls(*await asyncio.open_connection(sampled.node.settings[1].address, standalone_shard(1).port))

    async def execute(self, *argv: str) -> object:
        data = hiredis.pack_command(argv)  # type: ignore[arg-type]
        self._writer.write(data)
        self.sent += len(data)
        parser = hiredis.Reader()
        while (reply := parser.gets()) is False:
            chunk = await self._reader.read(65536)
            self.received += len(chunk)
            parser.feed(chunk)
        return reply

    def close(self) -> None:
        self._writer.close()


COUNTERS = ("read_cmds", "write_cmds", "other_cmds", "net_in", "net_out")


def growth(before: dict[str, float | None], after: dict[str, float | None]) -> dict[str, float]:
    return {name: (after[name] or 0) - (before[name] or 0) for name in COUNTERS}


@pytest.mark.parametrize(
    ("now", "offset", "last", "second"),
    [
        (10.0, 0.0, 10, 11),
        (10.2, 0.3, 9, 10),
        (10.4, 0.3, 10, 11),
        (10.2, 0.3, 10, 11),  # the offset was smaller before
        (10.9999, 0.0, 11, 12),  # woken too early
        (10.2, 0.3, 3600, 10),  # the clock was set back
    ],
)
def test_each_second_is_sampled_once(now: float, offset: float, last: int, second: int) -> None:
    assert next_second(now, offset, last) == second


async def test_idle_shard_has_no_traffic(sampled: SampledNode) -> None:
    before = await sampled.values()
    for _ in range(30):
        after = await sampled.values()
        assert growth(before, after) == dict.fromkeys(COUNTERS, 0)
        before = after


async def test_commands_of_the_console_are_not_traffic(sampled: SampledNode) -> None:
    before = await sampled.values()
    shard = sampled.node[1].shards[1]
    await execute_as_admin(shard, "CONFIG", "SET", "maxmemory", "100mb")
    await execute_as_admin(shard, "FLUSHALL")
    await execute_as_admin(shard, "GET", "key")
    shard.disconnect()
    assert growth(before, await sampled.values()) == dict.fromkeys(COUNTERS, 0)


async def test_commands_of_the_console_during_a_sample_are_not_traffic(sampled: SampledNode) -> None:
    before = await sampled.values()
    shard = sampled.node[1].shards[1]
    for _ in range(20):
        during, *_ = await asyncio.gather(sampled.values(), *(execute_as_admin(shard, "GET", "key") for _ in range(5)))
        after = await sampled.values()
        # Replies in transit can be counted one second later, but are never counted as traffic of clients.
        assert {name: growth(before, during)[name] for name in COUNTERS[:4]} == dict.fromkeys(COUNTERS[:4], 0)
        assert growth(before, after) == dict.fromkeys(COUNTERS, 0)
        before = after


COMMANDS = [
    (("SET", "key", "value"), "write_cmds"),
    (("GET", "key"), "read_cmds"),
    (("MGET", "key", "other"), "read_cmds"),
    (("EXPIRE", "key", "100"), "write_cmds"),
    (("DEL", "key"), "write_cmds"),
    (("EXISTS", "key"), "read_cmds"),
    (("PING",), "other_cmds"),
    (("DBSIZE",), "other_cmds"),
    (("CLIENT", "ID"), "other_cmds"),
]


@pytest.mark.parametrize(("argv", "kind"), COMMANDS, ids=[" ".join(argv[:2]) for argv, _ in COMMANDS])
async def test_commands_are_counted_by_kind(sampled: SampledNode, argv: tuple[str, ...], kind: str) -> None:
    client = await Client.open(sampled)
    await client.execute("PING")
    before, traffic = await sampled.values(), (client.sent, client.received)
    for _ in range(3):
        assert not isinstance(await client.execute(*argv), hiredis.ReplyError)
    after = await sampled.values()
    client.close()
    assert growth(before, after) == {
        **dict.fromkeys(COUNTERS, 0),
        kind: 3,
        "net_in": client.sent - traffic[0],
        "net_out": client.received - traffic[1],
    }


async def test_script_is_counted_with_the_commands_it_calls(sampled: SampledNode) -> None:
    client = await Client.open(sampled)
    before = await sampled.values()
    assert await client.execute(
        "EVAL", "redis.call('SET', KEYS[1], 'v'); return redis.call('GET', KEYS[1])", "1", "key"
    )
    delta = growth(before, await sampled.values())
    client.close()
    assert (delta["other_cmds"], delta["write_cmds"], delta["read_cmds"]) == (1, 1, 1)


async def test_replication_is_not_traffic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "TIMEOUT", 30)
    async with local_nodes(tmp_path) as node:
        replica = standalone_shard(2, role="slave", primary=(node.settings[1].address, standalone_shard(1).port))
        assert all(outcome.ok for outcome in await node[1].start(start_request(standalone_shard(1), replica)))
        sampled_node = SampledNode(node)
        await wait_until(lambda: is_linked(sampled_node))  # before this, the replica sends PING and AUTH
        before = await sampled_node.values()
        for _ in range(20):
            after = await sampled_node.values()
        assert {name: growth(before, after)[name] for name in COUNTERS[:3]} == dict.fromkeys(COUNTERS[:3], 0)
        assert (after["is_primary"], (await sampled_node.values(2))["is_primary"]) == (1, 0)


async def is_linked(sampled: SampledNode) -> bool:
    return (await sampled.values(2))["link_up"] == 1


async def test_gauges_and_keyspace_statistics_are_sampled(sampled: SampledNode) -> None:
    client = await Client.open(sampled)
    await client.execute("MSET", "one", "1", "two", "2", "three", "3")
    await client.execute("EXPIRE", "one", "1000")
    await client.execute("MGET", "one", "two", "missing")
    values = await sampled.values()
    client.close()
    expected = {"keys": 3, "expires": 1, "hits": 2, "misses": 1, "clients": 1, "loading": 0, "link_up": 1}
    assert {name: values[name] for name in expected} == expected
    assert values["started_at"] == sampled.node[1].shards[1].record.started_at
    assert (values["used_memory"] or 0) > 100_000
    assert 0 < (values["ping_ms"] or 0) < 30_000
    assert {name for name, value in values.items() if value is None} == {"cluster_down"}, (
        "the shard is not in cluster mode"
    )


async def test_frozen_shard_is_missing_and_does_not_delay_others(
    sampled: SampledNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sampled.beat()
    before = await sampled.values()
    frozen = psutil.Process(sampled.node[1].shards[1].record.pid)
    frozen.suspend()
    monkeypatch.setattr(sampling, "TIMEOUT", 1)
    try:
        async with asyncio.timeout(20):
            for _ in range(2):
                sample = await sampled.beat()
                assert sample.missing == {1: "it did not reply to INFO within 1 s"}
                assert list(sample.shards) == [2]
    finally:
        frozen.resume()
    monkeypatch.setattr(sampling, "TIMEOUT", 30)
    assert growth(before, await sampled.values()) == dict.fromkeys(COUNTERS, 0)


async def test_frozen_shard_does_not_accumulate_connections(
    sampled: SampledNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sampled.node[1].remove([2])  # so that all changes of descriptors belong to the frozen shard
    monkeypatch.setattr(sampling, "TIMEOUT", 0.1)
    sampled.node[1].shards[1].disconnect()
    frozen = psutil.Process(sampled.node[1].shards[1].record.pid)
    frozen.suspend()
    try:
        await sampled.beat()
        descriptor_count = psutil.Process().num_fds()
        for _ in range(5):
            await sampled.beat()
        assert psutil.Process().num_fds() <= descriptor_count
    finally:
        frozen.resume()
    monkeypatch.setattr(sampling, "TIMEOUT", 30)
    assert (await sampled.values())["clients"] == 0


async def test_dead_shard_is_reported_with_its_signal(sampled: SampledNode) -> None:
    victim = psutil.Process(sampled.node[1].shards[1].record.pid)
    victim.kill()
    await wait_until(lambda: has_exited(victim))
    sample = await sampled.beat()
    assert list(sample.shards) == [2]
    assert sample.died[1] == "its process was killed by SIGKILL"
    assert not sample.missing


async def test_primary_without_cluster_majority_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a primary answers INFO and PING and rejects all other commands."""
    monkeypatch.setattr(sampling, "TIMEOUT", 30)
    async with local_nodes(tmp_path) as node:
        sampled_node = SampledNode(node)
        await start_database(node, ENGINE, plan_shards(node.nodes * 3, 3, replication=False))

        async def reports_cluster_down(expected_value: float) -> bool:
            return (await sampled_node.values())["cluster_down"] == expected_value

        await wait_until(lambda: reports_cluster_down(0.0))
        before = await sampled_node.values()
        assert growth(before, await sampled_node.values()) == dict.fromkeys(COUNTERS, 0), (
            "CLUSTER INFO is not counted as traffic"
        )
        shards = node[1].shards
        await execute_as_admin(shards[1], "CONFIG", "SET", "cluster-node-timeout", "200")
        for uid in (2, 3):
            psutil.Process(shards[uid].record.pid).kill()
        await wait_until(lambda: reports_cluster_down(1.0))


async def test_samples_are_taken_each_second_with_increasing_numbers(sampled: SampledNode) -> None:
    task = asyncio.create_task(sampled.sampler.run())
    samples: list[Sample] = []
    try:
        async for sample in take_samples(30, sampled.sampler.ring.follow(0, "")):
            samples.append(sample)
            if any(in_time(one, other) for one, other in pairwise(samples)):
                break
        else:
            raise AssertionError([(sample.t, sample.at) for sample in samples])
    finally:
        task.cancel()
    assert [sample.seq for sample in samples] == list(range(1, len(samples) + 1))
    assert all(one.t < other.t for one, other in pairwise(samples)), (
        "seconds are skipped if the machine stalls, but not repeated"
    )
    assert all(sample.at >= sample.t for sample in samples)
    assert all(len(sample.node) == len(NODE_FIELDS) for sample in samples)


def in_time(one: Sample, other: Sample) -> bool:
    """Whether the samples are of consecutive seconds and were taken on time."""
    return other.t == one.t + 1 and max(one.at - one.t, other.at - other.t) < 0.9


async def test_failed_sample_does_not_end_the_loop(sampled: SampledNode, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = []

    def fail_once() -> list[float]:
        attempts.append(1)
        if len(attempts) == 1:
            raise OSError("no such disk")
        return [0.0] * len(NODE_FIELDS)

    monkeypatch.setattr(sampled.sampler._machine, "sample", fail_once)
    task = asyncio.create_task(sampled.sampler.run())
    try:
        async with asyncio.timeout(30):
            assert [sample.seq async for sample in take_samples(1, sampled.sampler.ring.follow(0, ""))] == [1]
    finally:
        task.cancel()
    assert len(attempts) >= 2


async def take_samples(count: int, samples: AsyncIterator[bytes]) -> AsyncIterator[Sample]:
    stream = without_pulses(samples)
    for _ in range(count):
        yield await anext(stream)


@pytest.fixture
async def full_ring(tmp_path: Path) -> Sampler:
    """Return a sampler without shards that took more samples than it keeps."""
    node = LocalNodes(tmp_path, 1)
    tmp_path.joinpath("node1").mkdir()
    sampler = Sampler(
        node[1], MachineSampler(node.settings[1]), ProxyProcess(node.settings[1]), ProbeRate(), "127.0.0.1"
    )
    for _ in range(RING_SECONDS + 5):
        await sampler._beat(int(time.time()))
    return sampler


async def sample_numbers(sampler: Sampler, after: int, boot: str, count: int) -> list[int]:
    return [sample.seq async for sample in take_samples(count, sampler.ring.follow(after, boot))]


async def test_reconnecting_client_gets_missed_samples(full_ring: Sampler) -> None:
    boot = full_ring.ring.boot
    assert await sample_numbers(full_ring, 120, boot, 5) == [121, 122, 123, 124, 125]
    oldest = 125 - RING_SECONDS + 1
    assert await sample_numbers(full_ring, 2, boot, 3) == [oldest, oldest + 1, oldest + 2]
    assert await sample_numbers(full_ring, 120, "another agent process", 2) == [oldest, oldest + 1]
    assert await sample_numbers(full_ring, 0, "", RING_SECONDS) == list(range(oldest, 126))


async def test_client_without_missed_samples_waits_for_the_next(full_ring: Sampler) -> None:
    stream = without_pulses(full_ring.ring.follow(125, full_ring.ring.boot))
    tasks = [
        asyncio.ensure_future(anext(stream)),
        asyncio.ensure_future(sample_numbers(full_ring, 125, full_ring.ring.boot, 1)),
    ]
    await asyncio.sleep(0)
    assert not any(task.done() for task in tasks)
    await full_ring._beat(int(time.time()))
    assert (await tasks[0]).seq == 126
    assert await tasks[1] == [126]


async def test_console_that_does_not_lead_gets_rare_pulses(full_ring: Sampler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_ring, "PULSE_SECONDS", 0.01)
    monkeypatch.setattr(sample_ring, "RARE_PULSE_SECONDS", 60)
    stream = full_ring.ring.follow(124, full_ring.ring.boot, rare_pulses=True)
    assert await anext(stream) != sample_ring.PULSE
    assert await anext(stream) == sample_ring.PULSE, "it has received all earlier samples"
    following = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0.1)
    assert not following.done()
    await full_ring._beat(int(time.time()))
    assert await following != sample_ring.PULSE


def line(noticed: int) -> dict[str, object]:
    counts = dict.fromkeys(("waited", "failed", "lost"), 0) | {"last_success_ms": None, "first_success_ms": None}
    return {"uid": 1, "address": "10.0.0.2", "port": 20000, "slots": [(0, 16383)], "noticed_ms": noticed} | counts


async def test_first_sample_of_a_stream_contains_all_kept_outages(full_ring: Sampler) -> None:
    full_ring._proxy.outages.add(line(1))
    await full_ring._beat(int(time.time()))
    full_ring._proxy.outages.add(line(2))
    await full_ring._beat(int(time.time()))

    async def outages_of_stream(after: int, count: int) -> list[list[int]]:
        stream = take_samples(count, full_ring.ring.follow(after, full_ring.ring.boot))
        return [[outage.noticed_ms for outage in sample.outages] async for sample in stream]

    assert await outages_of_stream(125, 2) == [[1, 2], [2]]
    assert await outages_of_stream(0, 3) == [[1, 2], [], []], "outages of samples that are no longer kept are included"
    stream = take_samples(1, full_ring.ring.follow(127, full_ring.ring.boot))
    task = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    await full_ring._beat(int(time.time()))
    assert [outage.noticed_ms for outage in (await task).outages] == [1, 2], (
        "outages are sent again to a client that failed after it received their sample"
    )
