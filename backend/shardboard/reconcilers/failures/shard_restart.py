"""Restart of dead primaries that have no replica to promote: from persistence, or empty on request.

Never while another copy of the data is alive: that copy is promoted instead, and the dead shard returns as its replica.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
from shardboard.actions.failure_parameters import RestartParameters
from shardboard.domain.cluster.actions import ActionName, StepStatus
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.databases.shard_status import ShardStatus
from shardboard.domain.failures.failover import ObservedShard, restartable_primaries
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.domain.text import plural
from shardboard.driver import valkey_cluster
from shardboard.driver.interfaces import Agents
from shardboard.driver.valkey_cluster import ShardRef
from shardboard.reconcilers import load_database
from shardboard.reconcilers.loop import Outcome
from shardboard.reconcilers.polling_loop import PollingLoop
from shardboard.reconcilers.retry_policy import record_failure, should_retry
from shardboard.state.alerting import events
from shardboard.state.alerting.events import record_for_shard
from shardboard.state.cluster import actions, nodes
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import ReadShard
from shardboard.store.db import Store

DEADLINE = timedelta(minutes=30)


class RestartLoop(PollingLoop):
    """Schedules the restart of primaries of persistent databases when all copies of a pair are known to be dead, if the policy
    `auto_recovery` is enabled.
    """

    changes = frozenset({"node", "shard"})

    async def is_due(self, session: AsyncSession) -> bool:
        return await shards.any_down(session) and bool(await _due(session))

    async def act(self, session: AsyncSession) -> None:
        for bdb, dead in await _due(session):
            if await actions.list_changing_bdb(session, bdb.uid):
                continue
            if not should_retry(
                await actions.list_attempts_for_bdb(session, bdb.uid, ActionName.RESTART_SHARDS),
                ActionName.RESTART_SHARDS,
                dead,
            ):
                continue
            queue.enqueue(
                session,
                ActionName.RESTART_SHARDS,
                object_uid=bdb.uid,
                description=f"Restart {plural(len(dead), 'primary', 'primaries')} of {bdb.name} from persistence",
                originator="system",
                deadline=DEADLINE,
                params=RestartParameters(shards=tuple(dead), discard_data=False, situation=dead),
            )


class Restart:
    """Starts the chosen shards, waits until they have loaded, and promotes those that were replicas when they died."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents

    async def step(self, action: Action) -> Outcome:
        database = await load_database.database(self._store, action.object_uid)
        if database is None:
            return Outcome(failed="The database no longer exists.")
        parameters = RestartParameters.parse(action)
        chosen = [shard for shard in database.shards if shard.uid in parameters.shards]
        pairs = {shard.pair for shard in chosen}
        other_shards = [shard for shard in database.shards if shard.pair in pairs and shard not in chosen]
        if running_copies := await self._running_copies(other_shards):
            return Outcome(
                failed=f"Shard redis:{running_copies[0].uid} is alive and has the data; no shard was started."
            )
        not_started = [shard for shard in chosen if shard.uid not in parameters.saved_times]
        if not_started:
            return await self._start(not_started, parameters)
        return await self._promote(chosen, cluster_mode=database.engine.cluster)

    async def _running_copies(self, others: Sequence[ShardRef]) -> list[ShardRef]:
        """Return the other copies of the pairs that are running, as far as their agents are reachable."""
        async with self._store.read() as session:
            available_uids = {node.uid for node in await nodes.list_stored(session) if node.is_available}
        reachable_shards = [shard for shard in others if shard.node.uid in available_uids]
        conditions = await valkey_cluster.read_conditions(self._agents, reachable_shards, cluster=False)
        return [shard for shard in reachable_shards if shard.uid in conditions and conditions[shard.uid].running]

    async def _start(self, unstarted: Sequence[ShardRef], parameters: RestartParameters) -> Outcome:
        """Start the shards of one node. Only the first reply contains the age of the data, and it must not be lost if another node
        fails.
        """
        node = unstarted[0].node
        engine_ids = {shard.uid: shard.engine_id for shard in unstarted if shard.node == node}
        saved_times = dict(parameters.saved_times)
        for outcome in await self._agents.restart(node, engine_ids, discard_data=parameters.discard_data):
            if not outcome.ok:
                return Outcome(failed=f"Shard redis:{outcome.uid} was not started: {outcome.reason}.")
            saved_times[outcome.uid] = outcome.saved_at
        steps = _steps(StepStatus.RUNNING, StepStatus.PENDING)
        return Outcome(parameters=replace(parameters, saved_times=saved_times), steps=steps, retry_in=0.05)

    async def _promote(self, chosen: Sequence[ShardRef], *, cluster_mode: bool) -> Outcome:
        persistence = await valkey_cluster.command(self._agents, chosen, "INFO", "persistence")
        if failed_results := [result for result in persistence.values() if not result.ok]:
            # It is running, starting, or has died again: its next start shows which, and this action ends.
            return Outcome(unreachable=f"shard redis:{failed_results[0].uid}: {failed_results[0].reply}", retry_in=0.5)
        if [result for result in persistence.values() if "loading:0" not in result.reply]:
            return Outcome(steps=_steps(StepStatus.RUNNING, StepStatus.PENDING), retry_in=0.2)
        roles = await valkey_cluster.command(self._agents, chosen, "INFO", "replication")
        followers = [shard for shard in chosen if "role:master" not in roles[shard.uid].reply]
        if not followers:
            return Outcome(finished=True)
        argv = ("CLUSTER", "FAILOVER", "TAKEOVER") if cluster_mode else ("REPLICAOF", "NO", "ONE")
        await valkey_cluster.command(self._agents, followers, *argv)
        if not cluster_mode:
            await valkey_cluster.command(self._agents, followers, "CONFIG", "REWRITE")
        return Outcome(steps=_steps(StepStatus.COMPLETED, StepStatus.RUNNING), retry_in=0.1)

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        bdb = await bdbs.by_uid(session, action.object_uid)
        rows = {row.uid: row for row in await shards.list_for_bdb(session, action.object_uid)}
        parameters = RestartParameters.parse(action)
        for uid in parameters.shards:
            shard = rows.get(uid)
            if bdb is None or shard is None:
                continue
            loss = await events.newest_loss(session, shard.uid, shard.node_uid)
            for other in rows.values():
                if other.pair == shard.pair:
                    other.role = ShardRole.PRIMARY if other is shard else ShardRole.REPLICA
                    if other is not shard:
                        other.observed_role = ShardRole.REPLICA
            shard.set_role(ShardRole.PRIMARY, datetime.now(UTC), serves=not bdb.sharding)
            saved_time = parameters.saved_times.get(uid)
            data_time = None if saved_time is None else datetime.fromtimestamp(saved_time, UTC)
            record_for_shard(
                session,
                action,
                shard,
                "shard_restarted",
                f"Shard redis:{uid} of {bdb.name} on node {shard.node_uid} was restarted "
                + _data_source(bdb, data_time, loss.time if loss is not None else None, action),
                severity="WARNING",
                details={"saved_at": None if data_time is None else data_time.isoformat(timespec="milliseconds")},
            )

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        message = f"Dead primaries could not be restarted: {reason}"
        await record_failure(session, action, "shard_restart_failed", message, reason, source="bdb")


