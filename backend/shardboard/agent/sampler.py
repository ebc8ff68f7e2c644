"""Once a second, on the second: read every local shard and the machine into a ring of samples with sequence numbers."""

import asyncio
import contextlib
import logging
import time
import uuid
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Literal, NamedTuple

from shardboard.agent.commands import CommandClasses
from shardboard.agent.contract import PULSE_SECONDS, RING_SECONDS, SHARD_FIELDS, Sample
from shardboard.agent.machine import MachineSampler
from shardboard.agent.processes import Shard, Supervisor
from shardboard.agent.resp import EngineError

log = logging.getLogger(__name__)

SECTIONS = ("server", "clients", "memory", "persistence", "stats", "replication", "cpu", "keyspace", "commandstats")
TIMEOUT = 0.8
"""Seconds; a shard that needs longer leaves a gap in this second, so that the beat is kept."""


class Own(NamedTuple):
    """What to subtract: the agent's commands by name, and the bytes it sent and received before the reply at hand."""

    commands: Mapping[str, int]
    bytes_sent: int
    bytes_received: int


class Sampler:
    """The ring, and the loop that fills it."""

    def __init__(self, supervisor: Supervisor, machine: MachineSampler) -> None:
        self._supervisor = supervisor
        self._machine = machine
        self._classes = CommandClasses()
        self._ring: deque[Sample] = deque(maxlen=RING_SECONDS)
        self._boot = uuid.uuid4().hex
        self._seq = 0
        self._grown = asyncio.Condition()
        self._listeners: Literal["served", "ignored", "sent away"] = "served"

    async def run(self) -> None:
        """Sample until cancelled."""
        while True:
            await asyncio.sleep(1.0 - time.time() % 1.0)
            try:
                await self._beat()
            except Exception:  # one bad second must not end the watch
                log.exception("this second could not be sampled")

    async def follow(self, after: int, boot: str) -> AsyncIterator[Sample | None]:
        """Samples with `seq > after`, then each new one, and None as a pulse in between.

        Another `boot` means another agent process: start from the oldest.
        """
        last = after if boot == self._boot else 0
        while self._listeners != "sent away":
            if self._listeners == "ignored":
                await asyncio.sleep(PULSE_SECONDS)
                continue
            if self._seq <= last:
                await self._next(PULSE_SECONDS)
                if self._seq <= last:
                    yield None
            for sample in [sample for sample in self._ring if sample.seq > last]:
                yield sample
                last = sample.seq

    async def _next(self, timeout: float) -> None:
        """Wait for a sample, for the end, or for `timeout` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout), self._grown:
                await self._grown.wait()

    def close(self) -> None:
        """End every `follow`: the agent is about to stop, or to seem so."""
        self._listeners = "sent away"
        self._closing = asyncio.create_task(self._wake())

    def ignore(self) -> None:
        """Keep every `follow` open and silent, until `resume`."""
        self._listeners = "ignored"

    def resume(self) -> None:
        self._listeners = "served"

    async def _wake(self) -> None:
        async with self._grown:
            self._grown.notify_all()

    async def _beat(self) -> None:
        second = int(time.time())
        self._supervisor.check()
        running = {uid: shard for uid, shard in self._supervisor.shards.items() if shard.state == "running"}
        results = await asyncio.gather(*(self._read(shard) for shard in running.values()))
        values: dict[int, list[float | None]] = {}
        missing: dict[int, str] = {}
        died = {uid: shard.detail for uid, shard in self._supervisor.shards.items() if shard.state == "died"}
        for uid, result in zip(running, results, strict=True):
            if isinstance(result, str):
                missing[uid] = result
            else:
                values[uid] = result
        machine = self._machine.sample()
        sample = Sample(
            seq=self._seq + 1,
            boot=self._boot,
            t=second,
            at=time.time(),
            node=machine,
            shards=values,
            missing=missing,
            died=died,
        )
        async with self._grown:
            self._ring.append(sample)
            self._seq = sample.seq
            self._grown.notify_all()

    async def _read(self, shard: Shard) -> list[float | None] | str:
        """The shard's values in the order of SHARD_FIELDS, or the reason why there are none."""
        try:
            async with asyncio.timeout(TIMEOUT):
                connection = await shard.connect()
                classes = await self._classes.of(connection, shard.record.run_id)
                await connection.execute("PING")
                ping_seconds = connection.last_seconds
                info = connection.send(("INFO", *SECTIONS))
                # What INFO counts: all that was sent until here, and all replies but its own. So it is sent alone:
                # whether a PONG is counted already would depend on how the engine happens to read the two.
                own = Own(dict(shard.own.commands), shard.own.bytes_sent, shard.own.bytes_received)
                text = await info
        except TimeoutError:
            return f"it did not answer INFO within {TIMEOUT} s"
        except EngineError as error:
            return str(error)
        return shard_values(parse_info(text), classes, own, ping_seconds, shard.record.started_at or 0.0)


