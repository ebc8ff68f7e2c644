"""Metrics of the newest second for all shards, nodes and databases as Prometheus families."""

import os
import resource
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.cluster import license_terms
from shardboard.domain.cluster.node_status import AgentStatus
from shardboard.domain.metrics import prometheus_families, rates
from shardboard.domain.metrics.command_stats import ProxyCommandCounts, most_used
from shardboard.domain.metrics.histogram import Histogram, HistogramKey
from shardboard.domain.metrics.prometheus_families import Family
from shardboard.domain.metrics.rates import Value
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.queries.metrics import free_capacity
from shardboard.schemas.metrics.prometheus import Exposition, render_labels
from shardboard.state.access import users
from shardboard.state.cluster import cluster, nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import ReadShard
from shardboard.state.failures import availability_history
from shardboard.state.metrics import metric_history

Raw = Mapping[str, Value]


@dataclass(frozen=True)
class Scope:
    """The exposed objects: the cluster, or one node, whose series have no labels `cluster` and `node`."""

    cluster: str
    node: int | None = None

    def includes(self, node_uid: int) -> bool:
        return self.node in (None, node_uid)

    def render(self, labels: Mapping[str, object]) -> str:
        """Render labels together with that of the cluster."""
        if self.node is None:
            return render_labels({"cluster": self.cluster, **labels})
        return render_labels({name: value for name, value in labels.items() if name != "node"})


async def expose(
    session: AsyncSession,
    raw_nodes: Mapping[int, Raw],
    raw_shards: Mapping[int, Raw],
    raw_tiers: Mapping[int, Raw],
    endpoints: Mapping[tuple[int, int], Mapping[str, int]],
    latencies: Mapping[HistogramKey, Histogram],
    commands: Mapping[int, Sequence[ProxyCommandCounts]],
    node_uid: int | None = None,
) -> str:
    """Return the text of the metrics endpoint.

    `raw_*` are the newest values from the agents by uid; objects without a sample are missing. `endpoints` (by database and node)
    and `latencies` are totals since the console started. `commands` are the counts of the last minute, by database. `node_uid`
    limits the metrics to those of one node.
    """
    scope = Scope((await cluster.load(session)).name, node_uid)
    page = Exposition()
    for family in prometheus_families.ALL:
        page.family(family.name, family.kind, family.help)
    machines = await nodes.list_all(session)
    _add_nodes(page, scope, [node for node in machines if scope.includes(node.uid)], raw_nodes)
    _add_membership(page, scope, machines)
    capacities = await free_capacity.list_by_node(session)
    _add_capacity(page, scope, machines, capacities)
    databases = await bdbs.list_all(session)
    uids = {bdb.uid for bdb in databases}
    if node_uid is None:
        await _add_cluster(page, scope, session, machines)
        _add_databases(page, scope, databases)
        _add_availability(page, scope, uids, await availability_history.totals(session))
        _add_latencies(page, scope, uids, latencies)
        _add_commands(page, scope, commands)
    _add_endpoints(page, scope, uids, endpoints)
    _add_shards(page, scope, await shards.list_conditions(session), raw_shards, raw_tiers)
    _add_pinning(page, scope, machines)
    return page.render()


async def _add_cluster(page: Exposition, scope: Scope, session: AsyncSession, machines: Sequence[Node]) -> None:
    own_labels = scope.render({})
    page.add("total_nodes_count", own_labels, len(machines))
    page.add("total_live_nodes_count", own_labels, sum(_is_live(node) for node in machines))
    page.add("users_count", own_labels, await users.count(session))
    page.add("license_expiration_days", own_labels, (license_terms.NEVER - datetime.now(UTC)).days)
    for shard_type in ("ram", "flash"):
        page.add("license_shards_limit", scope.render({"shard_type": shard_type}), license_terms.UNLIMITED)
    page.add("shardboard_store_bytes", own_labels, await metric_history.store_size(session))
    usage = resource.getrusage(resource.RUSAGE_SELF)
    page.add("shardboard_console_cpu_seconds_total", own_labels, round(usage.ru_utime + usage.ru_stime, 3))
    page.add("shardboard_console_resident_memory_bytes", own_labels, _resident())


