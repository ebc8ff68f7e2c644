"""Scheduling failovers on demand."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
from shardboard.actions.failure_parameters import RequestedFailoverParameters
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.databases.shard_status import ShardLink, ShardStatus
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.domain.text import plural
from shardboard.errors import BadRequest, Conflict, NotAcceptable, NotFound
from shardboard.services.access.authorization import Principal
from shardboard.state.cluster import actions
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.shards import Shard

DEADLINE = timedelta(seconds=30)


async def schedule(
    session: AsyncSession, uids: Sequence[int], principal: Principal, *, force: bool, dry_run: bool
) -> Action | None:
    """Schedule a graceful or forced failover of these primaries to their replicas. Returns None for a dry run."""
    if not uids:
        raise NotFound("shard_uids_required", "The request does not contain any shards.")
    await clusters.load_for_update(session)
    rows = [await _primary(session, uid) for uid in dict.fromkeys(uids)]
    if len({row.bdb_uid for row in rows}) > 1:
        raise BadRequest(
            "failover_shards_different_bdb", "All shards of one failover must belong to the same database."
        )
    bdb = await bdbs.by_uid(session, rows[0].bdb_uid)
    if bdb is None or bdb.status != BdbStatus.ACTIVE:
        raise Conflict("db_busy", "The database is being changed; try again when it is active.")
    if await actions.list_open_for_bdb(session, bdb.uid):
        raise Conflict("db_busy", f"Another action is running on {bdb.name}; try again when it has finished.")
    bdb_rows = await shards.list_for_bdb(session, bdb.uid)
    for row in rows:
        replicas = [each for each in bdb_rows if each.pair == row.pair and each.current_role == ShardRole.REPLICA]
        if not any(
            each.observed_status == ShardStatus.OK and each.observed_link == ShardLink.IDLE for each in replicas
        ):
            raise NotAcceptable("replication_violation", f"Shard redis:{row.uid} has no replica in sync.")
    if dry_run:
        return None
    return queue.enqueue(
        session,
        ActionName.SHARD_FAILOVER,
        object_uid=bdb.uid,
        description=f"Switch over {plural(len(rows), 'shard')} of {bdb.name}",
        originator=principal.username,
        deadline=DEADLINE,
        params=RequestedFailoverParameters(shards=tuple(row.uid for row in rows), force=force),
    )


async def _primary(session: AsyncSession, uid: int) -> Shard:
    shard = await shards.by_uid(session, uid)
    if shard is None:
        raise NotFound("shard_not_exist", f"Shard {uid} does not exist.")
    if shard.current_role != ShardRole.PRIMARY:
        raise BadRequest("shard_is_slave", f"Shard redis:{uid} is a replica. Send the uid of its primary.")
    return shard