def parse_info(text: str) -> dict[str, str]:
    """`name: value` lines of an INFO reply; section titles are skipped."""
    pairs = (line.partition(":") for line in text.splitlines() if line and line[0] != "#")
    return {name: value for name, _, value in pairs}


def shard_values(
    info: Mapping[str, str], classes: Mapping[str, str], own: Own, ping_seconds: float, started_at: float
) -> list[float | None]:
    """Pick and add up what SHARD_FIELDS names; None for what this engine does not tell."""
    counts = {"read": 0, "write": 0, "other": 0}
    keys = expires = 0
    for name, count in own.commands.items():
        if (kind := classes.get(name, "other")) != "internal":
            counts[kind] -= count
    for name, value in info.items():
        if name.startswith("cmdstat_"):
            kind = classes.get(name[8:].partition("|")[0], "other")
            if kind != "internal":
                counts[kind] += int(value[6 : value.index(",")])  # calls=N,usec=…
        elif name[:2] == "db" and name[2:].isdigit():
            fields = dict(part.split("=") for part in value.split(","))
            keys += int(fields["keys"])
            expires += int(fields["expires"])

    def number(name: str) -> float | None:
        value = info.get(name)
        return float(value) if value is not None else None

    primary = info.get("role") == "master"
    cpu = [number("used_cpu_user_main_thread"), number("used_cpu_sys_main_thread")]
    net_in, net_out, clients = (
        number("total_net_input_bytes"),
        number("total_net_output_bytes"),
        number("connected_clients"),
    )
    values: dict[str, float | None] = {
        "pid": number("process_id"),
        "started_at": started_at,
        "is_primary": float(primary),
        "loading": number("loading"),
        "link_up": 1.0 if primary or info.get("master_link_status") == "up" else 0.0,
        "read_cmds": float(counts["read"]),
        "write_cmds": float(counts["write"]),
        "other_cmds": float(counts["other"]),
        "used_memory": number("used_memory"),
        "used_memory_rss": number("used_memory_rss"),
        "keys": float(keys),
        "expires": float(expires),
        "hits": number("keyspace_hits"),
        "misses": number("keyspace_misses"),
        "clients": None if clients is None else max(0.0, clients - 1),  # this connection
        "connections": number("total_connections_received"),
        "net_in": None if net_in is None else net_in - own.bytes_sent,
        "net_out": None if net_out is None else net_out - own.bytes_received,
        "evicted": number("evicted_keys"),
        "expired": number("expired_keys"),
        "fragmentation": number("mem_fragmentation_ratio"),
        "cpu": None if None in cpu else sum(part for part in cpu if part is not None),
        "ping_ms": ping_seconds * 1000,
        "repl_offset": number("master_repl_offset" if primary else "slave_repl_offset"),
    }
    return [values[name] for name in SHARD_FIELDS]
