"""Steady mixed traffic for the demo: a cluster client that paces itself and shrugs off failovers.

Run as `python -m shardboard.demo_traffic HOST PORT [OPS_PER_SECOND]`. It leaves most of the machine idle, because the demo
is about watching, not about load.
"""

import asyncio
import contextlib
import math
import random
import sys
import time
from typing import Any

import hiredis

from shardboard.domain.slots import SLOTS, slot_of

KEYS = 60_000
TICK = 0.1
WAVE_SECONDS = 90
MIX = (("GET", 66), ("SET", 22), ("INCR", 5), ("DEL", 2), ("EXISTS", 3), ("PING", 2))


def _pack(command: tuple[str, ...]) -> bytes:
    packed: bytes = hiredis.pack_command(command)  # type: ignore[arg-type]  # its stub knows one-element tuples only
    return packed


class Primary:
    """One connection, written in batches, replies read and thrown away (errors are counted)."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._parser = hiredis.Reader()

    @classmethod
    async def open(cls, host: str, port: int) -> "Primary":
        return cls(*await asyncio.wait_for(asyncio.open_connection(host, port), 2))

    async def batch(self, commands: list[tuple[str, ...]]) -> list[Any]:
        """Send all, wait for all replies."""
        self._writer.write(b"".join(_pack(command) for command in commands))
        replies: list[Any] = []
        while len(replies) < len(commands):
            data = await asyncio.wait_for(self._reader.read(65536), 2)
            if not data:
                raise ConnectionError("closed by the shard")
            self._parser.feed(data)
            while (reply := self._parser.gets()) is not False:
                replies.append(reply)
        return replies

    def close(self) -> None:
        self._writer.close()


class Traffic:
    """Finds the primaries through any living one of them."""

    def __init__(self, host: str, port: int, rate: float) -> None:
        self._seeds = [(host, port)]
        self._rate = rate
        self._primaries: dict[tuple[str, int], Primary] = {}
        self._owner: list[tuple[str, int]] = []
        self._random = random.Random(7)  # noqa: S311 - made-up traffic, not secrets

    async def run(self) -> None:
        """Until killed."""
        while True:
            started = time.monotonic()
            try:
                if not self._owner:
                    await self._discover()
                await self._tick(started)
            except (OSError, TimeoutError, hiredis.HiredisError):
                self._forget()
                await asyncio.sleep(0.5)
            await asyncio.sleep(max(0.0, TICK - (time.monotonic() - started)))

    async def _tick(self, now: float) -> None:
        rate = self._rate * (1 + 0.35 * math.sin(2 * math.pi * now / WAVE_SECONDS) + self._random.uniform(-0.05, 0.05))
        batches: dict[tuple[str, int], list[tuple[str, ...]]] = {}
        for name in self._random.choices([name for name, _ in MIX], [weight for _, weight in MIX], k=int(rate * TICK)):
            # A gaussian favours some keys, as real traffic does.
            key = f"demo:{int(abs(self._random.gauss(0, KEYS / 3))) % KEYS}"
            owner = self._owner[slot_of(key)]
            batches.setdefault(owner, []).append(self._command(name, key))
        replies = await asyncio.gather(*(self._send(owner, batch) for owner, batch in batches.items()))
        if any(
            isinstance(reply, hiredis.ReplyError) and str(reply).startswith("MOVED")
            for part in replies
            for reply in part
        ):
            self._forget()

    def _command(self, name: str, key: str) -> tuple[str, ...]:
        if name == "PING":
            return ("PING",)
        if name == "SET":
            return ("SET", key, "x" * self._random.randint(50, 700), "EX", str(self._random.randint(60, 1800)))
        return (name, f"count:{{{key}}}" if name == "INCR" else key)

    async def _send(self, owner: tuple[str, int], batch: list[tuple[str, ...]]) -> list[Any]:
        if owner not in self._primaries:
            self._primaries[owner] = await Primary.open(*owner)
        return await self._primaries[owner].batch(batch)

    async def _discover(self) -> None:
        for seed in list(self._seeds):
            with contextlib.suppress(OSError, TimeoutError):
                connection = await Primary.open(*seed)
                ranges = (await connection.batch([("CLUSTER", "SLOTS")]))[0]
                connection.close()
                owner: list[tuple[str, int]] = [seed] * SLOTS
                for first, last, primary, *_ in ranges:
                    owner[first : last + 1] = [(primary[0].decode(), primary[1])] * (last - first + 1)
                self._owner = owner
                self._seeds = sorted({*self._seeds, *owner})
                return
        raise ConnectionError("no shard answers")

    def _forget(self) -> None:
        for primary in self._primaries.values():
            primary.close()
        self._primaries.clear()
        self._owner = []


def main() -> None:
    host, port, *rest = sys.argv[1:]
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(Traffic(host, int(port), float(rest[0]) if rest else 5000.0).run())


if __name__ == "__main__":
    main()
