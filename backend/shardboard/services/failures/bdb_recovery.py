"""Recovery of a database whose shards are down: its plan, and the restart of all of them from their persistence files."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
from shardboard.actions.failure_parameters import RestartParameters
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.databases.shard_status import RESPONDING, ShardStatus
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.domain.text import plural
from shardboard.errors import BadRequest, Conflict, NotAcceptable
from shardboard.services.access.authorization import Principal
from shardboard.services.failures.shard_restart import DEADLINE
from shardboard.state.cluster import nodes
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard


class RecoveryStatus(StrEnum):
    NOT_NEEDED = "not_needed"
    READY = "ready"
    MISSING_FILES = "missing-files"
    """The database has no persistence, or an agent does not respond or does not have the shard."""


@dataclass(frozen=True)
class RecoveryPlan:
    """The dead shards of pairs without a copy that responds, one of each pair: the primary, if it is among them."""

    dead: Sequence[Shard]
    unreachable: Sequence[Shard]
    """Shards whose agents do not respond."""
    missing: Sequence[Shard]
    """Shards that their agents no longer have."""
    is_persistent: bool

    @property
    def status(self) -> RecoveryStatus:
        if not self.dead:
            return RecoveryStatus.NOT_NEEDED
        is_complete = self.is_persistent and not self.unreachable and not self.missing
        return RecoveryStatus.READY if is_complete else RecoveryStatus.MISSING_FILES


async def plan(session: AsyncSession, bdb: Bdb) -> RecoveryPlan:
    available = {node.uid for node in await nodes.list_all(session) if node.is_available}
    pairs: dict[int, list[Shard]] = {}
    for shard in await shards.list_for_bdb(session, bdb.uid):
        pairs.setdefault(shard.pair, []).append(shard)
    dead = [
        min(copies, key=lambda copy: (copy.current_role != ShardRole.PRIMARY, copy.uid))
        for _, copies in sorted(pairs.items())
        if not any(copy.observed_status in RESPONDING for copy in copies)
        and any(copy.observed_status == ShardStatus.DOWN for copy in copies)
    ]
    return RecoveryPlan(
        dead,
        [shard for shard in dead if shard.node_uid not in available],
        [shard for shard in dead if shard.uid in bdb.mismatch.missing],
        bdb.config["data_persistence"] != "disabled",
    )


async def schedule(session: AsyncSession, uid: int, principal: Principal, *, without_data: bool) -> Action:
    """Restart the dead shards from their files, or without data. Raises Conflict if none is dead."""
    bdb = await queue.load_idle_bdb(session, uid)
    found = await plan(session, bdb)
    if not found.dead:
        raise Conflict("not_recoverable", f"All slots of {bdb.name} have a running shard. There is nothing to recover.")
    if found.unreachable:
        node = found.unreachable[0].node_uid
        raise NotAcceptable(
            "node_not_connected", f"The agent of node {node} does not respond. Start it, and try again."
        )
    if found.missing:
        shard = found.missing[0]
        message = (
            f"The agent of node {shard.node_uid} does not have shard redis:{shard.uid}. Repair database {bdb.name}."
        )
        raise NotAcceptable("shard_missing", message)
    if not found.is_persistent and not without_data:
        message = f"{bdb.name} has no persistence: its shards would start empty. To accept this, send recover_without_data true."
        raise BadRequest("data_would_be_lost", message, field="recover_without_data")
    count = plural(len(found.dead), "shard")
    return queue.enqueue(
        session,
        ActionName.RESTART_SHARDS,
        object_uid=bdb.uid,
        description=f"Recover {count} of {bdb.name}" + (" without data" if without_data else " from persistence"),
        originator=principal.username,
        deadline=DEADLINE,
        params=RestartParameters(shards=tuple(shard.uid for shard in found.dead), discard_data=without_data),
    )
