"""Metrics of the newest second for all shards, nodes and databases as Prometheus families."""

import os
import resource
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.cluster.node_status import AgentStatus
from shardboard.domain.metrics import prometheus_families, rates
from shardboard.domain.metrics.command_stats import ProxyCommandCounts, most_used
from shardboard.domain.metrics.histogram import Histogram, HistogramKey
from shardboard.domain.metrics.prometheus_families import Family
from shardboard.domain.metrics.rates import Value
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.schemas.metrics.prometheus import Exposition, render_labels
from shardboard.state.access import users
from shardboard.state.cluster import cluster, nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import ReadShard, Shard
from shardboard.state.failures import availability_history
from shardboard.state.metrics import metric_history

Raw = Mapping[str, Value]


async def expose(
    session: AsyncSession,
    raw_nodes: Mapping[int, Raw],
    raw_shards: Mapping[int, Raw],
    raw_tiers: Mapping[int, Raw],
    endpoints: Mapping[tuple[int, int], Mapping[str, int]],
    latencies: Mapping[HistogramKey, Histogram],
    commands: Mapping[int, Sequence[ProxyCommandCounts]],
) -> str:
    """Return the text of the metrics endpoint.

    `raw_*` are the newest values from the agents by uid; objects without a sample are missing. `endpoints` (by database and node)
    and `latencies` are totals since the console started. `commands` are the counts of the last minute, by database.
    """
    name = (await cluster.load(session)).name
    page = Exposition()
    all_families = (
        *(
            prometheus_families.NODE_UP,
            *prometheus_families.NODE,
            prometheus_families.CPU,
            prometheus_families.PROVISIONAL,
            prometheus_families.PROVISIONAL_FLASH,
        ),
        *prometheus_families.CLUSTER,
        *(*prometheus_families.DB, prometheus_families.DB_AVAILABILITY, *prometheus_families.ENDPOINT),
        *(
            prometheus_families.DISCONNECTIONS,
            prometheus_families.ENDPOINT_ERRORS,
            *prometheus_families.LATENCY.values(),
            *prometheus_families.COMMANDS,
        ),
        *(
            prometheus_families.UP,
            prometheus_families.PINNING,
            prometheus_families.LINK,
            *prometheus_families.SHARD,
            prometheus_families.PROCESS_CPU,
            prometheus_families.PROCESS_MEMORY,
        ),
        *(
            *prometheus_families.TIER,
            prometheus_families.USED_RAM,
            prometheus_families.MAX_RAM,
            prometheus_families.DISK_FRAGMENTATION,
        ),
    )
    for family in all_families:
        page.family(family.name, family.kind, family.help)
    machines = await nodes.list_all(session)
    _add_nodes(page, name, machines, raw_nodes)
    own_labels = render_labels({"cluster": name})
    page.add("users_count", own_labels, await users.count(session))
    page.add("shardboard_store_bytes", own_labels, await metric_history.store_size(session))
    databases = await bdbs.list_all(session)
    _add_provisional(page, name, machines, databases, await shards.list_occupying(session))
    _add_databases(page, name, databases)
    _add_availability(page, name, {bdb.uid for bdb in databases}, await availability_history.totals(session))
    _add_endpoints(page, name, {bdb.uid for bdb in databases}, endpoints)
    _add_latencies(page, name, {bdb.uid for bdb in databases}, latencies)
    _add_commands(page, name, commands)
    _add_shards(page, name, await shards.list_conditions(session), raw_shards, raw_tiers)
    _add_pinning(page, name, machines)
    return page.render()


def _add_nodes(page: Exposition, name: str, machines: Sequence[Node], raw: Mapping[int, Raw]) -> None:
    own_labels = render_labels({"cluster": name})
    page.add("total_nodes_count", own_labels, len(machines))
    page.add("total_live_nodes_count", own_labels, sum(node.agent_status == AgentStatus.CONNECTED for node in machines))
    usage = resource.getrusage(resource.RUSAGE_SELF)
    page.add("shardboard_console_cpu_seconds_total", own_labels, round(usage.ru_utime + usage.ru_stime, 3))
    page.add("shardboard_console_resident_memory_bytes", own_labels, _resident())
    for node in machines:
        labels, values = _node_labels(name, node), raw.get(node.uid)
        page.add(prometheus_families.NODE_UP.name, render_labels(labels), int(values is not None))
        if values is not None:
            _add_values(page, prometheus_families.NODE, render_labels(labels), values)
            for mode, (field, *contained_modes) in prometheus_families.CPU_MODES.items():
                total, parts = values[field], rates.add(values[part] for part in contained_modes)
                seconds = None if total is None or parts is None else max(0.0, total - parts)
                page.add(prometheus_families.CPU.name, render_labels({**labels, "mode": mode}), seconds)


def _node_labels(name: str, node: Node) -> dict[str, str | int]:
    """Return the labels of a node's series. Without a zone there is no label `rack_id`, so that series keep their identity."""
    return {"cluster": name, "node": node.uid, **({"rack_id": node.rack_id} if node.rack_id else {})}


