"""Transfer of a few hash slots from one primary to another, key by key.

The slots are opened (target IMPORTING, source MIGRATING), their keys are sent in batches, and the slots are closed: first at the
target, which announces its ownership, then at the source. Clients are served all the time. The source redirects requests for moved
keys with ASK. MIGRATE uses REPLACE: a key exists at both ends if the reply of an earlier MIGRATE was lost, or if the source's
former primary deleted it but its replica did not. In both cases clients use the source's copy until the key is gone there, so that
copy is the valid one.
"""

import asyncio
import ssl
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from shardboard.agent.databases import peer_tls, shard_config
from shardboard.agent.databases.engine_client import Connection, EngineError
from shardboard.agent.databases.shard import LocalShard
from shardboard.agent.placement.throttle import TransferThrottle
from shardboard.contract import MoveSlots
from shardboard.kit.addresses import host_port
from shardboard.kit.tasks import run_concurrently
from shardboard.valkey.replies import ClusterLine, cluster_lines

KEYS_PER_REQUEST = 200
"""Number of keys of a slot requested at once."""
ANSWER_SECONDS = 5.0
"""Seconds within which an engine must reply to any command except MIGRATE."""
MIGRATE_MS = 1000
"""Milliseconds that the source, which serves no requests during MIGRATE, waits for a silent target."""
MIN_COPY_RATE = 20_000
"""Bytes per millisecond: a large key gets more time."""


class MigrationEndpoints:
    """Source and target of a request, and its progress. They use separate connections, so that blocking commands do not delay
    samples. There is one connection per slot of a group, because SETSLOT waits for replicas and the waits must be concurrent, and
    one more for PINGs.
    """

    def __init__(self, shard: LocalShard, request: MoveSlots, group: int) -> None:
        """`group` is the maximum number of slots in a group."""
        self._seal: ssl.SSLContext | None = None
        self.request = request
        self.group = group
        self.engine_id = shard.record.spec.engine_id
        self.password = shard.record.bdb.admin_password
        self.moved = self.keys = 0
        self.pause = 0.0
        """Seconds to pause before the next move."""
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
    def ping_connections(self) -> tuple[Connection, Connection]:
        """Connections without other traffic, for measuring reply times."""
        return self._sources[-1], self._targets[-1]

    async def connect(self, count: int) -> None:
        """Open connections until each end has `count`. Raises EngineError; call `close` in any case."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                if not self._targets:
                    self._seal = await asyncio.to_thread(peer_tls.load_tls_context, self._shard.directory)
                await run_concurrently(
                    connect_call
                    for _ in range(count - len(self._targets))
                    for connect_call in (self._connect_source(), self._connect_target())
                )
        except TimeoutError:
            raise EngineError(
                f"{host_port(self.request.address, self.request.port)} does not accept connections in time"
            ) from None

    async def _connect_source(self) -> None:
        socket = self._shard.directory / shard_config.SOCKET
        self._sources.append(
            await Connection.open(socket, shard_config.ADMIN, self.password, self._shard.own_traffic, binary=True)
        )

    async def _connect_target(self) -> None:
        request, seal = self.request, self._seal
        self._targets.append(
            await Connection.open_remote(request.address, request.port, shard_config.ADMIN, self.password, seal)
        )

    def close(self) -> None:
        for connection in (*self._sources, *self._targets):
            connection.close()

    async def set_at_source(self, slots: Sequence[int], *state: str) -> list[Any]:
        return await _set_slots(self._sources, slots, state)

    async def set_at_target(self, slots: Sequence[int], *state: str) -> list[Any]:
        return await _set_slots(self._targets, slots, state)

    async def count(self, slots: Sequence[int]) -> list[int]:
        """Return the number of keys at the source by slot."""
        return await _all(self.source, [("CLUSTER", "COUNTKEYSINSLOT", str(slot)) for slot in slots])

    async def copy_functions(self) -> None:
        """Copy function libraries to the target. Each primary needs them, and a new one has none."""
        existing, required = (
            await execute(self.target, "FUNCTION", "LIST"),
            await execute(self.source, "FUNCTION", "LIST"),
        )
        if len(existing) < len(required):
            await execute(self.target, "FUNCTION", "RESTORE", await execute(self.source, "FUNCTION", "DUMP"), "REPLACE")


class SlotTransfer:
    """Moves one group of slots."""

    def __init__(self, ends: MigrationEndpoints, slots: Sequence[int], pace: TransferThrottle, *, until: float) -> None:
        self._ends = ends
        self._slots = slots
        self._pace = pace
        self._until = until

    async def run(self) -> bool:
        """Move the slots. Return False if time ran out before all keys were moved."""
        target = self._ends.request.target_engine_id
        pending = not_owned = await self._open()
        while pending := await self._filled(pending):
            for slot in pending:
                keys = await execute(self._ends.source, "CLUSTER", "GETKEYSINSLOT", str(slot), str(KEYS_PER_REQUEST))
                if not await self._send(keys):
                    return False
        if not_owned:
            await self._check_roles(not_owned)
            _raise_first_error(await self._ends.set_at_target(not_owned, "NODE", target))
        _raise_first_error(await self._ends.set_at_source(self._slots, "NODE", target))
        self._ends.moved += len(self._slots)
        return True

    async def _open(self) -> list[int]:
        """Open the slots. Return those that do not belong to the target yet."""
        replies = await self._ends.set_at_target(self._slots, "IMPORTING", self._ends.engine_id)
        not_owned = _without_rejected(self._slots, replies, "already the owner")
        _raise_first_error(reply for reply in replies if "already the owner" not in str(reply))
        replies = await self._ends.set_at_source(not_owned, "MIGRATING", self._ends.request.target_engine_id)
        if not_movable := set(not_owned) - set(_without_rejected(not_owned, replies, "not the owner")):
            await self._ends.set_at_target(sorted(not_movable), "STABLE")
        _raise_first_error(replies)
        return not_owned

    async def _check_roles(self, slots: Sequence[int]) -> None:
        """Check that the source is still the owner in the target's view: only then does its emptiness count. If it has been
        replaced and returned as a replica that starts to copy, the keys are with the promoted replica.
        """
        source, target = self._ends.engine_id, self._ends.request.target_engine_id
        target_view, source_view = await cluster_view(self._ends.target), await cluster_view(self._ends.source)
        remote_source, local_source, local_target = (
            target_view.get(source),
            source_view.get(source),
            source_view.get(target),
        )
        if not _is_healthy_primary(remote_source) or not remote_source.owns(slots):
            raise EngineError("the source has been replaced during the move")
        if not _is_healthy_primary(local_target):
            raise EngineError("the target has been replaced during the move")
        if not _is_healthy_primary(local_source) or any(local_source.migrating.get(slot) != target for slot in slots):
            raise EngineError("the source is no longer migrating these slots")

    async def _filled(self, slots: Sequence[int]) -> list[int]:
        """Return the slots that still have keys at the source."""
        counts = await self._ends.count(slots)
        return [slot for slot, count in zip(slots, counts, strict=True) if count]

    async def _send(self, keys: Sequence[bytes]) -> bool:
        sizes = await _all(self._ends.source, [("MEMORY", "USAGE", key) for key in keys])
        pending: Sequence[tuple[bytes, int]] = [(key, size or 0) for key, size in zip(keys, sizes, strict=True)]
        while pending:
            if asyncio.get_running_loop().time() > self._until:
                return False
            batch = self._pace.batch(pending)
            pending = pending[len(batch) :]
            await self._migrate([key for key, _ in batch], sum(size for _, size in batch))
            await self._pace.pause()
        return True

    async def _migrate(self, keys: Sequence[bytes], size: int) -> None:
        request, timeout_ms = self._ends.request, MIGRATE_MS + size // MIN_COPY_RATE
        command_start = ("MIGRATE", request.address, str(request.port), "", "0", str(timeout_ms), "REPLACE")
        login = ("AUTH2", shard_config.ADMIN, self._ends.password)
        start = time.monotonic()
        try:
            async with asyncio.timeout(ANSWER_SECONDS + 3 * timeout_ms / 1000):
                await self._ends.source.execute(*command_start, *login, "KEYS", *keys)
        except TimeoutError:
            raise EngineError("no reply to MIGRATE") from None
        self._pace.adjust(time.monotonic() - start)
        self._ends.keys += len(keys)


async def execute(connection: Connection, command: str, *argv: str | bytes) -> Any:
    """Return the reply to a command, with a timeout. Raises EngineError."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await connection.execute(command, *argv)
    except TimeoutError:
        raise EngineError(f"no reply to {command} within {ANSWER_SECONDS:g} s") from None