def _add_nodes(page: Exposition, scope: Scope, machines: Iterable[Node], raw: Mapping[int, Raw]) -> None:
    for node in machines:
        labels, values = _node_labels(node), raw.get(node.uid)
        page.add(prometheus_families.NODE_UP.name, scope.render(labels), int(values is not None))
        if values is not None:
            _add_values(page, prometheus_families.NODE, scope.render(labels), values)
            for mode, (field, *contained_modes) in prometheus_families.CPU_MODES.items():
                total, parts = values[field], rates.add(values[part] for part in contained_modes)
                seconds = None if total is None or parts is None else max(0.0, total - parts)
                page.add(prometheus_families.CPU.name, scope.render({**labels, "mode": mode}), seconds)


def _add_membership(page: Exposition, scope: Scope, machines: Sequence[Node]) -> None:
    """Add the configuration of nodes, and their part in the cluster."""
    has_majority = sum(_is_live(node) for node in machines) * 2 > len(machines)
    primary = min((node.uid for node in machines), default=None)
    for node in machines:
        if not scope.includes(node.uid):
            continue
        labels = _node_labels(node)
        config = {
            "addr": node.addr,
            "cores": node.facts.get("cores", ""),
            "version": node.facts.get("agent_version", ""),
        }
        page.add(prometheus_families.NODE_CONFIG.name, scope.render({**labels, **config}), 1)
        quorum_labels = scope.render({**labels, "has_witness_disk": "false"})
        page.add(prometheus_families.HAS_QUORUM.name, quorum_labels, int(has_majority and _is_live(node)))
        page.add(prometheus_families.IS_PRIMARY.name, scope.render(labels), int(node.uid == primary))


def _is_live(node: Node) -> bool:
    return node.agent_status == AgentStatus.CONNECTED


def _node_labels(node: Node) -> dict[str, str | int]:
    """Return the labels of a node's series. Without a zone there is no label `rack_id`, so that series keep their identity."""
    return {"node": node.uid, **({"rack_id": node.rack_id} if node.rack_id else {})}


def _add_capacity(
    page: Exposition, scope: Scope, machines: Iterable[Node], capacities: Mapping[int, free_capacity.Capacity]
) -> None:
    for node in machines:
        if (capacity := capacities.get(node.uid)) is None or not scope.includes(node.uid):
            continue
        labels = scope.render(_node_labels(node))
        for family in prometheus_families.CAPACITY:
            page.add(family.name, labels, capacity.free_memory)
        for family in prometheus_families.FLASH_CAPACITY:
            page.add(family.name, labels, capacity.free_flash)


def _add_databases(page: Exposition, scope: Scope, rows: Iterable[Bdb]) -> None:
    for bdb in rows:
        labels = scope.render({"db": bdb.uid})
        base_labels = {
            "db": bdb.uid,
            "db_name": bdb.name,
            "port": bdb.port,
            "shards": bdb.shards_count,
            "replication": str(bdb.replication).lower(),
        }
        page.add("db_status", labels, prometheus_families.DB_STATUS.get(bdb.status, 99))
        page.add("db_config", scope.render(base_labels), 1)
        page.add("db_memory_limit_bytes", labels, bdb.memory_size)
        page.add("db_replication_factor", labels, 2 if bdb.replication else 1)


def _add_availability(
    page: Exposition, scope: Scope, uids: Collection[int], totals: Iterable[availability_history.Total]
) -> None:
    for total in totals:
        if total.bdb_uid not in uids:
            continue
        for state in ("served", "failed", "unknown"):
            labels = scope.render({"db": total.bdb_uid, "state": state})
            page.add(prometheus_families.DB_AVAILABILITY.name, labels, getattr(total, state) / 1000)


