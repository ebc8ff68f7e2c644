"""The way of a few hash slots from one primary to another.

They are opened (target IMPORTING, source MIGRATING), their keys are sent in batches, and they are closed: the target is told
that they are its own, which it tells everybody, then the source. Clients are served all the time; those that ask the source
for a key that has gone are told (ASK) where it is.

REPLACE: a key that is at both ends was sent by a MIGRATE whose answer was lost, or its deletion was lost with the source's
former primary. Either way clients are served by the source until the key is gone there, so its copy is the one that counts.
"""

import asyncio
import ssl
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from shardboard.agent import render, sealed
from shardboard.agent.contract import MoveSlots
from shardboard.agent.pace import TransferPace
from shardboard.agent.resp import Connection, EngineError
from shardboard.agent.shard import Shard
from shardboard.engine_text import ClusterLine, cluster_lines
from shardboard.tasks import together

PAGE = 200
"""Keys of one slot that are asked for at once."""
ANSWER_SECONDS = 5.0
"""How long an engine may take to answer anything but MIGRATE."""
MIGRATE_MS = 1000
"""For how long the source, which serves nobody meanwhile, may wait for a target that says nothing."""
SLOWEST_COPY = 20_000
"""Bytes per millisecond: a large key gets more time."""


class Ends:
    """Source and target of an order, and what was achieved. The connections are its own: what blocks on them must not hold
    up the samples. There is one for each slot of a group, because SETSLOT waits for replicas, and all shall wait together, and
    one more that nothing waits on."""

    def __init__(self, shard: Shard, order: MoveSlots, group: int) -> None:
        """For groups of at most so many slots."""
        self._seal: ssl.SSLContext | None = None
        self.order = order
        self.group = group
        self.engine_id = shard.record.spec.engine_id
        self.password = shard.record.bdb.admin_password
        self.moved = self.keys = 0
        self.rest = 0.0
        """Seconds for which the shards are to be left alone afterwards."""
        self._shard = shard
        self._sources: list[Connection] = []
        self._targets: list[Connection] = []

    @property
    def source(self) -> Connection:
        return self._sources[0]

    @property
    def target(self) -> Connection:
        return self._targets[0]

    @property
    def quiet(self) -> tuple[Connection, Connection]:
        """For asking how quickly they answer."""
        return self._sources[-1], self._targets[-1]

    async def connect(self, count: int) -> None:
        """So many to each end. Raises EngineError; `close` is needed in any case."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                if not self._targets:
                    self._seal = await asyncio.to_thread(sealed.seal_of, self._shard.directory)
                await together(
                    connecting
                    for _ in range(count - len(self._targets))
                    for connecting in (self._connect_source(), self._connect_target())
                )
        except TimeoutError:
            raise EngineError(f"{self.order.address}:{self.order.port} does not accept connections in time") from None

    async def _connect_source(self) -> None:
        socket = self._shard.directory / render.SOCKET
        self._sources.append(await Connection.open(socket, render.ADMIN, self.password, self._shard.own, binary=True))

    async def _connect_target(self) -> None:
        order, seal = self.order, self._seal
        self._targets.append(await Connection.reach(order.address, order.port, render.ADMIN, self.password, seal))

    def close(self) -> None:
        for connection in (*self._sources, *self._targets):
            connection.close()

    async def set_at_source(self, slots: Sequence[int], *state: str) -> list[Any]:
        return await _set_slots(self._sources, slots, state)

    async def set_at_target(self, slots: Sequence[int], *state: str) -> list[Any]:
        return await _set_slots(self._targets, slots, state)

    async def count(self, slots: Sequence[int]) -> list[int]:
        """Keys at the source by slot."""
        return await _all(self.source, [("CLUSTER", "COUNTKEYSINSLOT", str(slot)) for slot in slots])

    async def copy_functions(self) -> None:
        """Libraries of functions belong to every primary; a new one has none."""
        known, wanted = await ask(self.target, "FUNCTION", "LIST"), await ask(self.source, "FUNCTION", "LIST")
        if len(known) < len(wanted):
            await ask(self.target, "FUNCTION", "RESTORE", await ask(self.source, "FUNCTION", "DUMP"), "REPLACE")


class SlotTransfer:
    """Moves one group of slots."""

    def __init__(self, ends: Ends, slots: Sequence[int], pace: TransferPace, *, until: float) -> None:
        self._ends = ends
        self._slots = slots
        self._pace = pace
        self._until = until

    async def run(self) -> bool:
        """False when the time was over before all keys had gone."""
        target = self._ends.order.target_engine_id
        left = moving = await self._open()
        while left := await self._filled(left):
            for slot in left:
                keys = await ask(self._ends.source, "CLUSTER", "GETKEYSINSLOT", str(slot), str(PAGE))
                if not await self._send(keys):
                    return False
        if moving:
            await self._insist_on_roles(moving)
            _insist(await self._ends.set_at_target(moving, "NODE", target))
        _insist(await self._ends.set_at_source(self._slots, "NODE", target))
        self._ends.moved += len(self._slots)
        return True

    async def _open(self) -> list[int]:
        """The slots that do not belong to the target yet."""
        told = await self._ends.set_at_target(self._slots, "IMPORTING", self._ends.engine_id)
        moving = _without(self._slots, told, "already the owner")
        _insist(reply for reply in told if "already the owner" not in str(reply))
        told = await self._ends.set_at_source(moving, "MIGRATING", self._ends.order.target_engine_id)
        if strange := set(moving) - set(_without(moving, told, "not the owner")):
            await self._ends.set_at_target(sorted(strange), "STABLE")
        _insist(told)
        return moving

    async def _insist_on_roles(self, slots: Sequence[int]) -> None:
        """That the source is empty counts only while it is the one who owns them, as the target sees it. When it was replaced
        meanwhile, and has come back as a replica that begins to copy, the keys are with the promoted replica."""
        source, target = self._ends.engine_id, self._ends.order.target_engine_id
        there, here = await view_of(self._ends.target), await view_of(self._ends.source)
        seen, own, taker = there.get(source), here.get(source), here.get(target)
        if not _leads(seen) or not seen.owns(slots):
            raise EngineError("the source has been replaced meanwhile")
        if not _leads(taker):
            raise EngineError("the target has been replaced meanwhile")
        if not _leads(own) or any(own.leaving.get(slot) != target for slot in slots):
            raise EngineError("the source does not give these slots away any more")

    async def _filled(self, slots: Sequence[int]) -> list[int]:
        """Those that still have keys at the source."""
        counts = await self._ends.count(slots)
        return [slot for slot, count in zip(slots, counts, strict=True) if count]

    async def _send(self, keys: Sequence[bytes]) -> bool:
        sizes = await _all(self._ends.source, [("MEMORY", "USAGE", key) for key in keys])
        left: Sequence[tuple[bytes, int]] = [(key, size or 0) for key, size in zip(keys, sizes, strict=True)]
        while left:
            if asyncio.get_running_loop().time() > self._until:
                return False
            batch = self._pace.batch(left)
            left = left[len(batch) :]
            await self._migrate([key for key, _ in batch], sum(size for _, size in batch))
            await self._pace.rest()
        return True

    async def _migrate(self, keys: Sequence[bytes], size: int) -> None:
        order, patience = self._ends.order, MIGRATE_MS + size // SLOWEST_COPY
        where = ("MIGRATE", order.address, str(order.port), "", "0", str(patience), "REPLACE")
        login = ("AUTH2", render.ADMIN, self._ends.password)
        began = time.monotonic()
        try:
            async with asyncio.timeout(ANSWER_SECONDS + 3 * patience / 1000):
                await self._ends.source.execute(*where, *login, "KEYS", *keys)
        except TimeoutError:
            raise EngineError("no answer to MIGRATE") from None
        self._pace.learn(time.monotonic() - began)
        self._ends.keys += len(keys)


async def ask(connection: Connection, command: str, *argv: str | bytes) -> Any:
    """The reply, in reasonable time. Raises EngineError."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await connection.execute(command, *argv)
    except TimeoutError:
        raise EngineError(f"no answer to {command} within {ANSWER_SECONDS:g} s") from None


