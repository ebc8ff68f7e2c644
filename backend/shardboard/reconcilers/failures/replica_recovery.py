"""Recovery of shards whose process died, always as replicas of the current primaries: a lost primary never returns empty.

A shard without a living primary in its pair is not started, because that would turn a lost database into an empty one.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
from shardboard.actions.failure_parameters import ShardParameters
from shardboard.domain.cluster.actions import OPEN_STATUSES, ActionName, ActionStatus, StepStatus
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.databases.shard_status import ShardStatus
from shardboard.domain.failures.failover import ObservedShard, recoverable_shards
from shardboard.domain.placement.full_sync_limit import Transfer
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.domain.text import plural
from shardboard.driver import valkey_cluster
from shardboard.driver.interfaces import Agents
from shardboard.reconcilers import load_database
from shardboard.reconcilers.loop import Outcome
from shardboard.reconcilers.placement import full_sync_limit
from shardboard.reconcilers.placement.shard_removal import remove_undesired
from shardboard.reconcilers.polling_loop import PollingLoop
from shardboard.state.alerting.events import record_for_action, record_for_shard
from shardboard.state.cluster import actions, nodes
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.shards import ReadShard
from shardboard.store.db import Store

DEADLINE = timedelta(minutes=30)
RETRY_AFTER = timedelta(seconds=30)
BUSY_SECONDS, IDLE_SECONDS = 0.2, 0.5
"""Seconds between two steps: while a replica is started or waits for a slot of the limiter, and while replicas only copy."""


class ReplicaRecoveryLoop(PollingLoop):
    """Schedules the recovery of dead shards on healthy nodes, one action per database."""

    changes = frozenset({"node", "shard"})

    async def is_due(self, session: AsyncSession) -> bool:
        return await shards.any_down(session) and bool(await _due(session))

    async def act(self, session: AsyncSession) -> None:
        for bdb_uid, dead in (await _due(session)).items():
            bdb = await bdbs.by_uid(session, bdb_uid)
            earlier_actions = [
                *await actions.list_open_for_bdb(session, bdb_uid),
                *await actions.list_attempts_for_bdb(session, bdb_uid, ActionName.RECOVER_REPLICAS),
            ]
            if bdb is None or any(map(_is_blocking, earlier_actions)):
                continue
            if bdb.status != BdbStatus.ACTIVE and not any(map(_allows_recovery, earlier_actions)):
                continue
            queue.enqueue(
                session,
                ActionName.RECOVER_REPLICAS,
                object_uid=bdb_uid,
                description=f"Recover {plural(len(dead), 'replica')} of {bdb.name}",
                originator="system",
                deadline=DEADLINE,
                params=ShardParameters(shards=tuple(dead)),
            )


class RecoverReplicas:
    """Removes the remains of each dead shard, starts it again as a replica, and waits until it is in sync."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents

    async def step(self, action: Action) -> Outcome:
        database = await load_database.database(self._store, action.object_uid)
        if database is None:
            return Outcome(failed="The database no longer exists.")
        # Whatever their roles were, they return as replicas and are polled as such.
        uids = set(ShardParameters.parse(action).shards) - {shard.uid for shard in database.primaries}
        replicas = [replace(shard, role=ShardRole.REPLICA) for shard in database.shards if shard.uid in uids]
        conditions = await valkey_cluster.read_conditions(
            self._agents, replicas, cluster=False
        )  # whether they serve slots is irrelevant here
        dead = [shard for shard in replicas if shard.uid not in conditions or conditions[shard.uid].died]
        lagging = [shard for shard in replicas if shard.uid not in conditions or not conditions[shard.uid].in_sync]
        primaries_by_pair = {shard.pair: shard for shard in database.primaries}
        if orphan := next((shard for shard in dead if shard.pair not in primaries_by_pair), None):
            return Outcome(unreachable=f"the primary of shard redis:{orphan.uid} is down", retry_in=0.5)
        admitted = await full_sync_limit.admit_syncs(
            self._store,
            action,
            [
                Transfer(each.uid, each.node.uid, primaries_by_pair[each.pair].node.uid)
                for each in lagging
                if each.pair in primaries_by_pair
            ],
        )
        dead = [shard for shard in dead if shard.uid in admitted]
        if dead:
            view = await valkey_cluster.newest_view(self._agents, database.primaries) if database.engine.cluster else {}
            for shard in dead:
                [outcome] = await self._agents.remove(shard.node, {shard.uid: shard.engine_id}, dead_only=True)
                if not outcome.ok:
                    return Outcome(
                        unreachable=f"shard redis:{shard.uid} was not removed: {outcome.reason}", retry_in=0.5
                    )
            failures = await valkey_cluster.start_new_shards(
                self._agents, database.engine, database.shards, database.primaries, dead, view
            )
            await remove_undesired(self._store, self._agents, action.object_uid, dead)
            if failures:
                uid, reason = min(failures.items())
                return Outcome(failed=f"Shard redis:{uid} could not be started: {reason}.")
        if not lagging:
            return Outcome(finished=True)
        steps = [{"name": f"Synchronize {len(replicas)} replicas", "status": StepStatus.RUNNING}]
        if waiting_count := len([shard for shard in lagging if shard.uid not in admitted]):
            steps[0]["detail"] = f"{waiting_count} waiting (limit max_slave_full_syncs)"
        return Outcome(
            progress=100 * (1 - len(lagging) / len(replicas)),
            steps=steps,
            retry_in=BUSY_SECONDS if dead or waiting_count else IDLE_SECONDS,
        )

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        now = datetime.now(UTC)
        for uid in ShardParameters.parse(action).shards:
            shard = await shards.by_uid(session, uid)
            if shard is None or (shard.current_role == ShardRole.PRIMARY and shard.observed_status == ShardStatus.OK):
                continue  # removed or promoted in the meantime
            for other in await shards.list_for_bdb(session, shard.bdb_uid):
                if other.pair == shard.pair:
                    other.role = ShardRole.REPLICA if other is shard else other.current_role
            shard.set_role(ShardRole.REPLICA, now)
            seconds = (now - action.created_at).total_seconds()
            record_for_shard(
                session,
                action,
                shard,
                "replica_revived",
                f"Shard redis:{uid} recovered on node {shard.node_uid} as a replica and was in sync after {seconds:.1f} s.",
            )

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        record_for_action(
            session, action, "replica_revival_failed", f"Some replicas were not recovered: {reason}", severity="ERROR"
        )


