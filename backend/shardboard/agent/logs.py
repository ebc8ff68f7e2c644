"""Recent log lines of the agent, its proxy and its shards, for a support bundle."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from shardboard.agent.databases import shard_config
from shardboard.agent.databases.processes import ShardSupervisor
from shardboard.contract import NodeLogs, ReadLogs
from shardboard.kit import log_buffer

PROXY_LOG_BYTES = 256 * 1024
SHARD_LOG_BYTES = 64 * 1024
ALL_SHARDS_LOG_BYTES = 8 * 1024 * 1024
"""Limits in bytes, so that logs of hundreds of shards do not fill the agent's memory."""


def make_reader(proxy: Path, supervisor: ShardSupervisor) -> Callable[[ReadLogs], Awaitable[NodeLogs]]:
    """Return a function that reads logs. `proxy` is the log file of the proxy."""

    async def read(request: ReadLogs) -> NodeLogs:
        queried = [supervisor.find(uid, request.engine_ids.get(uid)) for uid in request.uids]
        files = {shard.record.spec.uid: shard.directory / shard_config.LOG for shard in queried if shard is not None}
        return await asyncio.to_thread(_read, proxy, files)

    return read


def _read(proxy: Path, shards: Mapping[int, Path]) -> NodeLogs:
    limit = min(SHARD_LOG_BYTES, ALL_SHARDS_LOG_BYTES // max(len(shards), 1))
    return NodeLogs(
        agent=log_buffer.text(),
        proxy=_tail(proxy, PROXY_LOG_BYTES),
        shards={uid: _tail(path, limit) for uid, path in shards.items()},
    )


def _tail(path: Path, max_bytes: int) -> str:
    """Return the last complete lines of a file, at most `most` bytes."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - max_bytes, 0))
            content = file.read(max_bytes)
    except OSError:
        return ""  # the process never ran, or its directory is being removed
    if size > max_bytes:
        content = content[content.find(b"\n") + 1 :]
    return content.decode(errors="replace")