async def view_of(connection: Connection) -> Mapping[str, ClusterLine]:
    """The cluster as this shard sees it, by engine id."""
    return cluster_lines((await ask(connection, "CLUSTER", "NODES")).decode(errors="replace"))


def _leads(line: ClusterLine | None) -> TypeGuard[ClusterLine]:
    return line is not None and line.leads and line.is_well


async def _all(connection: Connection, commands: Sequence[tuple[str | bytes, ...]]) -> list[Any]:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            replies = await connection.many(commands)
    except TimeoutError:
        raise EngineError(f"no answer within {ANSWER_SECONDS:g} s") from None
    _insist(replies)
    return replies


async def _set_slots(connections: Sequence[Connection], slots: Sequence[int], state: Sequence[str]) -> list[Any]:
    """CLUSTER SETSLOT for all of them at the same time; replies and errors in their order."""
    orders = [
        ask(connection, "CLUSTER", "SETSLOT", str(slot), *state)
        for slot, connection in zip(slots, connections, strict=False)
    ]
    return await asyncio.gather(*orders, return_exceptions=True)


def _insist(replies: Iterable[Any]) -> None:
    """Raise the first error among them."""
    for reply in replies:
        if isinstance(reply, BaseException):
            raise reply


def _without(slots: Sequence[int], replies: Sequence[Any], words: str) -> list[int]:
    """The slots whose reply does not say so."""
    return [slot for slot, reply in zip(slots, replies, strict=True) if words not in str(reply)]
