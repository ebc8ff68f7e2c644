"""The environment of a benchmark run, stored with it: results cannot be compared without it."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard import __version__
from shardboard.queries.cluster import host_checks
from shardboard.schemas.cluster import host_checks as host_check_schema
from shardboard.state.cluster import nodes
from shardboard.state.databases import shards
from shardboard.state.databases.bdbs import Bdb

BDB_SETTINGS = (
    "data_persistence",
    "aof_policy",
    "eviction_policy",
    "oss_cluster",
    "proxy_policy",
    "shards_placement",
    "tls_mode",
    "maxclients",
    "io_threads",
    "bigstore",
    "bigstore_ram_size",
)
NODE_FACTS = (
    "hostname",
    "architecture",
    "cores",
    "os_name",
    "total_memory",
    "agent_version",
    "engine_version",
    "memtier_version",
)


async def collect_facts(session: AsyncSession, bdb: Bdb) -> dict[str, Any]:
    """Return the database, its layout, and the machines."""
    rows = await shards.list_for_bdb(session, bdb.uid)
    machines = await nodes.list_all(session)
    checks = await host_checks.checks(session, machines)
    return {
        "console_version": __version__,
        "bdb": {
            "name": bdb.name,
            "memory_size": bdb.memory_size,
            "sharding": bdb.sharding,
            "shards_count": bdb.shards_count,
            "replication": bdb.replication,
            **{name: bdb.config[name] for name in BDB_SETTINGS if name in bdb.config},
        },
        "shards": [{"uid": row.uid, "node_uid": row.node_uid, "role": row.current_role} for row in rows],
        "endpoint_nodes": list(bdb.endpoint_nodes),
        "nodes": [
            {
                "uid": node.uid,
                "addr": node.addr,
                "proxy_threads": node.proxy_threads,
                "host": [host_check_schema.render_result(each) for each in checks[node.uid]],
                "cpu_pinning": node.cpu_pinning.model_dump(),
                **{name: node.facts[name] for name in NODE_FACTS if name in node.facts},
            }
            for node in machines
        ],
    }
