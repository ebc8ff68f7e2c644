"""Cost of a reshard: its plan, with the newest samples of the shards whose slots move."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import movement
from shardboard.actions.movement import ClusterView
from shardboard.domain.metrics.rates import Value
from shardboard.domain.placement import resharding as reshard
from shardboard.domain.placement import resharding_estimate, slots
from shardboard.domain.placement.resharding_estimate import MovedData, ShardData
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.services.placement import resharding as reshards
from shardboard.state.databases import shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

LatestShardSample = Callable[[Shard], Mapping[str, Value]]
"""Returns the newest sample of a shard, by metric; empty if there is none."""
EMPTY_ENGINE_BYTES = 4_000_000
"""Memory of an engine without data: tables, connections and replication backlog. Empty 9.1 shards use 2 to 4 MB."""
FIRST_NATIVE_MIGRATION_VERSION = 9
"""First major version whose engines migrate slots natively (atomic slot migration)."""


async def preview(
    session: AsyncSession, bdb: Bdb, plan: reshards.ReshardPlan, latest: LatestShardSample
) -> dict[str, Any]:
    """Return the preview in the form of the API's `reshard_preview`."""
    view = await movement.locked_view(session)
    moved = _moved_data(view, bdb, plan, await shards.list_for_bdb(session, bdb.uid), latest)
    return {
        "slots": moved.slots,
        **{name: value for name, value in (("keys", moved.keys), ("bytes", moved.bytes)) if value is not None},
        "pace": view.cluster.rules.resharding_pace,
        "estimates": [_render(moved, pace) for pace in resharding_estimate.PACES],
    }


def _moved_data(
    view: ClusterView, bdb: Bdb, plan: reshards.ReshardPlan, rows: Sequence[Shard], latest: LatestShardSample
) -> MovedData:
    current_slots = {row.pair: slots.parse(row.slots) for row in rows}
    removed_count = sum(row.pair in plan.removed_pairs for row in rows)
    versions = [row.observed_version for row in rows]
    versions += [view.nodes[shard.node_uid].facts.get("engine_version", "") for shard in plan.new_shards]
    return resharding_estimate.moved_data(
        reshard.batches(current_slots, plan.desired_slots),
        {row.pair: _shard_data(row, latest(row)) for row in rows if row.current_role == ShardRole.PRIMARY},
        shards=len(plan.new_shards) + removed_count,
        native_migration=not bdb.on_flash
        and all(_major(version) >= FIRST_NATIVE_MIGRATION_VERSION for version in versions),
        unknown="Values on flash are read during the move, and the speed of these reads has not been measured."
        if bdb.on_flash
        else "",
    )


def _shard_data(row: Shard, sample: Mapping[str, Value]) -> ShardData:
    keys, used_memory = sample.get("no_of_keys"), sample.get("used_memory")
    slot_count = reshard.count(slots.parse(row.slots))
    if keys is None or used_memory is None:
        return ShardData(slot_count, None, None)
    return ShardData(slot_count, int(keys), max(0, int(used_memory) - EMPTY_ENGINE_BYTES) if keys else 0)


def _major(version: str) -> int:
    """Return the major version; 0 if it is unknown, for which the slower method is assumed."""
    major = version.partition(".")[0]
    return int(major) if major.isdecimal() else 0


def _render(moved: MovedData, pace: resharding_estimate.ReshardingPace) -> dict[str, Any]:
    estimate = resharding_estimate.estimate(moved, pace)
    duration = {} if estimate.seconds is None else {"seconds": estimate.seconds}
    return {"pace": pace, **duration, "time": estimate.time, "latency": estimate.latency, "basis": estimate.basis}
