"""One second of real shards: what is counted, what is not, and what happens when one does not answer."""

import asyncio
import time
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import hiredis
import psutil
import pytest
from backend.tests.shards import ENGINE, Farm, ask, bring_up, ended, farm, layout, lone, request, seconds, until

from shardboard.agent import sampler as sampling
from shardboard.agent.contract import NODE_FIELDS, RING_SECONDS, SHARD_FIELDS, Sample
from shardboard.agent.machine import MachineSampler
from shardboard.agent.probe_rate import ProbeRate
from shardboard.agent.proxy import Proxy
from shardboard.agent.sampler import Sampler, next_second


class Watched:
    """Two running shards and a sampler whose seconds are taken when the test says so."""

    def __init__(self, node: Farm) -> None:
        self.node = node
        self.sampler = Sampler(
            node[1], MachineSampler(node.settings[1]), Proxy(node.settings[1]), ProbeRate(), "127.0.0.1"
        )

    async def beat(self) -> Sample:
        await self.sampler._beat(int(time.time()))
        return Sample.model_validate_json(self.sampler._ring[-1][1])

    async def values(self, uid: int = 1) -> dict[str, float | None]:
        sample = await self.beat()
        assert uid in sample.shards, sample.missing
        return dict(zip(SHARD_FIELDS, sample.shards[uid], strict=True))


@pytest.fixture
async def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Watched]:
    monkeypatch.setattr(
        sampling, "TIMEOUT", 30
    )  # these seconds are the test's: no shard is late unless it is made to be
    async with farm(tmp_path) as node:
        assert all(outcome.ok for outcome in await node[1].start(request(lone(1), lone(2))))
        yield Watched(node)


