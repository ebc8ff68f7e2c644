"""Tables and the queries on them, one file per noun. Importing this package registers every table."""

from shardboard.state import (
    access,
    actions,
    bdbs,
    benchmarks,
    cluster,
    events,
    join_tokens,
    latency,
    login_failures,
    metrics,
    nodes,
    outages,
    shards,
    snapshots,
    users,
    webhooks,
)

__all__ = [
    "access",
    "actions",
    "bdbs",
    "benchmarks",
    "cluster",
    "events",
    "join_tokens",
    "latency",
    "login_failures",
    "metrics",
    "nodes",
    "outages",
    "shards",
    "snapshots",
    "users",
    "webhooks",
]
