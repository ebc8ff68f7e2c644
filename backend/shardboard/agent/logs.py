"""What was logged on this machine lately, for a support bundle: by the agent, its proxy and its shards."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from shardboard import recent_log
from shardboard.agent import render
from shardboard.agent.contract import LogsOf, NodeLogs
from shardboard.agent.processes import Supervisor

OF_PROXY = 256 * 1024
OF_SHARD = 64 * 1024
OF_ALL_SHARDS = 8 * 1024 * 1024
"""Bytes, so that hundreds of shards do not take the agent's memory."""


def reader(proxy: Path, supervisor: Supervisor) -> Callable[[LogsOf], Awaitable[NodeLogs]]:
    """`proxy` is the file that the proxy logs to."""

    async def read(wanted: LogsOf) -> NodeLogs:
        found = [supervisor.find(uid, wanted.engine_ids.get(uid)) for uid in wanted.uids]
        files = {shard.record.spec.uid: shard.directory / render.LOG for shard in found if shard is not None}
        return await asyncio.to_thread(_read, proxy, files)

    return read


def _read(proxy: Path, shards: Mapping[int, Path]) -> NodeLogs:
    most = min(OF_SHARD, OF_ALL_SHARDS // max(len(shards), 1))
    return NodeLogs(
        agent=recent_log.text(),
        proxy=_end(proxy, OF_PROXY),
        shards={uid: _end(path, most) for uid, path in shards.items()},
    )


def _end(path: Path, most: int) -> str:
    """The last whole lines, at most so many bytes."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - most, 0))
            read = file.read(most)
    except OSError:
        return ""  # it never ran, or is being removed
    if size > most:
        read = read[read.find(b"\n") + 1 :]
    return read.decode(errors="replace")
