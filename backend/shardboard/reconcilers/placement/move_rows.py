"""Writes of moves: each change of rows is one transaction, and only while the action is still ours."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.new_shards import PortAllocator
from shardboard.domain.databases.shard_status import DesiredState, ShardStatus
from shardboard.domain.placement.moves import Move
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.reconcilers.lease import leased_transaction
from shardboard.state.alerting.events import record_for_shard
from shardboard.state.cluster import nodes
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.shards import Shard
from shardboard.store.db import Store


async def create_rows(store: Store, action: Action, moves: Sequence[Move]) -> None:
    """Create rows for new shards, as replicas of their pairs."""
    async with leased_transaction(store, action) as session:
        if session is None:
            return
        occupying = await shards.list_occupying(session)
        ports = PortAllocator(occupying, await nodes.list_all(session))
        occupied_uids = {row.uid for row in occupying}
        for move in moves:
            row_of_pair = next((row for row in occupying if (row.bdb_uid, row.pair) == (move.bdb, move.pair)), None)
            if row_of_pair is None or move.new_shard is None or move.to is None or move.new_shard in occupied_uids:
                continue
            port = ports.allocate(move.to)
            # Checked when the action was requested; if the last port was taken since, the move waits
            if port is not None:
                session.add(row_of_pair.replica(move.new_shard, move.to, port))


async def promote(store: Store, action: Action, promoted_uid: int, seconds: float | None) -> None:
    """Write the roles after a planned failover, which took `seconds` if this console saw its start."""
    now = datetime.now(UTC)
    async with leased_transaction(store, action) as session:
        if session is None:
            return
        promoted = await shards.by_uid(session, promoted_uid)
        bdb = await bdbs.by_uid(session, promoted.bdb_uid) if promoted is not None else None
        if promoted is None or bdb is None:
            return
        other_rows = [
            row
            for row in await shards.list_for_bdb(session, promoted.bdb_uid)
            if row.pair == promoted.pair and row is not promoted
        ]
        old_primary = next((row for row in other_rows if row.role == ShardRole.PRIMARY), None)
        promoted.role = ShardRole.PRIMARY
        promoted.set_role(ShardRole.PRIMARY, now)
        for row in other_rows:
            row.role = ShardRole.REPLICA
        for row in (promoted, *other_rows):
            row.should_regain_primary = False  # the current primary was chosen intentionally
        if old_primary is not None and old_primary.observed_status != ShardStatus.DOWN:
            old_primary.set_role(ShardRole.REPLICA, now)
        replaced_name = f"redis:{old_primary.uid}" if old_primary is not None else "its former primary"
        record_for_shard(
            session,
            action,
            promoted,
            "shard_failover",
            f"Shard redis:{promoted_uid} on node {promoted.node_uid} became the primary of pair {promoted.pair} of {bdb.name}, "
            f"replacing {replaced_name}{f' in {seconds:.2f} s' if seconds is not None else ''}, as planned.",
            details={
                "pair": promoted.pair,
                "lost": old_primary.uid if old_primary is not None else None,
                "promoted": promoted_uid,
                "bytes_behind": 0,
                "method": "graceful",
                "seconds": seconds,
            },
        )


async def retire(store: Store, action: Action, moves: Sequence[Move]) -> None:
    """Mark shards that are no longer desired; the removal loop ends them."""
    async with leased_transaction(store, action) as session:
        if session is None:
            return
        for move in moves:
            row = await shards.by_uid(session, move.removed) if move.removed is not None else None
            if row is not None:
                row.desired = DesiredState.ABSENT
                await _record_retired(session, action, move, row)
            new_shard = await shards.by_uid(session, move.new_shard) if move.new_shard is not None else None
            if new_shard is not None and new_shard.observed_role is None:
                new_shard.set_role(ShardRole.REPLICA, datetime.now(UTC))


async def _record_retired(session: AsyncSession, action: Action, move: Move, row: Shard) -> None:
    bdb = await bdbs.by_uid(session, row.bdb_uid)
    name = bdb.name if bdb is not None else f"database {row.bdb_uid}"
    seconds = (datetime.now(UTC) - action.created_at).total_seconds()
    message = (
        f"Shard redis:{row.uid} of {name} moved from node {row.node_uid} to node {move.to}, where it is "
        f"redis:{move.new_shard}, {seconds:.1f} s after the request."
        if move.new_shard is not None
        else f"Replica redis:{row.uid} of {name} was removed from node {row.node_uid}."
    )
    record_for_shard(
        session,
        action,
        row,
        "shard_moved" if move.new_shard is not None else "shard_removed",
        message,
        details={"pair": row.pair, "newcomer": move.new_shard, "to": move.to},
    )


async def complete_or_undo(
    session: AsyncSession, action: Action, moves: Sequence[Move], committed: Collection[int]
) -> None:
    """Complete or undo partial moves: a new shard that is primary stays and the old shard is removed; a new shard whose old shard
    was already removed stays too. All other new shards are removed.
    """
    for move in moves:
        new_shard = await shards.by_uid(session, move.new_shard) if move.new_shard is not None else None
        if new_shard is None:
            continue
        leaving = await shards.by_uid(session, move.removed) if move.removed is not None else None
        if move.removed is not None and leaving is None:
            continue
        if new_shard.role == ShardRole.PRIMARY:
            if leaving is not None:
                leaving.desired = DesiredState.ABSENT
        elif new_shard.uid not in committed:
            new_shard.desired = DesiredState.ABSENT
        else:
            # It may be taking over right now: removing it or the old shard could lose data.
            record_for_shard(
                session,
                action,
                new_shard,
                "shard_move_unsettled",
                f"Shard redis:{new_shard.uid} on node {new_shard.node_uid} stays as an additional copy of pair {new_shard.pair}:  "
                "it is unknown whether it became the primary.",
                severity="WARNING",
            )
