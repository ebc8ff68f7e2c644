"""Activation of append-only files on shards that are serving."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shardboard.driver.interfaces import Agents
from shardboard.driver.valkey_cluster import ShardRef, command
from shardboard.valkey.replies import info_fields


@dataclass(frozen=True)
class AppendOnlyProgress:
    """Number of shards with a complete append-only file; error messages by uid of those that cannot have one."""

    complete: int
    refused: Mapping[int, str]


async def enable_append_only(agents: Agents, shards: Sequence[ShardRef]) -> AppendOnlyProgress:
    """Activate append-only files on the next shards and return the progress. Call this until all shards are complete.

    One shard at a time is activated on each node, because a shard writes all its data in a child process.
    """
    replies = await command(agents, shards, "INFO", "persistence")
    failures = {uid: result.reply for uid, result in replies.items() if not result.ok}
    states = {uid: _state(result.reply) for uid, result in replies.items() if result.ok}
    failures |= {uid: "its append-only file could not be written" for uid, state in states.items() if state == "failed"}
    due: dict[int, ShardRef] = {}
    for shard in shards:
        if states.get(shard.uid) == "off":
            due.setdefault(shard.node.uid, shard)
    for shard in shards:
        if states.get(shard.uid) == "writing":
            due.pop(shard.node.uid, None)
    started_replies = await command(agents, due.values(), "CONFIG", "SET", "appendonly", "yes") if due else {}
    failures |= {uid: result.reply for uid, result in started_replies.items() if not result.ok}
    return AppendOnlyProgress(sum(state == "complete" for state in states.values()), failures)


def _state(info: str) -> str:
    """Return the state from INFO persistence: `off`, `writing` the initial file, `failed` (the engine retries), or `complete`."""
    fields = info_fields(info)
    if fields.get("aof_enabled") != "1":
        return "off"
    if fields.get("aof_rewrite_in_progress") == "1" or fields.get("aof_rewrite_scheduled") == "1":
        return "writing"
    return "complete" if fields.get("aof_last_bgrewrite_status") == "ok" else "failed"
