"""Restarting a dead shard that has no other copy to take over."""

from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
from shardboard.actions.failure_parameters import RestartParameters
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.cluster.node_status import AgentStatus, NodeHealth
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.databases.shard_status import RESPONDING, ShardStatus
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.errors import BadRequest, Conflict, NotAcceptable, NotFound
from shardboard.services.access.authorization import Principal
from shardboard.state.cluster import actions, nodes
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

DEADLINE = timedelta(minutes=30)


async def schedule(
    session: AsyncSession, uid: int, principal: Principal, *, confirm: str, discard_data: bool, dry_run: bool
) -> tuple[Action | None, str]:
    """Schedule the restart. It needs `shard <uid>` as confirmation. Returns the action (None for a dry run) and the data loss."""
    await clusters.load_for_update(session)
    shard = await shards.by_uid(session, uid)
    bdb = await bdbs.by_uid(session, shard.bdb_uid) if shard is not None else None
    if shard is None or bdb is None:
        raise NotFound("shard_not_exist", f"Shard {uid} does not exist.")
    await _check_dead(session, shard)
    if uid in bdb.mismatch.missing:
        message = (
            f"The agent of node {shard.node_uid} does not have shard redis:{uid}. Repair database {bdb.name} instead."
        )
        raise NotAcceptable("shard_missing", message)
    loss = _loss(bdb, shard, discard_data=discard_data)
    persistent = bdb.config["data_persistence"] != "disabled"
    if not persistent and not discard_data:
        description = f"{bdb.name} has no persistence. {loss} To accept this, send discard_data: true."
        raise BadRequest("data_would_be_lost", description, field="discard_data")
    if dry_run:
        return None, loss
    if confirm != f"shard {uid}":
        raise BadRequest("bad_request", f'{loss} To confirm, send "shard {uid}".', field="confirm")
    if bdb.status != BdbStatus.ACTIVE or await actions.list_open_for_bdb(session, bdb.uid):
        raise Conflict("db_busy", f"Another action is running on {bdb.name}; try again when it has finished.")
    action = queue.enqueue(
        session,
        ActionName.RESTART_SHARDS,
        object_uid=bdb.uid,
        description=f"Restart shard redis:{uid} of {bdb.name}" + (", empty" if discard_data else ""),
        originator=principal.username,
        deadline=DEADLINE,
        params=RestartParameters(shards=(uid,), discard_data=discard_data),
    )
    return action, loss


async def _check_dead(session: AsyncSession, shard: Shard) -> None:
    if shard.observed_status != ShardStatus.DOWN:
        raise NotAcceptable("shard_not_down", f"Shard redis:{shard.uid} is not down; it is {shard.observed_status}.")
    node = await nodes.by_uid(session, shard.node_uid)
    if node is None or node.health != NodeHealth.UP or node.agent_status != AgentStatus.CONNECTED:
        raise NotAcceptable("node_not_connected", f"The agent of node {shard.node_uid} does not respond.")
    for other in await shards.list_for_bdb(session, shard.bdb_uid):
        if other.pair == shard.pair and other.observed_status in RESPONDING:
            verb = "is primary" if other.current_role == ShardRole.PRIMARY else "has a copy of the data"
            message = f"Shard redis:{other.uid} {verb}; redis:{shard.uid} restarts automatically as its replica."
            raise NotAcceptable("replication_violation", message)


def _loss(bdb: Bdb, shard: Shard, *, discard_data: bool) -> str:
    """Return a sentence about the data that is lost permanently."""
    name = f"Shard redis:{shard.uid}"
    if discard_data or bdb.config["data_persistence"] == "disabled":
        return f"{name} would be started empty: all its keys are lost."
    if bdb.config["data_persistence"] == "aof":
        is_always_synced = bdb.config["aof_policy"] == "appendfsync-always"
        loss = (
            "nothing that was acknowledged is lost" if is_always_synced else "up to the last second of writes is lost"
        )
        return f"{name} would be started from its append-only file: {loss}."
    return f"{name} would be started from its last snapshot: everything written after that is lost."
