"""Publishes committed changes as `change` frames. Loads each object once for all readers and renders it as the REST API does."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.api.benchmarks import benchmark_runs as benchmarks_api
from shardboard.api.cluster import cluster as cluster_api
from shardboard.api.cluster import nodes as nodes_api
from shardboard.api.data import backups as backups_api
from shardboard.api.data import restores as restores_api
from shardboard.api.databases import bdbs as bdbs_api
from shardboard.api.databases import shards as shards_api
from shardboard.console import Console
from shardboard.kit.sse_frames import make_frame
from shardboard.queries.benchmarks.scenario_runs import render_runs as render_scenario_runs
from shardboard.schemas.alerting import events as event_schema
from shardboard.schemas.cluster import actions as action_schema
from shardboard.services.cluster.actions import affected_databases
from shardboard.state.alerting import events
from shardboard.state.benchmarks import benchmark_runs, scenario_runs
from shardboard.state.cluster import actions, cluster, nodes
from shardboard.state.data import backups, restores
from shardboard.state.databases import bdbs, shards
from shardboard.state.failures import outages
from shardboard.store.transient_errors import describe_error, is_transient

log = logging.getLogger(__name__)

BATCH_SECONDS = 0.05
"""Time to collect changes, such as the creation of hundreds of shards, so that each object is published once."""

RETRY_SECONDS = 1.0
"""Time until changes that could not be read are retried."""

PUBLICATION_ORDER = (
    "shard",
    "node",
    "action",
    "bdb",
    "benchmark",
    "scenario_run",
    "backup",
    "restore",
    "cluster",
    "outage",
    "event",
)
"""Kinds of objects, in the order of publication. Shards come before their database: a reader may render between two frames and must
not see an active database whose shards do not exist yet."""


class Feed:
    """Listens to the bus topic "change" and publishes rendered objects on "object"."""

    def __init__(self, console: Console) -> None:
        self._console = console

    async def run(self) -> None:
        """Publish changes until cancelled."""
        pending: set[tuple[str, Any]] = set()
        with self._console.bus.listen("change") as changes:
            while True:
                first = await changes.get(timeout=RETRY_SECONDS if pending else None)
                await asyncio.sleep(BATCH_SECONDS)
                pending |= {message[1] for message in (first, *changes.drain()) if message is not None}
                try:
                    await self._publish(pending)
                except Exception as error:  # one failure must not end the feed
                    if is_transient(error):
                        log.warning("feed: %s changes wait for the store: %s", len(pending), describe_error(error))
                        continue
                    log.exception("feed: cannot publish changes: %s", pending)
                    changes.overflowed = True
                pending = set()
                if changes.overflowed:  # readers that are disconnected reconnect and load everything
                    changes.overflowed = False
                    self._console.bus.publish("closing")

    async def _publish(self, keys: Iterable[tuple[str, Any]]) -> None:
        if not self._console.bus.has_listeners("object"):
            return  # streams that open later start with all objects
        uids_by_kind: dict[str, set[Any]] = defaultdict(set)
        for kind, uid in keys:
            uids_by_kind[kind].add(uid)
        async with self._console.store.read() as session:
            # A database shows its number of shards in sync and the progress of its action, so it changes with them.
            changed = await shards.list_by_uids(session, uids_by_kind["shard"]) if uids_by_kind["shard"] else []
            uids_by_kind["bdb"] |= {row.bdb_uid for row in changed}
            open_actions = [await actions.by_uid(session, uid) for uid in uids_by_kind["action"]]
            uids_by_kind["bdb"] |= {
                row.object_uid for row in open_actions if row is not None and row.object_type == "bdb"
            }
            uids_by_kind["benchmark"] |= {
                row.object_uid for row in open_actions if row is not None and row.object_type == "benchmark"
            }
            uids_by_kind["scenario_run"] |= {
                row.object_uid for row in open_actions if row is not None and row.object_type == "scenario_run"
            }
            loaded = await self._load(session, uids_by_kind)
        for kind in PUBLICATION_ORDER:
            for uid in sorted(uids_by_kind[kind], key=str):
                item, bdb_uids = loaded.get((kind, uid), (None, frozenset()))
                frame = make_frame("change", {"kind": kind, "uid": uid, "object": item})
                full_frame = replace(frame, kind=kind, bdb_uids=bdb_uids, is_gone=item is None)
                self._console.bus.publish("object", full_frame)

    async def _load(
        self, session: AsyncSession, uids_by_kind: Mapping[str, set[Any]]
    ) -> dict[tuple[str, Any], tuple[Any, frozenset[int]]]:
        """Return the objects that still exist in their REST format, with the uids of the databases that they concern.

        Keys of the result are kind and uid. Secrets are never included, whatever the roles of the readers are.
        """
        console = self._console
        items: dict[tuple[str, Any], tuple[Any, frozenset[int]]] = {}
        rows = (
            [row for row in await bdbs.list_all(session) if row.uid in uids_by_kind["bdb"]]
            if uids_by_kind["bdb"]
            else []
        )
        rendered = await bdbs_api.render_bdbs(session, rows) if rows else []
        items |= {("bdb", row.uid): (item, frozenset({row.uid})) for row, item in zip(rows, rendered, strict=True)}
        machines = (
            [row for row in await nodes.list_all(session) if row.uid in uids_by_kind["node"]]
            if uids_by_kind["node"]
            else []
        )
        rendered = await nodes_api.render_nodes(session, machines, console) if machines else []
        items |= {("node", row.uid): (item, frozenset()) for row, item in zip(machines, rendered, strict=True)}
        parts = await shards.list_by_uids(session, uids_by_kind["shard"]) if uids_by_kind["shard"] else []
        rendered = await shards_api.render_shards(session, parts, console) if parts else []
        items |= {
            ("shard", row.uid): (item, frozenset({row.bdb_uid})) for row, item in zip(parts, rendered, strict=True)
        }
        runs = (
            await benchmark_runs.list_by_uids(session, uids_by_kind["benchmark"]) if uids_by_kind["benchmark"] else []
        )
        rendered = await benchmarks_api.render_runs(session, runs)
        items |= {
            ("benchmark", row.uid): (item, frozenset({row.bdb_uid})) for row, item in zip(runs, rendered, strict=True)
        }
        orders = (
            await scenario_runs.list_by_uids(session, uids_by_kind["scenario_run"])
            if uids_by_kind["scenario_run"]
            else []
        )
        rendered = await render_scenario_runs(session, orders)
        items |= {("scenario_run", row.uid): (item, frozenset()) for row, item in zip(orders, rendered, strict=True)}
        saved = await backups.list_by_uids(session, uids_by_kind["backup"]) if uids_by_kind["backup"] else []
        rendered = await backups_api.render_backups(session, saved)
        items |= {
            ("backup", row.uid): (item, frozenset({row.bdb_uid})) for row, item in zip(saved, rendered, strict=True)
        }
        loads = await restores.list_by_uids(session, uids_by_kind["restore"]) if uids_by_kind["restore"] else []
        rendered = await restores_api.render_restores(session, loads)
        items |= {
            ("restore", row.uid): (item, frozenset({row.bdb_uid})) for row, item in zip(loads, rendered, strict=True)
        }
        for uid in uids_by_kind["action"]:
            if (action := await actions.by_uid(session, uid)) is not None:
                items["action", uid] = action_schema.render_v2(action), await affected_databases(session, action)
        for uid in sorted(uids_by_kind["event"]):
            if (event := await events.by_uid(session, uid)) is not None:
                items["event", uid] = event_schema.render(event), _uid_set(event.bdb_uid)
        for uid in sorted(uids_by_kind["outage"]):
            if (outage := await outages.by_uid(session, uid)) is not None:
                summary = {"uid": uid, "bdb_uid": outage.bdb_uid, "node_uid": outage.node_uid}
                items["outage", uid] = summary, _uid_set(outage.bdb_uid)
        if uids_by_kind["cluster"]:
            row = await cluster.load(session)
            items["cluster", row.uid] = cluster_api.render_cluster(row, console.settings), frozenset()
        return items


def _uid_set(bdb_uid: int | None) -> frozenset[int]:
    return frozenset({bdb_uid} if bdb_uid is not None else ())
