"""Slots of local shards with the highest counts, from `CLUSTER SLOT-STATS`, on request.

The engine counts keys per slot since Valkey 8. CPU time and bytes depend on a setting (`engine.counts_by_slot`).
"""

import asyncio
import time
from typing import Any

from shardboard.agent.databases.engine import supports_slot_stats
from shardboard.agent.databases.engine_client import EngineError
from shardboard.agent.databases.processes import ShardSupervisor
from shardboard.agent.databases.shard import LocalShard
from shardboard.contract import ReadHotSlots, SlotCount, SlotCounts

SETTING = "cluster-slot-stats-enabled"
TIMEOUT_SECONDS = 5.0
"""Seconds that a shard may take to reply."""
_COUNTS = ("key-count", "cpu-usec", "network-bytes-in", "network-bytes-out")


async def read_hot_slots(supervisor: ShardSupervisor, request: ReadHotSlots) -> list[SlotCounts]:
    """Return the counts of each shard, or the reason why there are none."""
    return await asyncio.gather(
        *(_read_shard(supervisor.find(uid, request.engine_ids.get(uid)), uid, request) for uid in request.uids)
    )


async def _read_shard(shard: LocalShard | None, uid: int, request: ReadHotSlots) -> SlotCounts:
    if shard is None or shard.state != "running":
        return SlotCounts(uid=uid, reason=f"shard {uid} does not run on this node")
    record = shard.record
    if request.by != "key_count" and not supports_slot_stats(record.engine_version):
        version = record.engine_version or "an unknown engine"
        return SlotCounts(uid=uid, reason=f"Valkey {version} counts only keys; CPU time and bytes need Valkey 9")
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            rows = await _query_engine(shard, request)
    except TimeoutError:
        return SlotCounts(uid=uid, reason=f"no reply within {TIMEOUT_SECONDS:g} s")
    except EngineError as error:
        return SlotCounts(uid=uid, reason=str(error))
    return SlotCounts(uid=uid, at=time.time(), run_id=record.run_id, started_at=record.started_at, slots=rows)


async def _query_engine(shard: LocalShard, request: ReadHotSlots) -> list[SlotCount]:
    metric = request.by.replace("_", "-")
    argv = ("CLUSTER", "SLOT-STATS", "ORDERBY", metric, "LIMIT", str(request.limit), "DESC")
    connection = await shard.connect()
    try:
        reply = await connection.execute(*argv)
    except EngineError as error:
        if "Unrecognized sort metric" not in str(error) or not supports_slot_stats(shard.record.engine_version):
            raise
        # The shard was started before this setting existed or with an older engine: it counts from now on.
        await connection.execute("CONFIG", "SET", SETTING, "yes")
        await connection.execute("CONFIG", "REWRITE")
        reply = await connection.execute(*argv)
    return [_row(int(slot), counts) for slot, counts in reply]


def _row(slot: int, counts: list[Any]) -> SlotCount:
    """Parse `[name, value, name, value, …]`."""
    by_name = dict(zip(counts[::2], counts[1::2], strict=True))
    keys, *other_lists = (by_name.get(name) for name in _COUNTS)
    micros, bytes_in, bytes_out = (None if value is None else int(value) for value in other_lists)
    return slot, int(keys or 0), micros, bytes_in, bytes_out
