"""Detection of elections by the engine, which makes the elected replica the desired primary.

Valkey's election is the fallback when the console is unavailable or late. A manual `CLUSTER FAILOVER` looks the same. Without this
loop the desired roles would still name the previous primary.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.failures.failover import ShardRoles, UnrequestedElection, elected
from shardboard.kit.bus import Bus
from shardboard.reconcilers.polling_loop import PollingLoop
from shardboard.state.alerting import events
from shardboard.state.alerting.events import record
from shardboard.state.cluster import actions
from shardboard.state.cluster.actions import FAILOVER, SWITCHOVER_ACTIONS
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard, StoredCondition
from shardboard.store.db import Store

MAX_LOSS_AGE = timedelta(minutes=10)
"""A loss longer ago than this did not cause the election."""
MAX_CAUSE_AGE = timedelta(seconds=10)
"""If a primary was healthy for this long and no failover was requested, the election had no known cause."""
ROLE_CHANGING_ACTIONS = SWITCHOVER_ACTIONS | {FAILOVER}


class ElectionLoop(PollingLoop):
    """Checks roles after each change of shards. Roles that an action is changing are recorded by that action."""

    changes = frozenset({"shard", "action"})

    def __init__(self, store: Store, bus: Bus) -> None:
        super().__init__(store, bus)
        self._well_since: dict[int, datetime] = {}
        """By uid of a shard: since when this console has seen it healthy."""

    async def is_due(self, session: AsyncSession) -> bool:
        now = datetime.now(UTC)
        rows = await shards.list_conditions(session)
        well = [each.uid for each in rows if each.observed_status == "ok"]
        self._well_since = {uid: self._well_since.get(uid, now) for uid in well}
        return bool(await _found(session, rows))

    async def act(self, session: AsyncSession) -> None:
        now = datetime.now(UTC)
        lately = [
            each
            for each in await actions.list_active_since(session, now - MAX_CAUSE_AGE)
            if each.name in ROLE_CHANGING_ACTIONS
        ]
        ordered = {each.object_uid for each in lately if each.object_type == "bdb"}
        is_anything_moved = any(each.object_type == "node" for each in lately)
        for bdb, found in await _found(session, await shards.list_conditions(session)):
            rows = {row.uid: row for row in await shards.list_for_bdb(session, bdb.uid)}
            for each in found:
                was_well = now - self._well_since.get(each.lost, now) >= MAX_CAUSE_AGE
                has_cause = not was_well or is_anything_moved or bdb.uid in ordered
                await _accept(session, bdb, rows, each, has_cause=has_cause)


async def _found(session: AsyncSession, rows: Sequence[StoredCondition]) -> list[tuple[Bdb, list[UnrequestedElection]]]:
    """Return elections by database; the engine only holds them in cluster mode."""
    found = []
    held: dict[int, list[ShardRoles]] = defaultdict(list)
    for row in rows:
        held[row.bdb_uid].append(ShardRoles(row.uid, row.pair, row.role, row.current_role, row.observed_status))
    for bdb in await bdbs.list_all(session):
        if bdb.sharding and bdb.status == "active":
            pairs = elected(held[bdb.uid])
            if pairs and not await actions.list_open_for_bdb(session, bdb.uid):
                found.append((bdb, pairs))
    return found


async def _accept(
    session: AsyncSession, bdb: Bdb, rows: dict[int, Shard], each: UnrequestedElection, *, has_cause: bool
) -> None:
    promoted, lost = rows[each.promoted], rows[each.lost]
    for row in rows.values():
        if row.pair == promoted.pair:
            row.role = "master" if row is promoted else "slave"
    if lost.observed_status == "down":
        lost.observed_role = "slave"
        lost.leads_again, promoted.leads_again = True, False
    down = await events.newest_loss(session, lost.uid, lost.node_uid)
    seconds = None
    if down is not None and promoted.observed_at is not None:
        after = promoted.observed_at - down.time
        seconds = after.total_seconds() if timedelta(0) <= after < MAX_LOSS_AGE else None
    took = f" about {seconds:.0f} s after it was lost" if seconds is not None else ""
    record(
        session,
        "shard_failover",
        f"Replica redis:{promoted.uid} on node {promoted.node_uid} took over from redis:{lost.uid} of {bdb.name}{took}, "
        f"by an election of the engine, not by the console{'' if has_cause else ', although nothing was wrong'}; "
        "its replication lag is unknown.",
        source="shard",
        severity="WARNING",
        bdb_uid=bdb.uid,
        node_uid=lost.node_uid,
        shard_uid=promoted.uid,
        details={
            "pair": promoted.pair,
            "lost": lost.uid,
            "heir": promoted.uid,
            "bytes_behind": None,
            "method": "engine",
            "seconds": seconds,
            "has_cause": has_cause,
        },
    )
