"""Alarms of databases, nodes and the cluster that only the store shows: promised memory, users, long actions, and node checks."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.collectors.metrics.live_metrics import LiveMetrics
from shardboard.domain.alerting import alert_settings, threshold_alarms
from shardboard.domain.alerting.alarms import Alarm, MonitoredShard
from shardboard.domain.alerting.threshold_alarms import AlertSettings, Committed
from shardboard.domain.metrics import machine
from shardboard.queries.cluster import host_checks
from shardboard.state.access import users
from shardboard.state.cluster import actions
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import ReadShard


async def read_capacity_alarms(
    session: AsyncSession,
    stored: Mapping[str, Any],
    databases: Sequence[Bdb],
    rows: Sequence[ReadShard],
    machines: Sequence[Node],
    now: datetime,
) -> list[Alarm]:
    """Return the alarms. `stored` are the `alert_settings` of the cluster."""
    settings = {
        **alert_settings.settings_for_source("cluster", stored),
        **alert_settings.settings_for_source("node", stored),
    }
    found = threshold_alarms.capacity_alarms(
        settings, *_committed(databases, rows, machines), users=await users.count(session)
    )
    if settings["node_checks_error"].enabled:
        checks = await host_checks.checks(session, machines)
        for node in machines:
            problem = next(host_checks.problems(node, checks[node.uid]), None)
            found += threshold_alarms.node_check_alarms(node.uid, problem)
    return found + await _long_actions(session, databases, now)


def _committed(
    databases: Sequence[Bdb], rows: Sequence[ReadShard], machines: Sequence[Node]
) -> tuple[Committed, Committed]:
    """Return the RAM and the flash that are promised to databases, and that nodes have. A shared machine counts once."""
    counts = Counter(row.bdb_uid for row in rows)
    first = machine.one_per_machine((node.uid, str(node.facts.get("machine_id", node.uid))) for node in machines)
    ram = sum(bdb.shard_memory.ram * counts[bdb.uid] for bdb in databases)
    flash = sum((bdb.shard_memory.flash or 0) * counts[bdb.uid] for bdb in databases)
    return (
        Committed(ram, sum(node.facts["total_memory"] for node in machines if node.uid in first)),
        Committed(flash, sum(node.flash_size for node in machines)),
    )


async def _long_actions(session: AsyncSession, databases: Sequence[Bdb], now: datetime) -> list[Alarm]:
    limits: dict[int, tuple[str, AlertSettings]] = {
        bdb.uid: (bdb.name, settings)
        for bdb in databases
        if (settings := alert_settings.settings_for_bdb(bdb.alert_settings))["bdb_long_running_action"].enabled
    }
    if not limits:
        return []
    oldest: dict[int, tuple[datetime, str]] = {}
    for action in await actions.list_unfinished(session):
        if action.object_type == "bdb" and action.object_uid in limits:
            started = (action.created_at, action.description)
            oldest[action.object_uid] = min(oldest.get(action.object_uid, started), started)
    return [
        alarm
        for uid, (created_at, description) in oldest.items()
        for alarm in threshold_alarms.long_action_alarms(uid, *limits[uid], created_at, description, now)
    ]


def append_only_databases(databases: Sequence[Bdb], node_settings: AlertSettings) -> frozenset[int]:
    """Return the databases whose files can need as much storage as their memory; empty if the alert about that is disabled."""
    if not node_settings["node_insufficient_disk_aofrw"].enabled:
        return frozenset()
    return frozenset(bdb.uid for bdb in databases if bdb.config["data_persistence"] == "aof")


def append_only_bytes(
    live: LiveMetrics, databases: Mapping[int, tuple[str, Sequence[MonitoredShard]]], uids: frozenset[int]
) -> Counter[int]:
    """Return the memory of the shards of these databases by node: rewriting their append-only files can take as much storage."""
    used: Counter[int] = Counter()
    for uid in uids & databases.keys():
        for shard in databases[uid][1]:
            used[shard.node_uid] += int(live.latest_value(f"shards:{uid}", shard.uid, "used_memory") or 0)
    return used
