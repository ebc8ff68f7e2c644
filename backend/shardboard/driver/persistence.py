"""Append-only files of shards that serve already."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shardboard.driver.cluster import ShardRef, command
from shardboard.driver.ports import Agents
from shardboard.engine_text import info_fields


@dataclass(frozen=True)
class Logs:
    """How many of the shards have all their data in an append-only file; reasons by uid of those that cannot have one."""

    complete: int
    refused: Mapping[int, str]


async def begin_logs(agents: Agents, shards: Sequence[ShardRef]) -> Logs:
    """Have the next shards begin, and tell how far they are: to be called until all are complete.

    One at a time on each node: a shard writes all its data once, from a process of its own.
    """
    told = await command(agents, shards, "INFO", "persistence")
    refused = {uid: result.reply for uid, result in told.items() if not result.ok}
    states = {uid: _state(result.reply) for uid, result in told.items() if result.ok}
    refused |= {uid: "its append-only file could not be written" for uid, state in states.items() if state == "failed"}
    due: dict[int, ShardRef] = {}
    for shard in shards:
        if states.get(shard.uid) == "off":
            due.setdefault(shard.node.uid, shard)
    for shard in shards:
        if states.get(shard.uid) == "writing":
            due.pop(shard.node.uid, None)
    begun = await command(agents, due.values(), "CONFIG", "SET", "appendonly", "yes") if due else {}
    refused |= {uid: result.reply for uid, result in begun.items() if not result.ok}
    return Logs(sum(state == "complete" for state in states.values()), refused)


def _state(info: str) -> str:
    """Of INFO persistence: `off`, `writing` the whole data, `failed` (the engine tries again), or `complete`."""
    fields = info_fields(info)
    if fields.get("aof_enabled") != "1":
        return "off"
    if fields.get("aof_rewrite_in_progress") == "1" or fields.get("aof_rewrite_scheduled") == "1":
        return "writing"
    return "complete" if fields.get("aof_last_bgrewrite_status") == "ok" else "failed"