def _add_provisional(
    page: Exposition, name: str, machines: Iterable[Node], databases: Iterable[Bdb], rows: Iterable[Shard]
) -> None:
    shares = {bdb.uid: bdb.shard_memory for bdb in databases}
    ram: Counter[int] = Counter()
    flash: Counter[int] = Counter()
    for row in rows:
        if (share := shares.get(row.bdb_uid)) is not None:
            ram[row.node_uid] += share.ram
            flash[row.node_uid] += share.flash or 0
    for node in machines:
        labels = render_labels(_node_labels(name, node))
        free_memory = max(0, int(node.facts.get("total_memory", 0)) - ram[node.uid])
        page.add(prometheus_families.PROVISIONAL.name, labels, free_memory)
        if node.flash_size:
            page.add(prometheus_families.PROVISIONAL_FLASH.name, labels, max(0, node.flash_size - flash[node.uid]))


def _add_databases(page: Exposition, name: str, rows: Iterable[Bdb]) -> None:
    for bdb in rows:
        labels = render_labels({"cluster": name, "db": bdb.uid})
        base_labels = {
            "cluster": name,
            "db": bdb.uid,
            "db_name": bdb.name,
            "port": bdb.port,
            "shards": bdb.shards_count,
            "replication": str(bdb.replication).lower(),
        }
        page.add("db_status", labels, prometheus_families.DB_STATUS.get(bdb.status, 99))
        page.add("db_config", render_labels(base_labels), 1)
        page.add("db_memory_limit_bytes", labels, bdb.memory_size)
        page.add("db_replication_factor", labels, 2 if bdb.replication else 1)


def _add_availability(
    page: Exposition, name: str, uids: Collection[int], totals: Iterable[availability_history.Total]
) -> None:
    for total in totals:
        if total.bdb_uid not in uids:
            continue
        for state in ("served", "failed", "unknown"):
            labels = render_labels({"cluster": name, "db": total.bdb_uid, "state": state})
            page.add(prometheus_families.DB_AVAILABILITY.name, labels, getattr(total, state) / 1000)


def _add_endpoints(
    page: Exposition, name: str, uids: Collection[int], endpoints: Mapping[tuple[int, int], Mapping[str, int]]
) -> None:
    for (uid, node_uid), totals in sorted(endpoints.items()):
        if uid not in uids:
            continue
        labels = {"cluster": name, "db": uid, "endpoint": f"{uid}:1", "node": node_uid, "proxy": node_uid}
        label_text = render_labels(labels)
        _add_values(page, prometheus_families.ENDPOINT, label_text, totals)
        page.add(prometheus_families.DISCONNECTIONS.name, label_text, max(0, totals["opened"] - totals["conns"]))
        for key, count in sorted(totals.items()):
            if key.startswith("error:"):
                own_labels = render_labels({**labels, "kind": key.removeprefix("error:")})
                page.add(prometheus_families.ENDPOINT_ERRORS.name, own_labels, count)


def _add_latencies(
    page: Exposition, name: str, uids: Collection[int], latencies: Mapping[HistogramKey, Histogram]
) -> None:
    for (uid, kind), measured in sorted(latencies.items(), key=lambda item: item[0]):
        if uid in uids:
            labels = {"cluster": name, "db": uid, "endpoint": f"{uid}:1"}
            buckets = measured.cumulative(prometheus_families.LATENCY_BOUNDS)
            page.add_histogram(prometheus_families.LATENCY[kind].name, labels, buckets, measured.count, measured.total)


def _add_commands(page: Exposition, name: str, commands: Mapping[int, Sequence[ProxyCommandCounts]]) -> None:
    for uid, selected in sorted(commands.items()):
        for command in most_used(selected):
            labels = {"cluster": name, "db": uid, "endpoint": f"{uid}:1", "command": command.name}
            _add_values(page, prometheus_families.COMMANDS, render_labels(labels), vars(command))


def _add_shards(
    page: Exposition, name: str, rows: Iterable[ReadShard], raw: Mapping[int, Raw], tiers: Mapping[int, Raw]
) -> None:
    for shard in rows:
        values = raw.get(shard.uid)
        primary = shard.current_role == ShardRole.PRIMARY if values is None else values["is_primary"] == 1
        labels = {
            "cluster": name,
            "db": shard.bdb_uid,
            "node": shard.node_uid,
            "redis": shard.uid,
            "role": ShardRole.PRIMARY if primary else ShardRole.REPLICA,
        }
        label_text = render_labels(labels)
        page.add(prometheus_families.UP.name, label_text, int(values is not None))
        if values is None:
            continue
        _add_values(page, prometheus_families.SHARD, label_text, values)
        for mode, field in prometheus_families.PROCESS_CPU_MODES.items():
            page.add(prometheus_families.PROCESS_CPU.name, render_labels({**labels, "mode": mode}), values[field])
        resident = render_labels({**labels, "memtype": "resident"})
        page.add(prometheus_families.PROCESS_MEMORY.name, resident, values["used_memory_rss"])
        if (tier := tiers.get(shard.uid)) is not None:
            _add_tier(page, label_text, values, tier)
        page.add(prometheus_families.LINK.name, label_text, 3 if primary else 1 if values["link_up"] else 2)


def _add_pinning(page: Exposition, name: str, machines: Iterable[Node]) -> None:
    for node in machines:
        for uid, place in node.pinning.get("shards", {}).items():
            labels = {"cluster": name, "node": node.uid, "redis": uid, "cores": place["cores"]}
            numa = {"numa_node": place["numa_nodes"]}
            page.add(prometheus_families.PINNING.name, render_labels({**labels, **numa}), 1)


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
