"""Endpoints for databases, shards and endpoints."""

from shardboard.api.databases import (
    bdb_commands,
    bdb_passwords,
    bdbs,
    engine_diagnostics,
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
    engine_diagnostics.router,
    proxies.router,
    revamp.router,
    shards.router,
    traffic.router,
    upgrades.router,
)
