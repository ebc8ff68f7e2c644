"""Contents of a support bundle: the state of the cluster in the format of the REST API, metrics and logs."""

import asyncio
import platform
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard import __version__
from shardboard.api.cluster import cluster as cluster_api
from shardboard.api.cluster import nodes as nodes_api
from shardboard.api.databases import bdbs as bdbs_api
from shardboard.api.databases import shards as shards_api
from shardboard.console import Console
from shardboard.domain.cluster.support_bundle import SupportBundle
from shardboard.domain.redaction import Scrubber
from shardboard.errors import ApiError
from shardboard.kit import log_buffer
from shardboard.queries.cluster import host_checks
from shardboard.schemas.alerting import events as logs_schema
from shardboard.schemas.cluster import actions as actions_schema
from shardboard.schemas.cluster import cluster as cluster_schema
from shardboard.schemas.cluster import host_checks as host_check_schema
from shardboard.schemas.databases import proxies as proxies_schema
from shardboard.schemas.timestamps import iso
from shardboard.services.cluster import support_bundle as service
from shardboard.state.alerting import events
from shardboard.state.cluster import actions, cluster, nodes
from shardboard.state.databases import bdbs, shards

MAX_EVENTS = 10_000
README = """Support bundle of Shardboard {version}: {what}, created {made}.

version.json, cluster.json, policy.json    versions and settings
alarms.json, events.ndjson, actions.json   active alarms, events (newest first), actions
nodes.json, checks.json                    nodes with their state, and host settings that affect latency or data safety
databases.json, shards.json, proxies.json  in the format of the REST API for users who cannot see passwords
metrics/                                   the last hour; times are epoch seconds, gaps are empty
logs/                                      most recent log lines of the console and of the agent, proxy, and shards of each node;
                                           the logs of the console and the agents start with their process
missing.txt                                what could not be collected, with the reason

Passwords, keys, tokens, credentials in URLs, and the addresses of webhooks are removed or replaced with ***. Keys and values of
databases are not included. Names of databases, users, and machines, addresses, and email addresses are included. The bundle of one
database also contains settings of the cluster, all nodes, and lines about other databases in the logs of its nodes. Check the
contents before you share the bundle.
"""


@dataclass(frozen=True)
class BundleScope:
    """Selection: only the logs of one node, or only the data of one database. None: no limit."""

    node_uid: int | None = None
    bdb_uid: int | None = None

    def __str__(self) -> str:
        if self.node_uid is not None:
            return f"node {self.node_uid}"
        return "the cluster" if self.bdb_uid is None else f"database {self.bdb_uid}"


@dataclass(frozen=True)
class _State:
    """State of the cluster, read in one transaction."""

    values: Mapping[str, Any]
    """Contents of JSON files by path."""
    log: list[dict[str, Any]]
    secrets: set[str]
    logs_of: Mapping[int, Collection[int]]
    """Shard uids by uid of each node whose logs are included."""


async def write_bundle(console: Console, scope: BundleScope, file: IO[bytes], name: str, now: datetime) -> None:
    """Write the bundle. `missing.txt` lists what could not be collected. Raises OSError if the disk is full."""
    async with console.store.read() as session:
        content = await _collect(console, session, scope, now)
    scrub = Scrubber(content.secrets | console.settings.secrets())
    missing = []
    with closing(SupportBundle(file, name, now)) as bundle:

        async def add(path: str, make: Callable[[Any], str], content: Any) -> None:
            await asyncio.to_thread(lambda: bundle.add(path, make(content)))

        await add("README.txt", str, README.format(version=__version__, what=scope, made=iso(now)))
        for path, value in content.values.items():
            await add(path, scrub.json, value)
        await add("events.ndjson", lambda log: "".join(f"{scrub.json(each)}\n" for each in log), content.log)
        for topic in service.MAX_POINTS:
            path = f"metrics/{topic}.csv"
            try:
                async with console.store.read() as session:
                    text = await service.metrics(session, topic, scope.bdb_uid, int(now.timestamp()))
            except ApiError as refusal:
                missing.append(f"{path}: {refusal.description}")
            else:
                await add(path, str, text)
        await add("logs/console.log", scrub.text, log_buffer.text())
        async for uid, collected in console.node_logs.read(content.logs_of):
            if isinstance(collected, str):
                missing.append(f"logs/node-{uid}: {collected}")
                continue
            await add(f"logs/node-{uid}/agent.log", scrub.text, collected.agent)
            await add(f"logs/node-{uid}/proxy.log", scrub.text, collected.proxy)
            for shard, text in sorted(collected.shards.items()):
                await add(f"logs/node-{uid}/shard-{shard}.log", scrub.text, text)
        if missing:
            await add("missing.txt", scrub.text, "".join(f"{each}\n" for each in missing))


async def _collect(console: Console, session: AsyncSession, scope: BundleScope, now: datetime) -> _State:
    machines = await nodes.list_all(session)
    rows = [row for row in await bdbs.list_all(session) if scope.bdb_uid in (None, row.uid)]
    parts = [row for row in await shards.list_all(session) if scope.bdb_uid in (None, row.bdb_uid)]
    cluster_row = await cluster.load(session)
    readings = console.live.endpoints.newest()
    action_rows = await (
        actions.list_recent(session) if scope.bdb_uid is None else actions.list_for_bdb(session, scope.bdb_uid)
    )
    alarms = [each for each in await events.list_open_alarms(session) if scope.bdb_uid in (None, each.bdb_uid)]
    log = await events.page(session, newest_first=True, limit=MAX_EVENTS, bdb_uid=scope.bdb_uid)
    version = {
        "shardboard": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "store": console.store.engine.dialect.name,
        "time": iso(now),
    }
    values = {
        "version.json": version,
        "cluster.json": cluster_api.render_cluster(cluster_row, console.settings),
        "policy.json": cluster_schema.render_policy(cluster_row),
        "alarms.json": [logs_schema.render(each) for each in alarms],
        "actions.json": [actions_schema.render_v2(each) for each in action_rows],
        "nodes.json": await nodes_api.render_nodes(session, machines, console),
        "checks.json": {
            str(uid): [host_check_schema.render(each) for each in checks]
            for uid, checks in (await host_checks.checks(session, machines)).items()
        },
        "databases.json": await bdbs_api.render_bdbs(session, rows),
        "shards.json": await shards_api.render_shards(session, parts, console),
        "proxies.json": [proxies_schema.render(node, readings.get(node.uid)) for node in machines],
    }
    node_uids = {node.uid for node in machines if scope.node_uid in (None, node.uid)}
    if scope.bdb_uid is not None:
        node_uids &= {part.node_uid for part in parts} | {uid for row in rows for uid in row.endpoint_nodes}
    logs_of = {uid: [part.uid for part in parts if part.node_uid == uid] for uid in node_uids}
    return _State(values, [logs_schema.render(each) for each in log], await service.secrets(session), logs_of)