def _steps(start: StepStatus, lead: StepStatus) -> list[dict[str, Any]]:
    return [
        {"name": "Start the shards and load their data", "status": start},
        {"name": "Promote the shards", "status": lead},
    ]


def _data_source(bdb: Bdb, saved: datetime | None, lost: datetime | None, action: Action) -> str:
    if RestartParameters.parse(action).discard_data:
        return f"empty, as confirmed by {action.originator}: all its data was lost."
    file = "append-only file" if bdb.config["data_persistence"] == "aof" else "snapshot"
    if saved is None:  # started by a killed console, which did not receive the reply
        return f"from its {file}. Its age is unknown; later writes were lost."
    saved_text = saved.isoformat(sep=" ", timespec="seconds").replace("+00:00", " UTC")
    age_seconds = (lost - saved).total_seconds() if lost is not None else 0.0
    gap = f", {age_seconds:.0f} s before it went down" if age_seconds >= 1 else ""
    return f"from its {file}, last written {saved_text}{gap}. Later writes were lost."


async def _due(session: AsyncSession) -> list[tuple[Bdb, list[int]]]:
    """Return the uids of the shards to restart, by database."""
    if not (await clusters.load(session)).rules.auto_recovery:
        return []
    available_uids = {node.uid for node in await nodes.list_stored(session) if node.is_available}
    by_bdb: dict[int, list[ReadShard]] = {}
    for row in await shards.list_conditions(session):
        by_bdb.setdefault(row.bdb_uid, []).append(row)
    due_pairs = []
    outdated_bdbs = await nodes.outdated_bdbs(session)
    for bdb in await bdbs.list_all(session):
        if bdb.uid in outdated_bdbs:  # a copy without a row may be alive
            continue
        if bdb.status != BdbStatus.ACTIVE or bdb.config["data_persistence"] == "disabled":
            continue
        missing = bdb.mismatch.missing  # they have no files to start from
        rows = [row for row in by_bdb.get(bdb.uid, []) if row.uid not in missing]
        known_rows = [row for row in rows if row.node_uid in available_uids]  # the state of others is unknown
        members = [
            ObservedShard(
                row.uid, row.pair, row.role, row.observed_status if row in known_rows else ShardStatus.UNKNOWN
            )
            for row in rows
        ]
        dead = restartable_primaries(members)
        if dead:
            due_pairs.append((bdb, dead))
    return due_pairs
