"""Demotion of stale primaries, which were replaced while unreachable.

In cluster mode the engine demotes them; for other databases this loop does. Without it such a primary, once it runs again, would
accept writes that the pair's new primary never receives.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
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

ACTION_NAME = "SMDemoteRivals"
"""Action name in the store, also of earlier releases."""
DEADLINE = timedelta(seconds=60)


class StalePrimaryLoop(PollingLoop):
    """Schedules the demotion of primaries other than the one that the console knows for their pair."""

    changes = frozenset({"shard"})

    async def is_due(self, session: AsyncSession) -> bool:
        return bool(await _found(session))

    async def act(self, session: AsyncSession) -> None:
        for bdb_uid, uids in (await _found(session)).items():
            if not await actions.list_open_for_bdb(session, bdb_uid):
                queue.enqueue(
                    session,
                    ACTION_NAME,
                    object_uid=bdb_uid,
                    description="Demote a replaced primary to a replica of the new primary",
                    originator="system",
                    deadline=DEADLINE,
                    params={"shards": uids},
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
        heads = {shard.pair: shard for shard in database.shards if shard.role == "master"}
        for stale in database.shards:
            if stale.uid not in action.params["shards"]:
                continue
            head = heads[stale.pair]
            for argv in (("REPLICAOF", head.node.addr, str(head.port)), ("CONFIG", "REWRITE")):
                result = (await valkey_cluster.command(self._agents, [stale], *argv))[stale.uid]
                if not result.ok:
                    return Outcome(unreachable=f"shard redis:{stale.uid}: {result.reply}", retry_in=0.5)
        return Outcome(finished=True)

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        for uid in action.params["shards"]:
            shard = await shards.by_uid(session, uid)
            if shard is None:
                continue
            shard.set_role("slave", datetime.now(UTC))
            shard.observed_link = "link_down"  # it must synchronize first
            _record_event(session, action, shard, "writes that it received in between were lost", "WARNING")

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        for uid in action.params["shards"]:
            shard = await shards.by_uid(session, uid)
            if shard is not None:
                _record_event(session, action, shard, f"it could not be demoted. {reason}", "ERROR")


async def _found(session: AsyncSession) -> dict[int, list[int]]:
    """Return stale primaries by database: living primaries of a pair that has another one on record. Not needed in cluster mode."""
    found: dict[int, list[int]] = {}
    for bdb in await bdbs.list_all(session):
        if not bdb.sharding and bdb.status == "active":  # during a change, role changes are intended
            uids = stale_primaries(await shards.list_for_bdb(session, bdb.uid))
            if uids:
                found[bdb.uid] = uids
    return found


def stale_primaries(rows: Sequence[Shard]) -> list[int]:
    """Return the shards that act as primary although another shard is the living primary of their pair."""
    acting = [row for row in rows if row.current_role == "master" and row.observed_status == "ok"]
    known = {row.pair for row in acting if row.role == "master"}
    return [row.uid for row in acting if row.role != "master" and row.pair in known]


def _record_event(session: AsyncSession, action: Action, shard: Shard, outcome: str, severity: str) -> None:
    record_for_shard(
        session,
        action,
        shard,
        "rival_demoted",
        f"Shard redis:{shard.uid} on node {shard.node_uid} still acted as primary after its replacement: {outcome}.",
        severity=severity,
    )
