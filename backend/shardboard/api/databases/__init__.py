"""Endpoints for databases, shards and endpoints."""

from shardboard.api.databases import (
    bdb_commands,
    bdb_passwords,
    bdbs,
    bdbs_v2,
    engine_diagnostics,
    optimize_shards_placement,
    proxies,
    revamp,
    shards,
    traffic,
    upgrades,
)

ROUTERS = (
    bdb_commands.router,
    bdb_passwords.router,
    bdbs.router,
    bdbs_v2.router,
    engine_diagnostics.router,
    optimize_shards_placement.router,
    proxies.router,
    revamp.router,
    shards.router,
    traffic.router,
    upgrades.router,
)
