"""CPU time that the console needs to determine slot ownership, and how long this blocks its event loop.

Each shard's view is text from its agent: hundreds of views with hundreds of lines each.
"""

import asyncio
import gc
import time
from collections.abc import Sequence
from typing import cast

from perf.kit.report import Report
from perf.kit.scale import scaled
from shardboard.contract import CommandResult, ShardCommand
from shardboard.domain.placement import slots
from shardboard.driver import slot_map
from shardboard.driver.interfaces import Agents, NodeRef
from shardboard.driver.valkey_cluster import ShardRef

ROUNDS = scaled(9, 1)
NODES = 18
TICK_SECONDS = 0.001


class _Views:
    """Fake agents whose shards all reply, each with its own view."""

    def __init__(self, shards: Sequence[ShardRef]) -> None:
        lines = {shard.uid: _line(shard, shards) for shard in shards}

        def view(shard: ShardRef) -> str:
            own = lines[shard.uid].replace(" master ", " myself,master ").replace(" slave ", " myself,slave ")
            return "".join(f"{own if uid == shard.uid else line}\n" for uid, line in lines.items())

        self._views = {shard.uid: view(shard) for shard in shards if shard.role == "master"}

    async def command(self, node: NodeRef, commands: Sequence[ShardCommand]) -> list[CommandResult]:
        return [CommandResult(uid=each.uid, ok=True, reply=self._views[each.uid]) for each in commands]


def slot_views(report: Report) -> None:
    """Poll all primaries of a large database."""
    for pairs in scaled((360, 512), (12,)):
        cpu_times, held = asyncio.run(_polls(pairs))
        title = f"slot ownership, {pairs} primaries with replicas"
        report.fact(f"{title}: CPU time of the console", cpu_times, "s")
        report.limit(f"{title}: longest block of the event loop", max(held), 0.1, "s")


async def _polls(pairs: int) -> tuple[list[float], list[float]]:
    shards = _layout(pairs)
    primaries = [shard for shard in shards if shard.role == "master"]
    agents = cast(Agents, _Views(shards))
    cpu_times, held = [], []
    for _ in range(ROUNDS):
        gc.collect()
        blocking_task = asyncio.create_task(_measure_blocking())
        before = time.process_time()
        slot_view = await slot_map.read_slot_map(agents, shards, primaries)
        cpu_times.append(time.process_time() - before)
        blocking_task.cancel()
        held.append(await blocking_task)
        if slot_view.lost or slot_view.disagreeing or len(slot_view.slots_by_pair) != pairs:
            raise RuntimeError("the views are inconsistent")
    return cpu_times, held


async def _measure_blocking() -> float:
    """Return, when cancelled, the longest delay of the event loop beyond the requested sleep, in seconds."""
    longest, last = 0.0, time.monotonic()
    try:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            now = time.monotonic()
            longest, last = max(longest, now - last - TICK_SECONDS), now
    except asyncio.CancelledError:
        return max(longest, time.monotonic() - last - TICK_SECONDS)


def _layout(pairs: int) -> list[ShardRef]:
    nodes = [NodeRef(uid, f"10.0.0.{uid}", 9700) for uid in range(1, NODES + 1)]
    ranges = slots.split(pairs)
    return [
        ShardRef(
            uid=1 + pair + pairs * step,
            node=nodes[(pair + step) % NODES],
            pair=pair,
            role=role,
            slots=(ranges[pair],),
            port=20_001 + pair + pairs * step,
            bus_port=25_001 + pair + pairs * step,
            engine_id=f"{1 + pair + pairs * step:040x}",
        )
        for step, role in enumerate(("master", "slave"))
        for pair in range(pairs)
    ]


def _line(shard: ShardRef, shards: Sequence[ShardRef]) -> str:
    """Return a shard's line in CLUSTER NODES of another shard. Primaries come first in `shards`."""
    address = f"{shard.node.addr}:{shard.port}@{shard.bus_port},,shard-id={shard.engine_id}"
    if shard.role == "master":
        return f"{shard.engine_id} {address} master - 0 1700000000000 {shard.pair + 1} connected {slots.render(shard.slots)}"
    return (
        f"{shard.engine_id} {address} slave {shards[shard.pair].engine_id} 0 1700000000000 {shard.pair + 1} connected"
    )
