"""Tables and their queries, one file per noun. Importing this package registers all tables."""

from shardboard.state.access import (
    audit,
    device_logins,
    ldap_mappings,
    login_failures,
    roles_and_acls,
    service_tokens,
    sessions,
    users,
)
from shardboard.state.alerting import events, webhooks
from shardboard.state.benchmarks import benchmark_runs, scenario_runs
from shardboard.state.cluster import (
    actions,
    agent_certificates,
    cluster,
    console_backups,
    console_certificates,
    consoles,
    idempotent_replies,
    join_tokens,
    nodes,
)
from shardboard.state.data import backup_schedules, backups, locations, recordings, restores, transfers, uploads
from shardboard.state.databases import bdbs, shards
from shardboard.state.failures import availability_history, outages
from shardboard.state.metrics import latency, metric_history
from shardboard.state.placement import placement_snapshots

__all__ = [
    "actions",
    "agent_certificates",
    "audit",
    "availability_history",
    "backup_schedules",
    "backups",
    "bdbs",
    "benchmark_runs",
    "cluster",
    "console_backups",
    "console_certificates",
    "consoles",
    "device_logins",
    "events",
    "idempotent_replies",
    "join_tokens",
    "latency",
    "ldap_mappings",
    "locations",
    "login_failures",
    "metric_history",
    "nodes",
    "outages",
    "placement_snapshots",
    "recordings",
    "restores",
    "roles_and_acls",
    "scenario_runs",
    "service_tokens",
    "sessions",
    "shards",
    "transfers",
    "uploads",
    "users",
    "webhooks",
]
