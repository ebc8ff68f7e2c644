"""Demotion of stale primaries, which were replaced while unreachable.

In cluster mode the engine demotes them; for other databases this loop does. Without it such a primary, once it runs again, would
accept writes that the pair's new primary never receives.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
from shardboard.actions.failure_parameters import ShardParameters
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.databases.shard_status import ShardLink, ShardStatus
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.driver import valkey_cluster
from shardboard.driver.interfaces import Agents
from shardboard.reconcilers import load_database
from shardboard.reconcilers.loop import Outcome
from shardboard.reconcilers.polling_loop import PollingLoop
from shardboard.state.alerting.events import record_for_shard
from shardboard.state.cluster import actions
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.shards import Shard
from shardboard.store.db import Store

DEADLINE = timedelta(seconds=60)


class StalePrimaryLoop(PollingLoop):
    """Schedules the demotion of primaries other than the one that the console knows for their pair."""

    changes = frozenset({"shard"})

    async def is_due(self, session: AsyncSession) -> bool:
        return bool(await _stale_by_bdb(session))

    async def act(self, session: AsyncSession) -> None:
        for bdb_uid, uids in (await _stale_by_bdb(session)).items():
            if not await actions.list_changing_bdb(session, bdb_uid):
                queue.enqueue(
                    session,
                    ActionName.DEMOTE_STALE_PRIMARIES,
                    object_uid=bdb_uid,
                    description="Demote a replaced primary to a replica of the new primary",
                    originator="system",
                    deadline=DEADLINE,
                    params=ShardParameters(shards=tuple(uids)),
                )


class DemoteStalePrimaries:
    """Makes each stale primary replicate from its pair's primary, and persists that in its configuration."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents

    async def step(self, action: Action) -> Outcome:
        database = await load_database.database(self._store, action.object_uid)
        if database is None:
            return Outcome(failed="The database no longer exists.")
        primaries_by_pair = {shard.pair: shard for shard in database.shards if shard.role == ShardRole.PRIMARY}
        uids = ShardParameters.parse(action).shards
        for stale in database.shards:
            if stale.uid not in uids:
                continue
            primary = primaries_by_pair[stale.pair]
            for argv in (("REPLICAOF", primary.node.addr, str(primary.port)), ("CONFIG", "REWRITE")):
                result = (await valkey_cluster.command(self._agents, [stale], *argv))[stale.uid]
                if not result.ok:
                    return Outcome(unreachable=f"shard redis:{stale.uid}: {result.reply}", retry_in=0.5)
        return Outcome(finished=True)

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        for uid in ShardParameters.parse(action).shards:
            shard = await shards.by_uid(session, uid)
            if shard is None:
                continue
            shard.set_role(ShardRole.REPLICA, datetime.now(UTC))
            shard.observed_link = ShardLink.LINK_DOWN  # it must synchronize first
            _record_event(session, action, shard, "writes that it received in between were lost", "WARNING")

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        for uid in ShardParameters.parse(action).shards:
            shard = await shards.by_uid(session, uid)
            if shard is not None:
                _record_event(session, action, shard, f"it could not be demoted. {reason}", "ERROR")


async def _stale_by_bdb(session: AsyncSession) -> dict[int, list[int]]:
    """Return stale primaries by database: living primaries of a pair that has another one on record. Not needed in cluster mode."""
    stale_by_bdb: dict[int, list[int]] = {}
    for bdb in await bdbs.list_all(session):
        if not bdb.sharding and bdb.status == BdbStatus.ACTIVE:  # during a change, role changes are intended
            uids = stale_primaries(await shards.list_for_bdb(session, bdb.uid))
            if uids:
                stale_by_bdb[bdb.uid] = uids
    return stale_by_bdb


def stale_primaries(rows: Sequence[Shard]) -> list[int]:
    """Return the shards that act as primary although another shard is the living primary of their pair."""
    acting_primaries = [
        row for row in rows if row.current_role == ShardRole.PRIMARY and row.observed_status == ShardStatus.OK
    ]
    primary_pairs = {row.pair for row in acting_primaries if row.role == ShardRole.PRIMARY}
    return [row.uid for row in acting_primaries if row.role != ShardRole.PRIMARY and row.pair in primary_pairs]


def _record_event(session: AsyncSession, action: Action, shard: Shard, outcome: str, severity: str) -> None:
    record_for_shard(
        session,
        action,
        shard,
        "rival_demoted",
        f"Shard redis:{shard.uid} on node {shard.node_uid} still acted as primary after its replacement: {outcome}.",
        severity=severity,
    )
