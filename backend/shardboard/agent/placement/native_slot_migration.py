"""Native slot migration of the engine (Valkey 9 and later): slots are copied by replication, and clients see the switch as one
redirection. Jobs that a killed agent left behind are awaited first, because their slots cannot be part of another job.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

from shardboard.agent.databases.engine_client import EngineError
from shardboard.agent.placement.slot_transfer import MigrationEndpoints, cluster_view, execute
from shardboard.agent.placement.throttle import TransferThrottle

FIRST_VERSION = 9
MAX_SLOTS_PER_JOB = 4096
POLL_SECONDS = 0.05
FINAL_STATES = frozenset({"success", "failed", "cancelled", "canceled"})


async def is_supported(ends: MigrationEndpoints) -> bool:
    """Return whether both engines support native migration and no slot is in a key-by-key migration, which must end first."""
    for shard in (ends.source, ends.target):
        info = (await execute(shard, "INFO", "server")).decode(errors="replace")
        version = re.search(r"valkey_version:(\d+)", info)
        if version is None or int(version[1]) < FIRST_VERSION:
            return False
    views = [await cluster_view(shard) for shard in (ends.source, ends.target)]
    return not any(line.migrating or line.importing for view in views for line in view.values())


async def move(ends: MigrationEndpoints, slots: Sequence[int], seconds: float, pace: TransferThrottle) -> None:
    """Move as many slots as possible in about `seconds`, in the given order. Afterwards no job of this source is running."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    await _await_jobs(ends, deadline + seconds)
    owned = await _owned_slots(ends)
    slot_bytes, slot_keys = await _slot_size(ends, len(owned))
    pending = list(slots)
    while pending and loop.time() < deadline:
        start = loop.time()
        batch_size = max(1, min(MAX_SLOTS_PER_JOB, pace.job_slots(slot_bytes, slot_keys, fast=ends.request.fast)))
        chunk = pending[:batch_size]
        to_move = [slot for slot in chunk if slot in owned]  # the others have been moved already
        keys = 0
        if to_move:
            # Concurrently: sequential requests took longer than a small job.
            counts = (execute(ends.source, "CLUSTER", "COUNTKEYSINSLOT", str(slot)) for slot in to_move)
            keys = sum(await asyncio.gather(*counts))
            ranges = [word for first, last in _runs(to_move) for word in (str(first), str(last))]
            await execute(
                ends.source, "CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", *ranges, "NODE", ends.request.target_engine_id
            )
            await _await_jobs(ends, loop.time() + 10 * seconds)
            owned = await _owned_slots(ends)
            if still_to_move := [slot for slot in to_move if slot in owned]:
                raise EngineError(f"slot {still_to_move[0]} did not move: {await _reason(ends)}")
        ends.keys += keys
        ends.moved += len(chunk)
        pending = pending[batch_size:]
        if ends.request.fast:
            continue
        pause = pace.job_pause(loop.time() - start, len(to_move), keys, slot_bytes * len(to_move))
        if not pending or loop.time() + pause > deadline:
            ends.pause = pause  # the caller waits, and can change its plan during that time
            return
        await asyncio.sleep(pause)


async def _await_jobs(ends: MigrationEndpoints, until: float) -> None:
    """Wait for the jobs of this source. Cancel those that are still running at `until`."""
    loop = asyncio.get_running_loop()
    is_withdrawn = False
    while any(job["state"] not in FINAL_STATES for job in await _jobs(ends)):
        if loop.time() > until and not is_withdrawn:
            await execute(ends.source, "CLUSTER", "CANCELSLOTMIGRATIONS")
            is_withdrawn = True
        await asyncio.sleep(POLL_SECONDS)


async def _jobs(ends: MigrationEndpoints) -> list[dict[str, str]]:
    """Return the jobs that export slots from this source, running or recently ended."""
    reply = await execute(ends.source, "CLUSTER", "GETSLOTMIGRATIONS")
    jobs = [{_text(name): _text(value) for name, value in zip(job[::2], job[1::2], strict=True)} for job in reply]
    return [job for job in jobs if job.get("operation", "").upper() == "EXPORT"]


async def _reason(ends: MigrationEndpoints) -> str:
    reasons = [job.get("message") or job["state"] for job in await _jobs(ends) if job["state"] != "success"]
    return reasons[-1] if reasons else "the engine gives no reason"


async def _owned_slots(ends: MigrationEndpoints) -> frozenset[int]:
    """Return the slots that the source owns."""
    own_line = (await cluster_view(ends.source)).get(ends.engine_id)
    return (
        frozenset(slot for first, last in own_line.slots for slot in range(first, last + 1))
        if own_line is not None
        else frozenset()
    )


async def _slot_size(ends: MigrationEndpoints, slots: int) -> tuple[float, float]:
    """Return the average number of bytes and keys per slot of the source."""
    info = (await execute(ends.source, "INFO", "memory")).decode(errors="replace")
    size = re.search(r"used_memory_dataset:(\d+)", info)
    keys = await execute(ends.source, "DBSIZE")
    return (int(size[1]) if size else 0) / max(1, slots), keys / max(1, slots)


def _runs(slots: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and last slot of each run of consecutive slots."""
    runs: list[tuple[int, int]] = []
    for slot in slots:
        if runs and runs[-1][1] == slot - 1:
            runs[-1] = (runs[-1][0], slot)
        else:
            runs.append((slot, slot))
    return runs


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
