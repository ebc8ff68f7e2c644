"""Cost of a reshard: its plan, with the newest samples of the shards whose slots move."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import reshard, reshard_estimate, slots
from shardboard.domain.rates import Value
from shardboard.domain.reshard_estimate import Cargo, Holding
from shardboard.orders import movement
from shardboard.orders.movement import ClusterView
from shardboard.services import reshards
from shardboard.state import shards
from shardboard.state.bdbs import Bdb
from shardboard.state.shards import Shard

Latest = Callable[[Shard], Mapping[str, Value]]
"""Returns the newest sample of a shard, by metric; empty if there is none."""
EMPTY_BYTES = 4_000_000
"""Memory of an engine without data: tables, connections and replication backlog. Empty 9.1 shards use 2 to 4 MB."""
FIRST_OWN_WAY = 9
"""First major version whose engines migrate slots natively (atomic slot migration)."""


async def preview(session: AsyncSession, bdb: Bdb, plan: reshards.ReshardPlan, latest: Latest) -> dict[str, Any]:
    """Return the preview in the form of the API's `reshard_preview`."""
    view = await movement.locked_view(session)
    of = _cargo(view, bdb, plan, await shards.of_bdb(session, bdb.uid), latest)
    return {
        "slots": of.slots,
        **{name: value for name, value in (("keys", of.keys), ("bytes", of.bytes)) if value is not None},
        "pace": view.cluster.rules.resharding_pace,
        "estimates": [_shown(of, pace) for pace in reshard_estimate.PACES],
    }


def _cargo(view: ClusterView, bdb: Bdb, plan: reshards.ReshardPlan, rows: Sequence[Shard], latest: Latest) -> Cargo:
    held = {row.pair: slots.parse(row.slots) for row in rows}
    going = sum(row.pair in plan.leaving for row in rows)
    versions = [row.observed_version for row in rows]
    versions += [view.machines[placed.node_uid].facts.get("engine_version", "") for placed in plan.newcomers]
    return reshard_estimate.cargo(
        reshard.batches(held, plan.wanted),
        {row.pair: _holding(row, latest(row)) for row in rows if row.current_role == "master"},
        shards=len(plan.newcomers) + going,
        own_way=not bdb.on_flash and all(_major(version) >= FIRST_OWN_WAY for version in versions),
        unknown="Values on flash are read during the move, and the speed of that has not been measured."
        if bdb.on_flash
        else "",
    )


def _holding(row: Shard, sample: Mapping[str, Value]) -> Holding:
    keys, used = sample.get("no_of_keys"), sample.get("used_memory")
    held = reshard.count(slots.parse(row.slots))
    if keys is None or used is None:
        return Holding(held, None, None)
    return Holding(held, int(keys), max(0, int(used) - EMPTY_BYTES) if keys else 0)


def _major(version: str) -> int:
    """Return the major version; 0 if it is unknown, for which the slower method is assumed."""
    head = version.partition(".")[0]
    return int(head) if head.isdecimal() else 0


def _shown(of: Cargo, pace: reshard_estimate.ReshardingPace) -> dict[str, Any]:
    told = reshard_estimate.estimate(of, pace)
    known = {} if told.seconds is None else {"seconds": told.seconds}
    return {"pace": pace, **known, "time": told.time, "latency": told.latency, "basis": told.basis}