class Client:
    """Somebody else's connection, whose traffic must be counted to the byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.sent = self.received = 0

    @classmethod
    async def open(cls, watched: Watched) -> "Client":
        return cls(*await asyncio.open_connection(watched.node.settings[1].address, lone(1).port))

    async def execute(self, *argv: str) -> object:
        data = hiredis.pack_command(argv)  # type: ignore[arg-type]
        self._writer.write(data)
        self.sent += len(data)
        parser = hiredis.Reader()
        while (reply := parser.gets()) is False:
            received = await self._reader.read(65536)
            self.received += len(received)
            parser.feed(received)
        return reply

    def close(self) -> None:
        self._writer.close()


COUNTERS = ("read_cmds", "write_cmds", "other_cmds", "net_in", "net_out")


def grown(before: dict[str, float | None], after: dict[str, float | None]) -> dict[str, float]:
    return {name: (after[name] or 0) - (before[name] or 0) for name in COUNTERS}


@pytest.mark.parametrize(
    ("now", "offset", "last", "second"),
    [
        (10.0, 0.0, 10, 11),
        (10.2, 0.3, 9, 10),
        (10.4, 0.3, 10, 11),
        (10.2, 0.3, 10, 11),  # the offset was smaller before
        (10.9999, 0.0, 11, 12),  # it woke too early
        (10.2, 0.3, 3600, 10),  # the clock was set back
    ],
)
def test_each_second_is_sampled_once(now: float, offset: float, last: int, second: int) -> None:
    assert next_second(now, offset, last) == second


async def test_an_idle_shard_does_nothing_at_all(watched: Watched) -> None:
    before = await watched.values()
    for _ in range(30):
        after = await watched.values()
        assert grown(before, after) == dict.fromkeys(COUNTERS, 0)
        before = after


async def test_what_the_console_sends_is_not_traffic(watched: Watched) -> None:
    before = await watched.values()
    shard = watched.node[1].shards[1]
    await ask(shard, "CONFIG", "SET", "maxmemory", "100mb")
    await ask(shard, "FLUSHALL")
    await ask(shard, "GET", "key")
    shard.disconnect()
    assert grown(before, await watched.values()) == dict.fromkeys(COUNTERS, 0)


async def test_what_the_console_sends_during_a_sample_is_not_traffic_either(watched: Watched) -> None:
    before = await watched.values()
    shard = watched.node[1].shards[1]
    for _ in range(20):
        during, *_ = await asyncio.gather(watched.values(), *(ask(shard, "GET", "key") for _ in range(5)))
        after = await watched.values()
        # Replies on their way may be counted a second later, but nothing is ever counted as a client's.
        assert {name: grown(before, during)[name] for name in COUNTERS[:4]} == dict.fromkeys(COUNTERS[:4], 0)
        assert grown(before, after) == dict.fromkeys(COUNTERS, 0)
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
async def test_commands_are_counted_by_what_they_do(watched: Watched, argv: tuple[str, ...], kind: str) -> None:
    client = await Client.open(watched)
    await client.execute("PING")
    before, traffic = await watched.values(), (client.sent, client.received)
    for _ in range(3):
        assert not isinstance(await client.execute(*argv), hiredis.ReplyError)
    after = await watched.values()
    client.close()
    assert grown(before, after) == {
        **dict.fromkeys(COUNTERS, 0),
        kind: 3,
        "net_in": client.sent - traffic[0],
        "net_out": client.received - traffic[1],
    }


async def test_a_script_counts_as_itself_and_as_what_it_calls(watched: Watched) -> None:
    client = await Client.open(watched)
    before = await watched.values()
    assert await client.execute(
        "EVAL", "redis.call('SET', KEYS[1], 'v'); return redis.call('GET', KEYS[1])", "1", "key"
    )
    delta = grown(before, await watched.values())
    client.close()
    assert (delta["other_cmds"], delta["write_cmds"], delta["read_cmds"]) == (1, 1, 1)


async def test_replication_is_not_traffic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "TIMEOUT", 30)
    async with farm(tmp_path) as node:
        replica = lone(2, role="slave", primary=(node.settings[1].address, lone(1).port))
        assert all(outcome.ok for outcome in await node[1].start(request(lone(1), replica)))
        watched = Watched(node)
        await until(lambda: linked(watched))  # until then the replica introduces itself with PING and AUTH
        before = await watched.values()
        for _ in range(20):
            after = await watched.values()
        assert {name: grown(before, after)[name] for name in COUNTERS[:3]} == dict.fromkeys(COUNTERS[:3], 0)
        assert (after["is_primary"], (await watched.values(2))["is_primary"]) == (1, 0)


async def linked(watched: Watched) -> bool:
    return (await watched.values(2))["link_up"] == 1


async def test_gauges_and_keyspace(watched: Watched) -> None:
    client = await Client.open(watched)
    await client.execute("MSET", "one", "1", "two", "2", "three", "3")
    await client.execute("EXPIRE", "one", "1000")
    await client.execute("MGET", "one", "two", "missing")
    values = await watched.values()
    client.close()
    expected = {"keys": 3, "expires": 1, "hits": 2, "misses": 1, "clients": 1, "loading": 0, "link_up": 1}
    assert {name: values[name] for name in expected} == expected
    assert values["started_at"] == watched.node[1].shards[1].record.started_at
    assert (values["used_memory"] or 0) > 100_000
    assert 0 < (values["ping_ms"] or 0) < 30_000
    assert {name for name, value in values.items() if value is None} == {"cluster_down"}, "it is in no cluster"


async def test_a_frozen_shard_is_missing_and_holds_nobody_up(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    await watched.beat()
    before = await watched.values()
    frozen = psutil.Process(watched.node[1].shards[1].record.pid)
    frozen.suspend()
    monkeypatch.setattr(sampling, "TIMEOUT", 1)
    try:
        async with asyncio.timeout(20):
            for _ in range(2):
                sample = await watched.beat()
                assert sample.missing == {1: "it did not answer INFO within 1 s"}
                assert list(sample.shards) == [2]
    finally:
        frozen.resume()
    monkeypatch.setattr(sampling, "TIMEOUT", 30)
    assert grown(before, await watched.values()) == dict.fromkeys(COUNTERS, 0)


async def test_a_shard_frozen_before_the_agent_met_it_does_not_collect_connections(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    await watched.node[1].remove([2])  # so that every descriptor that comes or goes is the frozen one's
    monkeypatch.setattr(sampling, "TIMEOUT", 0.1)
    watched.node[1].shards[1].disconnect()
    frozen = psutil.Process(watched.node[1].shards[1].record.pid)
    frozen.suspend()
    try:
        await watched.beat()
        mine = psutil.Process().num_fds()
        for _ in range(5):
            await watched.beat()
        assert psutil.Process().num_fds() <= mine
    finally:
        frozen.resume()
    monkeypatch.setattr(sampling, "TIMEOUT", 30)
    assert (await watched.values())["clients"] == 0


async def test_a_dead_shard_is_told_with_the_signal_that_killed_it(watched: Watched) -> None:
    victim = psutil.Process(watched.node[1].shards[1].record.pid)
    victim.kill()
    await until(lambda: ended(victim))
    sample = await watched.beat()
    assert list(sample.shards) == [2]
    assert sample.died[1] == "its process was killed by SIGKILL"
    assert not sample.missing


async def test_a_primary_that_lost_its_cluster_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers INFO and PING as before, and refuses all else."""
    monkeypatch.setattr(sampling, "TIMEOUT", 30)
    async with farm(tmp_path) as node:
        watched = Watched(node)
        await bring_up(node, ENGINE, layout(node.nodes * 3, 3, replication=False))

        async def believes(said: float) -> bool:
            return (await watched.values())["cluster_down"] == said

        await until(lambda: believes(0.0))
        before = await watched.values()
        assert grown(before, await watched.values()) == dict.fromkeys(COUNTERS, 0), "the question is not traffic"
        shards = node[1].shards
        await ask(shards[1], "CONFIG", "SET", "cluster-node-timeout", "200")
        for uid in (2, 3):
            psutil.Process(shards[uid].record.pid).kill()
        await until(lambda: believes(1.0))


