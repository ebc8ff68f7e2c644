"""Sizing of a workload so that its keys fill the memory of a database or of its nodes."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.benchmarks import memory_fill, workload
from shardboard.domain.benchmarks.memory_fill import MemoryFill
from shardboard.errors import NotAcceptable
from shardboard.state.cluster import nodes
from shardboard.state.databases import shards
from shardboard.state.databases.bdbs import Bdb


async def compute(
    session: AsyncSession, bdb: Bdb, phases: Sequence[Mapping[str, Any]], requested: Mapping[str, Any] | None
) -> MemoryFill:
    """Return the keys that fill the memory. `requested` is the `fill` of a request, None for its defaults."""
    options = {name: value for name, value in (requested or {}).items() if value is not None}
    basis: memory_fill.Basis = options.get("basis", "database" if bdb.memory_size else "nodes")
    if basis == "database":
        memory, reserve = bdb.memory_size, options.get("reserve_bytes", 0)
    else:
        node_uids = {shard.node_uid for shard in await shards.list_for_bdb(session, bdb.uid)}
        memories = [int(node.facts["total_memory"]) for node in await nodes.list_all(session) if node.uid in node_uids]
        memory = sum(memories)
        reserve = options.get("reserve_bytes", memory_fill.NODE_RESERVE) * len(memories)
    primaries = bdb.shards_count if bdb.sharding else 1
    specs: list[Mapping[str, Any]] = [phase["workload"] for phase in phases]
    sizes = [workload.value_bytes(spec) for spec in specs if workload.writes(spec)]
    value_bytes = max([*(sizes or map(workload.value_bytes, specs)), 1.0])
    return MemoryFill(
        basis=basis,
        memory=memory,
        reserve_bytes=reserve,
        share_of_memory=options.get("share_of_memory", memory_fill.SHARE),
        overhead=options.get("overhead", memory_fill.typical_overhead(value_bytes, workload.prefix(specs[-1]))),
        value_bytes=value_bytes,
        copies=2 if bdb.replication else 1,
        servers=options.get("servers", primaries),
        database_servers=primaries,
    )


def apply(phases: Sequence[Mapping[str, Any]], fill: MemoryFill) -> list[dict[str, Any]]:
    """Return the phases with the computed keys. Raises NotAcceptable if no memory is left, or if a phase sets its keys."""
    if not fill.keys:
        message = f"No memory is left for keys: {fill.formula}. Set reserve_bytes, or use the other basis."
        raise NotAcceptable("invalid_fill", message, field="fill")
    for phase in phases:
        for name in ("key_minimum", "key_maximum"):
            if phase["workload"].get(name) is not None:
                raise NotAcceptable(
                    "invalid_fill", f"fill computes the keys of phase {phase['name']}: remove its {name}.", field="fill"
                )
    return [
        {**phase, "workload": {**phase["workload"], "key_minimum": 1, "key_maximum": fill.keys}} for phase in phases
    ]
