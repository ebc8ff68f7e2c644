"""Metrics of the last seconds for all shards, nodes, databases and endpoints as Prometheus families with version 1 names."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.cluster import license_terms
from shardboard.domain.metrics import endpoint_metrics, reference_stats
from shardboard.domain.metrics import prometheus_v1_families as families
from shardboard.domain.metrics.prometheus_families import Family
from shardboard.domain.metrics.rates import Value, add
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.queries.metrics import free_capacity
from shardboard.schemas.metrics.prometheus import Exposition, render_labels
from shardboard.state.cluster import cluster, nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import ReadShard

Raw = Mapping[str, Value]
Windows = Mapping[int, Mapping[str, float]]
_LINK_UP, _LINK_DOWN, _LINK_NONE = 1, 2, 3


@dataclass(frozen=True)
class RecentValues:
    """Values of the last seconds by uid: those of `recent_window.summarize`, and the agents' newest ones."""

    databases: Windows
    nodes: Windows
    endpoints: Windows
    shards: Windows
    raw_nodes: Mapping[int, Raw]
    raw_shards: Mapping[int, Raw]
    raw_tiers: Mapping[int, Raw]
    proxies: Mapping[int, Mapping[str, float]]
    """By node: `rss`, `started` and `cpu_percent`."""


async def expose(session: AsyncSession, recent: RecentValues) -> str:
    """Return the text of the metrics endpoint. Objects and metrics without data are missing."""
    stored = await cluster.load(session)
    page = Exposition()
    for family in families.ALL:
        page.family(family.name, family.kind, family.help)
    rows = await shards.list_conditions(session)
    databases = await bdbs.list_all(session)
    shows_names = stored.rules.metrics_exporter_expose_bdb_name
    names = {bdb.uid: {"bdb_name": bdb.name} if shows_names else {} for bdb in databases}
    _add_databases(page, stored.name, databases, names, rows, recent, stored.settings.bigstore_driver)
    for shard_type in ("ram", "flash"):
        label_text = render_labels({"cluster": stored.name, "shard_type": shard_type})
        page.add(families.SHARDS_LIMIT.name, label_text, license_terms.UNLIMITED)
    _add_nodes(page, stored.name, await nodes.list_all(session), await free_capacity.list_by_node(session), recent)
    _add_endpoints(page, stored.name, names, recent)
    for row in rows:
        _add_shard(page, {"bdb": row.bdb_uid, "cluster": stored.name, **names.get(row.bdb_uid, {})}, row, recent)
    return page.render()


def _add_nodes(
    page: Exposition,
    name: str,
    machines: Iterable[Node],
    capacities: Mapping[int, free_capacity.Capacity],
    recent: RecentValues,
) -> None:
    for node in machines:
        labels = {"cluster": name, "node": node.uid}
        page.add(families.NODE_UP.name, render_labels(labels), int(node.uid in recent.raw_nodes))
        if node.uid not in recent.raw_nodes:
            continue
        values = dict(recent.nodes.get(node.uid, {}))
        values |= reference_stats.derived("nodes", values)
        if (capacity := capacities.get(node.uid)) is not None:
            values |= free_capacity.statistics(capacity)
        _add_values(page, families.NODE, render_labels(labels), values)
        proxy = recent.proxies.get(node.uid, {})
        _add_values(page, families.PROXY, render_labels({**labels, "proxy": node.uid}), proxy)


def _add_endpoints(page: Exposition, name: str, names: Mapping[int, Mapping[str, str]], recent: RecentValues) -> None:
    for number, values in sorted(recent.endpoints.items()):
        bdb_uid, node_uid = endpoint_metrics.database(number), endpoint_metrics.node(number)
        if bdb_uid in names:
            labels = {"bdb": bdb_uid, "cluster": name, "endpoint": f"{bdb_uid}:1", "node": node_uid}
            _add_values(page, families.LISTENER, render_labels({**labels, "proxy": node_uid, **names[bdb_uid]}), values)


