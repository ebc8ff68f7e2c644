"""A stale primary was replaced while it was out of sight. Outside cluster mode nobody else demotes it: this loop does.

Without it such a primary, once thawed, would go on taking writes that its pair's new primary never sees.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.db import Store
from shardboard.driver import cluster
from shardboard.driver.ports import Agents
from shardboard.orders import queue
from shardboard.reconcilers import load
from shardboard.reconcilers.loop import Outcome
from shardboard.reconcilers.sweep import Sweep
from shardboard.state import actions, bdbs, shards
from shardboard.state.actions import Action
from shardboard.state.events import record_of_shard
from shardboard.state.shards import Shard

NAME = "SMDemoteRivals"
"""As actions in the store are called, by earlier releases too."""
DEADLINE = timedelta(seconds=60)


class StalePrimaryLoop(Sweep):
    """Orders the demotion of primaries that are not the one that the console knows for their pair."""

    changes = frozenset({"shard"})

    async def is_due(self, session: AsyncSession) -> bool:
        return bool(await _found(session))

    async def act(self, session: AsyncSession) -> None:
        for bdb_uid, uids in (await _found(session)).items():
            if not await actions.open_of_bdb(session, bdb_uid):
                queue.start(
                    session,
                    NAME,
                    object_uid=bdb_uid,
                    description="Make a primary that was replaced follow the one that replaced it",
                    originator="system",
                    deadline=DEADLINE,
                    params={"shards": uids},
                )


class Demote:
    """Tells each stale primary to replicate from its pair's primary, and to remember it."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents

    async def step(self, action: Action) -> Outcome:
        database = await load.database(self._store, action.object_uid)
        if database is None:
            return Outcome(failed="The database does not exist any more.")
        heads = {shard.pair: shard for shard in database.shards if shard.role == "master"}
        for stale in database.shards:
            if stale.uid not in action.params["shards"]:
                continue
            head = heads[stale.pair]
            for argv in (("REPLICAOF", head.node.addr, str(head.port)), ("CONFIG", "REWRITE")):
                result = (await cluster.command(self._agents, [stale], *argv))[stale.uid]
                if not result.ok:
                    return Outcome(unreachable=f"shard redis:{stale.uid}: {result.reply}", again_in=0.5)
        return Outcome(finished=True)

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        for uid in action.params["shards"]:
            shard = await shards.by_uid(session, uid)
            if shard is None:
                continue
            shard.became("slave", datetime.now(UTC))
            shard.observed_link = "link_down"  # it has to sync first
            _tell(session, action, shard, "what was written to it meanwhile is gone", "WARNING")

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        for uid in action.params["shards"]:
            shard = await shards.by_uid(session, uid)
            if shard is not None:
                _tell(session, action, shard, f"it could not be told to follow. {reason}", "ERROR")


async def _found(session: AsyncSession) -> dict[int, list[int]]:
    """Stale primaries by database: living primaries of a pair that has another one on record. Cluster mode needs no help."""
    found: dict[int, list[int]] = {}
    for bdb in await bdbs.every(session):
        if not bdb.sharding and bdb.status == "active":  # while it is being changed, roles are changed on purpose
            uids = stale_primaries(await shards.of_bdb(session, bdb.uid))
            if uids:
                found[bdb.uid] = uids
    return found


def stale_primaries(rows: Sequence[Shard]) -> list[int]:
    """Shards that act as primary although the living primary of their pair is another one."""
    acting = [row for row in rows if row.current_role == "master" and row.observed_status == "ok"]
    known = {row.pair for row in acting if row.role == "master"}
    return [row.uid for row in acting if row.role != "master" and row.pair in known]


def _tell(session: AsyncSession, action: Action, shard: Shard, outcome: str, severity: str) -> None:
    record_of_shard(
        session,
        action,
        shard,
        "rival_demoted",
        f"Shard redis:{shard.uid} on node {shard.node_uid} still acted as primary after it had been replaced: {outcome}.",
        severity=severity,
    )
