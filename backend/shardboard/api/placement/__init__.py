"""Endpoints for shard placement, movement and resharding."""

from shardboard.api.placement import rebalance, shard_migration

ROUTERS = (
    rebalance.router,
    shard_migration.router,
)