def _add_databases(
    page: Exposition,
    name: str,
    databases: Iterable[Bdb],
    names: Mapping[int, Mapping[str, str]],
    rows: Sequence[ReadShard],
    recent: RecentValues,
    driver: str,
) -> None:
    own_shards: dict[int, list[ReadShard]] = {}
    for row in rows:
        own_shards.setdefault(row.bdb_uid, []).append(row)
    for bdb in databases:
        labels: dict[str, Any] = {"bdb": bdb.uid, "cluster": name, **names[bdb.uid]}
        label_text, members = render_labels(labels), own_shards.get(bdb.uid, [])
        if (values := recent.databases.get(bdb.uid)) is not None:
            _add_values(page, families.DATABASE, label_text, {**values, **_not_counted(values)})
        page.add(families.MEMORY_LIMIT.name, label_text, bdb.memory_size)
        primaries = [row for row in members if row.current_role == ShardRole.PRIMARY]
        is_up = bool(primaries) and all(row.uid in recent.raw_shards for row in primaries)
        page.add(families.DATABASE_UP.name, render_labels({**labels, "status": bdb.status}), int(is_up))
        shard_type = "flash" if bdb.on_flash else "ram"
        page.add(families.SHARDS_USED.name, render_labels({**labels, "shard_type": shard_type}), len(members))
        if bdb.on_flash:
            page.add(families.RAM_LIMIT.name, label_text, bdb.config.get("bigstore_ram_size", 0))
            driver_labels = render_labels({**labels, "driver": driver})
            page.add(families.FLASH_SHARDS.name, driver_labels, len(members))


def _not_counted(values: Mapping[str, float]) -> dict[str, float]:
    """Return the statistics that nothing counts, also as highest seconds."""
    derived = reference_stats.derived("bdbs", values)
    return derived | {f"{metric}_max": value for metric, value in derived.items()}


def _add_shard(page: Exposition, labels: Mapping[str, Any], shard: ReadShard, recent: RecentValues) -> None:
    raw = recent.raw_shards.get(shard.uid)
    is_primary = shard.current_role == ShardRole.PRIMARY if raw is None else raw["is_primary"] == 1
    role = ShardRole.PRIMARY if is_primary else ShardRole.REPLICA
    label_text = render_labels({**labels, "node": shard.node_uid, "redis": shard.uid, "role": role})
    if raw is None:
        page.add("redis_up", label_text, 0)
        return
    tier = recent.raw_tiers.get(shard.uid)
    computed = _computed(raw, recent.shards.get(shard.uid, {}), is_primary=is_primary)
    if tier is not None:
        # Redis Enterprise includes flash in the memory of shards on flash.
        computed["used_memory"] = add((raw["used_memory"], tier["flash_used_bytes"]))
        operations = add((tier["flash_reads"], tier["flash_writes"]))
        accesses = add(tier[f"{kind}_{place}"] for kind in ("fetch", "write", "del") for place in ("ram", "flash"))
        used = {"used_ram": raw["used_memory"], "maxmemory": raw["maxmemory"], "keys": raw["keys"]}
        of_flash = {**tier, **used, "accesses": accesses, "flash_operations": operations}
        _add_values(page, families.FLASH_SHARD, label_text, of_flash)
    _add_values(page, families.SHARD, label_text, {**raw, **computed})


def _computed(raw: Raw, window: Mapping[str, float], *, is_primary: bool) -> dict[str, Value]:
    cpu, system = raw["cpu"], raw["main_cpu_system"]
    percent = add(window.get(name) for name in ("shard_cpu_user", "shard_cpu_system"))
    return {
        "zero": 0,
        "up": 1,
        "link": _LINK_NONE if is_primary else _LINK_UP if raw["link_up"] else _LINK_DOWN,
        "commands": add(raw[name] for name in ("read_cmds", "write_cmds", "other_cmds")),
        "main_cpu_user": None if cpu is None or system is None else max(0.0, cpu - system),
        "cpu_percent": None if percent is None else percent * 100,
    }


def _add_values(page: Exposition, selected: Iterable[Family], labels: str, values: Mapping[str, Value]) -> None:
    for family in selected:
        value = values.get(family.field)
        page.add(family.name, labels, None if value is None else value * family.factor)
