"""Endpoints for node failures, failover, incidents and drills."""

from shardboard.api.failures import (
    availability,
    availability_history,
    bdb_recovery,
    drills,
    failover,
    incidents,
    repair,
    shard_restart,
    timeline,
)

ROUTERS = (
    availability.router,
    availability_history.router,
    bdb_recovery.router,
    drills.router,
    failover.router,
    incidents.router,
    repair.router,
    shard_restart.router,
    timeline.router,
)