async def test_samples_come_on_the_second_with_rising_numbers(watched: Watched) -> None:
    running = asyncio.create_task(watched.sampler.run())
    samples: list[Sample] = []
    try:
        async for sample in first(30, watched.sampler.follow(0, "")):
            samples.append(sample)
            if any(in_time(one, other) for one, other in pairwise(samples)):
                break
        else:
            raise AssertionError([(sample.t, sample.at) for sample in samples])
    finally:
        running.cancel()
    assert [sample.seq for sample in samples] == list(range(1, len(samples) + 1))
    assert all(one.t < other.t for one, other in pairwise(samples)), "a machine that stalls leaves seconds out"
    assert all(sample.at >= sample.t for sample in samples)
    assert all(len(sample.node) == len(NODE_FIELDS) for sample in samples)


def in_time(one: Sample, other: Sample) -> bool:
    """Two seconds on end, each taken soon after it had begun."""
    return other.t == one.t + 1 and max(one.at - one.t, other.at - other.t) < 0.9


async def test_one_bad_second_does_not_end_the_watch(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = []

    def fail_once() -> list[float]:
        attempts.append(1)
        if len(attempts) == 1:
            raise OSError("no such disk")
        return [0.0] * len(NODE_FIELDS)

    monkeypatch.setattr(watched.sampler._machine, "sample", fail_once)
    running = asyncio.create_task(watched.sampler.run())
    try:
        async with asyncio.timeout(30):
            assert [sample.seq async for sample in first(1, watched.sampler.follow(0, ""))] == [1]
    finally:
        running.cancel()
    assert len(attempts) >= 2


async def first(count: int, samples: AsyncIterator[bytes]) -> AsyncIterator[Sample]:
    known = seconds(samples)
    for _ in range(count):
        yield await anext(known)


@pytest.fixture
async def full_ring(tmp_path: Path) -> Sampler:
    """A sampler without shards that has seen more seconds than it keeps."""
    node = Farm(tmp_path, 1)
    tmp_path.joinpath("node1").mkdir()
    sampler = Sampler(node[1], MachineSampler(node.settings[1]), Proxy(node.settings[1]), ProbeRate(), "127.0.0.1")
    for _ in range(RING_SECONDS + 5):
        await sampler._beat(int(time.time()))
    return sampler


async def numbers(sampler: Sampler, after: int, boot: str, count: int) -> list[int]:
    return [sample.seq async for sample in first(count, sampler.follow(after, boot))]


async def test_who_comes_back_gets_what_was_missed(full_ring: Sampler) -> None:
    boot = full_ring._boot
    assert await numbers(full_ring, 120, boot, 5) == [121, 122, 123, 124, 125]
    oldest = 125 - RING_SECONDS + 1
    assert await numbers(full_ring, 2, boot, 3) == [oldest, oldest + 1, oldest + 2]
    assert await numbers(full_ring, 120, "another agent process", 2) == [oldest, oldest + 1]
    assert await numbers(full_ring, 0, "", RING_SECONDS) == list(range(oldest, 126))


async def test_who_is_up_to_date_waits_for_the_next(full_ring: Sampler) -> None:
    following = seconds(full_ring.follow(125, full_ring._boot))
    waiting = [
        asyncio.ensure_future(anext(following)),
        asyncio.ensure_future(numbers(full_ring, 125, full_ring._boot, 1)),
    ]
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)
    await full_ring._beat(int(time.time()))
    assert (await waiting[0]).seq == 126
    assert await waiting[1] == [126]


def line(noticed: int) -> dict[str, object]:
    counts = dict.fromkeys(("waited", "failed", "lost"), 0) | {"last_success_ms": None, "first_success_ms": None}
    return {"uid": 1, "address": "10.0.0.2", "port": 20000, "slots": [(0, 16383)], "noticed_ms": noticed} | counts


async def test_who_comes_gets_all_outages_that_are_remembered(full_ring: Sampler) -> None:
    full_ring._proxy.outages.add(line(1))
    await full_ring._beat(int(time.time()))
    full_ring._proxy.outages.add(line(2))
    await full_ring._beat(int(time.time()))

    async def told(after: int, count: int) -> list[list[int]]:
        following = first(count, full_ring.follow(after, full_ring._boot))
        return [[outage.noticed_ms for outage in sample.outages] async for sample in following]

    assert await told(125, 2) == [[1, 2], [2]]
    assert await told(0, 3) == [[1, 2], [], []], "also those of samples that are gone"
    following = first(1, full_ring.follow(127, full_ring._boot))
    waiting = asyncio.ensure_future(anext(following))
    await asyncio.sleep(0)
    await full_ring._beat(int(time.time()))
    assert [outage.noticed_ms for outage in (await waiting).outages] == [1, 2], (
        "also of one that took its sample and failed"
    )
