"""Steady mixed traffic for the demo: a cluster client that paces itself and shrugs off failovers.

Run as `python -m shardboard.demo_traffic HOST PORT [OPS_PER_SECOND [PROFILE]]`. It leaves most of the machine idle, because the
demo is about watching, not about load.
"""

import asyncio
import contextlib
import math
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import hiredis

from shardboard.domain.slots import SLOTS, slot_of

TICK = 0.1
WAVE_SECONDS = 90
MIX = (("GET", 66), ("SET", 22), ("INCR", 5), ("DEL", 2), ("EXISTS", 3), ("PING", 2))


@dataclass(frozen=True)
class Profile:
    """What is asked for: a gaussian favours some keys, as real traffic does."""

    keys: int
    spread: float
    """Standard deviation, as a part of the keys."""
    mix: tuple[tuple[str, int], ...]
    size: tuple[int, int]
    """Bytes of a value, at least and at most."""
    expires: tuple[int, int] | None
    """Seconds after which a value goes, at least and at most."""
    load: bool = False
    """Write every key once at the beginning."""


PROFILES = {
    "mixed": Profile(60_000, 1 / 3, MIX, (50, 700), (60, 1800)),
    "flash": Profile(60_000, 1 / 4, (("GET", 88), ("SET", 10), ("EXISTS", 2)), (1000, 2000), None, load=True),
}
"""`flash`: more values than RAM, most of them hardly ever asked for."""


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

    def __init__(self, host: str, port: int, rate: float, profile: Profile = PROFILES["mixed"]) -> None:
        self._seeds = [(host, port)]
        self._rate = rate
        self._profile = profile
        self._loaded = 0 if profile.load else profile.keys
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
        for name, key in (*self._load(int(rate * TICK)), *self._wanted(int(rate * TICK))):
            owner = self._owner[slot_of(key)]
            batches.setdefault(owner, []).append(self._command(name, key))
        replies = await asyncio.gather(*(self._send(owner, batch) for owner, batch in batches.items()))
        if any(
            isinstance(reply, hiredis.ReplyError) and str(reply).startswith("MOVED")
            for part in replies
            for reply in part
        ):
            self._forget()

    def _wanted(self, count: int) -> Iterator[tuple[str, str]]:
        keys, spread, mix = self._profile.keys, self._profile.spread, self._profile.mix
        for name in self._random.choices([name for name, _ in mix], [weight for _, weight in mix], k=count):
            yield name, f"demo:{int(abs(self._random.gauss(0, keys * spread))) % keys}"

    def _load(self, count: int) -> Iterator[tuple[str, str]]:
        """The next keys that were not written yet."""
        first, self._loaded = self._loaded, min(self._profile.keys, self._loaded + count)
        for number in range(first, self._loaded):
            yield "SET", f"demo:{number}"

    def _command(self, name: str, key: str) -> tuple[str, ...]:
        if name == "PING":
            return ("PING",)
        if name == "SET":
            text = "x" * self._random.randint(*self._profile.size)
            return (
                "SET",
                key,
                text,
                *(("EX", str(self._random.randint(*self._profile.expires))) if self._profile.expires else ()),
            )
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
        rate, profile = float(rest[0]) if rest else 5000.0, PROFILES[rest[1] if len(rest) > 1 else "mixed"]
        asyncio.run(Traffic(host, int(port), rate, profile).run())


if __name__ == "__main__":
    main()
