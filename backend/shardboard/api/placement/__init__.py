"""Endpoints for shard placement, movement and resharding."""

from shardboard.api.placement import rebalance, redundancy, shard_migration

ROUTERS = (
    rebalance.router,
    redundancy.router,
    shard_migration.router,
)