async def cluster_view(connection: Connection) -> Mapping[str, ClusterLine]:
    """Return the cluster as this shard sees it, by engine id."""
    return cluster_lines((await execute(connection, "CLUSTER", "NODES")).decode(errors="replace"))


def _is_healthy_primary(line: ClusterLine | None) -> TypeGuard[ClusterLine]:
    return line is not None and line.is_primary and line.is_healthy


async def _all(connection: Connection, commands: Sequence[tuple[str | bytes, ...]]) -> list[Any]:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            replies = await connection.send_many(commands)
    except TimeoutError:
        raise EngineError(f"no reply within {ANSWER_SECONDS:g} s") from None
    _raise_first_error(replies)
    return replies


async def _set_slots(connections: Sequence[Connection], slots: Sequence[int], state: Sequence[str]) -> list[Any]:
    """Send CLUSTER SETSLOT for all slots concurrently. Return replies and errors in their order."""
    calls = [
        execute(connection, "CLUSTER", "SETSLOT", str(slot), *state)
        for slot, connection in zip(slots, connections, strict=False)
    ]
    return await asyncio.gather(*calls, return_exceptions=True)


def _raise_first_error(replies: Iterable[Any]) -> None:
    """Raise the first error in `replies`."""
    for reply in replies:
        if isinstance(reply, BaseException):
            raise reply


def _without_rejected(slots: Sequence[int], replies: Sequence[Any], words: str) -> list[int]:
    """Return the slots whose reply does not contain `words`."""
    return [slot for slot, reply in zip(slots, replies, strict=True) if words not in str(reply)]