def _add_endpoints(
    page: Exposition, scope: Scope, uids: Collection[int], endpoints: Mapping[tuple[int, int], Mapping[str, int]]
) -> None:
    for (uid, node_uid), totals in sorted(endpoints.items()):
        if uid not in uids or not scope.includes(node_uid):
            continue
        labels = {"db": uid, "endpoint": f"{uid}:1", "node": node_uid, "proxy": node_uid}
        label_text = scope.render(labels)
        _add_values(page, prometheus_families.ENDPOINT, label_text, totals)
        page.add(prometheus_families.DISCONNECTIONS.name, label_text, max(0, totals["opened"] - totals["conns"]))
        for key, count in sorted(totals.items()):
            if key.startswith("error:"):
                own_labels = scope.render({**labels, "kind": key.removeprefix("error:")})
                page.add(prometheus_families.ENDPOINT_ERRORS.name, own_labels, count)


def _add_latencies(
    page: Exposition, scope: Scope, uids: Collection[int], latencies: Mapping[HistogramKey, Histogram]
) -> None:
    for (uid, kind), measured in sorted(latencies.items(), key=lambda item: item[0]):
        if uid in uids:
            labels = {"cluster": scope.cluster, "db": uid, "endpoint": f"{uid}:1"}
            buckets = measured.cumulative(prometheus_families.LATENCY_BOUNDS)
            page.add_histogram(prometheus_families.LATENCY[kind].name, labels, buckets, measured.count, measured.total)


def _add_commands(page: Exposition, scope: Scope, commands: Mapping[int, Sequence[ProxyCommandCounts]]) -> None:
    for uid, selected in sorted(commands.items()):
        for command in most_used(selected):
            labels = {"db": uid, "endpoint": f"{uid}:1", "command": command.name}
            _add_values(page, prometheus_families.COMMANDS, scope.render(labels), vars(command))


def _add_shards(
    page: Exposition, scope: Scope, rows: Iterable[ReadShard], raw: Mapping[int, Raw], tiers: Mapping[int, Raw]
) -> None:
    for shard in rows:
        if not scope.includes(shard.node_uid):
            continue
        values = raw.get(shard.uid)
        primary = shard.current_role == ShardRole.PRIMARY if values is None else values["is_primary"] == 1
        labels = {
            "db": shard.bdb_uid,
            "node": shard.node_uid,
            "redis": shard.uid,
            "role": ShardRole.PRIMARY if primary else ShardRole.REPLICA,
        }
        label_text = scope.render(labels)
        page.add(prometheus_families.UP.name, label_text, int(values is not None))
        if values is None:
            continue
        _add_values(page, prometheus_families.SHARD, label_text, values)
        for mode, field in prometheus_families.PROCESS_CPU_MODES.items():
            page.add(prometheus_families.PROCESS_CPU.name, scope.render({**labels, "mode": mode}), values[field])
        resident = scope.render({**labels, "memtype": "resident"})
        page.add(prometheus_families.PROCESS_MEMORY.name, resident, values["used_memory_rss"])
        if (tier := tiers.get(shard.uid)) is not None:
            _add_tier(page, label_text, values, tier)
        page.add(prometheus_families.LINK.name, label_text, 3 if primary else 1 if values["link_up"] else 2)


def _add_pinning(page: Exposition, scope: Scope, machines: Iterable[Node]) -> None:
    for node in machines:
        if not scope.includes(node.uid):
            continue
        for uid, place in node.pinning.get("shards", {}).items():
            labels = {"node": node.uid, "redis": uid, "cores": place["cores"]}
            numa = {"numa_node": place["numa_nodes"]}
            page.add(prometheus_families.PINNING.name, scope.render({**labels, **numa}), 1)


def _add_tier(page: Exposition, labels: str, values: Raw, tier: Raw) -> None:
    _add_values(page, prometheus_families.TIER, labels, tier)
    page.add(prometheus_families.USED_RAM.name, labels, values["used_memory"])
    page.add(prometheus_families.MAX_RAM.name, labels, values["maxmemory"])
    files, live_bytes = tier["flash_file_bytes"], tier["flash_used_bytes"]
    page.add(
        prometheus_families.DISK_FRAGMENTATION.name,
        labels,
        files / live_bytes if files is not None and live_bytes else None,
    )


def _add_values(page: Exposition, selected: Iterable[Family], labels: str, values: Mapping[str, Any]) -> None:
    for family in selected:
        value = values[family.field]
        page.add(family.name, labels, None if value is None else value * family.factor)


def _resident() -> int:
    """Return the resident memory in bytes; 0 if the kernel does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