_LONG_ACTIONS = frozenset({ActionName.RESHARD_BDB, ActionName.BACKUP_BDB, ActionName.RESTORE_BDB})


def _allows_recovery(action: Action) -> bool:
    """Return whether the action is running, takes long, and is not disturbed by the recovery of replicas."""
    return action.current_name in _LONG_ACTIONS and action.status in OPEN_STATUSES


def _is_blocking(action: Action) -> bool:
    """Return whether the action prevents a recovery: another running action, or a recovery that has just failed."""
    if _allows_recovery(action):
        return False
    failed = (
        action.finished_at
        if action.current_name == ActionName.RECOVER_REPLICAS and action.status == ActionStatus.FAILED
        else None
    )
    return action.status in OPEN_STATUSES or (failed is not None and failed > datetime.now(UTC) - RETRY_AFTER)


async def _due(session: AsyncSession) -> dict[int, list[int]]:
    """Return the uids of the shards to recover, by database."""
    available_uids = {node.uid for node in await nodes.list_stored(session) if node.is_available}
    by_bdb: dict[int, list[ReadShard]] = {}
    for row in await shards.list_conditions(session):
        by_bdb.setdefault(row.bdb_uid, []).append(row)
    outdated = await nodes.outdated_bdbs(session)  # shards without a row may have replaced the dead ones
    dead_by_bdb = {uid: _dead(rows, available_uids) for uid, rows in by_bdb.items() if uid not in outdated}
    return {uid: dead for uid, dead in dead_by_bdb.items() if dead}


def _dead(rows: Sequence[ReadShard], up: set[int]) -> list[int]:
    members = [ObservedShard(row.uid, row.pair, row.current_role, row.observed_status) for row in rows]
    node_by_shard = {row.uid: row.node_uid for row in rows}
    return [uid for uid in recoverable_shards(members) if node_by_shard[uid] in up]
