"""Detection of elections by the engine, which makes the elected replica the desired primary.

Valkey's election is the fallback when the console is unavailable or late. A manual `CLUSTER FAILOVER` looks the same. Without this
loop the desired roles would still name the previous primary.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.cluster.actions import SWITCHOVER_ACTIONS, ActionName
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.databases.shard_status import ShardStatus
from shardboard.domain.failures.failover import ShardRoles, UnrequestedElection, elected
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.kit.bus import Bus
from shardboard.reconcilers.polling_loop import PollingLoop
from shardboard.state.alerting import events
from shardboard.state.alerting.events import record
from shardboard.state.cluster import actions
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard, StoredCondition
from shardboard.store.db import Store

MAX_LOSS_AGE = timedelta(minutes=10)
"""A loss longer ago than this did not cause the election."""
MAX_CAUSE_AGE = timedelta(seconds=10)
"""If a primary was healthy for this long and no failover was requested, the election had no known cause."""
SinceGap = Callable[[int], float]
"""Returns the seconds since the agent of a node was silent for some seconds."""
ROLE_CHANGING_ACTIONS = SWITCHOVER_ACTIONS | {ActionName.FAILOVER}


class ElectionLoop(PollingLoop):
    """Checks roles after each change of shards. Roles that an action is changing are recorded by that action."""

    changes = frozenset({"shard", "action"})

    def __init__(self, store: Store, bus: Bus, seconds_since_gap: SinceGap) -> None:
        super().__init__(store, bus)
        self._seconds_since_gap = seconds_since_gap
        self._well_since: dict[int, datetime] = {}
        """By uid of a shard: since when this console has seen it healthy, apart from gaps between samples."""

    async def is_due(self, session: AsyncSession) -> bool:
        now = datetime.now(UTC)
        rows = await shards.list_conditions(session)
        healthy_uids = [each.uid for each in rows if each.observed_status == ShardStatus.OK]
        self._well_since = {uid: self._well_since.get(uid, now) for uid in healthy_uids}
        return bool(await _unrequested_elections(session, rows))

    async def act(self, session: AsyncSession) -> None:
        now = datetime.now(UTC)
        recent_actions = [
            each
            for each in await actions.list_active_since(session, now - MAX_CAUSE_AGE)
            if each.current_name in ROLE_CHANGING_ACTIONS
        ]
        bdbs_with_actions = {each.object_uid for each in recent_actions if each.object_type == "bdb"}
        is_anything_moved = any(each.object_type == "node" for each in recent_actions)
        for bdb, elections in await _unrequested_elections(session, await shards.list_conditions(session)):
            rows = {row.uid: row for row in await shards.list_for_bdb(session, bdb.uid)}
            for each in elections:
                was_healthy = now - self._healthy_since(rows[each.lost], now) >= MAX_CAUSE_AGE
                has_cause = not was_healthy or is_anything_moved or bdb.uid in bdbs_with_actions
                await _accept(session, bdb, rows, each, has_cause=has_cause)

    def _healthy_since(self, shard: Shard, now: datetime) -> datetime:
        """Return since when samples have shown that the shard was healthy. On an overloaded machine, the agent and the primary can
        stop responding together, so the shard still looks healthy."""
        known_since = self._well_since.get(shard.uid, now)
        gap = self._seconds_since_gap(shard.node_uid)
        return known_since if gap == float("inf") else max(known_since, now - timedelta(seconds=gap))


async def _unrequested_elections(
    session: AsyncSession, rows: Sequence[StoredCondition]
) -> list[tuple[Bdb, list[UnrequestedElection]]]:
    """Return elections by database; the engine only holds them in cluster mode."""
    elections = []
    roles_by_bdb: dict[int, list[ShardRoles]] = defaultdict(list)
    for row in rows:
        roles_by_bdb[row.bdb_uid].append(ShardRoles(row.uid, row.pair, row.role, row.current_role, row.observed_status))
    for bdb in await bdbs.list_all(session):
        if bdb.sharding and bdb.status == BdbStatus.ACTIVE:
            pairs = elected(roles_by_bdb[bdb.uid])
            if pairs and not await actions.list_changing_bdb(session, bdb.uid):
                elections.append((bdb, pairs))
    return elections


async def _accept(
    session: AsyncSession, bdb: Bdb, rows: dict[int, Shard], each: UnrequestedElection, *, has_cause: bool
) -> None:
    promoted, lost = rows[each.promoted], rows[each.lost]
    for row in rows.values():
        if row.pair == promoted.pair:
            row.role = ShardRole.PRIMARY if row is promoted else ShardRole.REPLICA
    if lost.observed_status == ShardStatus.DOWN:
        lost.observed_role = ShardRole.REPLICA
        lost.should_regain_primary, promoted.should_regain_primary = True, False
    loss = await events.newest_loss(session, lost.uid, lost.node_uid)
    seconds = None
    if loss is not None and promoted.observed_at is not None:
        delay = promoted.observed_at - loss.time
        seconds = delay.total_seconds() if timedelta(0) <= delay < MAX_LOSS_AGE else None
    duration = f" about {seconds:.0f} s after it was lost" if seconds is not None else ""
    record(
        session,
        "shard_failover",
        f"Replica redis:{promoted.uid} on node {promoted.node_uid} took over from redis:{lost.uid} of {bdb.name}{duration}, "
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
            "promoted": promoted.uid,
            "bytes_behind": None,
            "method": "engine",
            "seconds": seconds,
            "has_cause": has_cause,
        },
    )
