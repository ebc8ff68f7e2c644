"""Queueing of switchovers that return the primary role to shards that lost it with their node."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import movement
from shardboard.actions.move_parameters import SwitchBackParameters
from shardboard.actions.movement import ClusterView
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.cluster.node_status import NodeHealth
from shardboard.domain.placement.moves import Move
from shardboard.domain.placement.switch_back import switch_back_moves
from shardboard.domain.text import plural
from shardboard.state.cluster.actions import Action


def plan_moves(view: ClusterView, bdb_uid: int) -> list[Move]:
    """Return the moves; none while a shard of the database is not in sync or one of its nodes is not in service."""
    rows = view.shards_of_bdb(bdb_uid)
    if not all(movement.is_in_sync(row) for row in rows):
        return []
    if any(view.nodes[row.node_uid].health != NodeHealth.UP or view.nodes[row.node_uid].duty for row in rows):
        return []
    return switch_back_moves(view.layout(), bdb_uid, {row.uid for row in rows if row.should_regain_primary})


def queue_switchovers(
    session: AsyncSession, view: ClusterView, bdb_uid: int, moves: Sequence[Move], originator: str
) -> Action:
    """Queue the switchovers of one database."""
    count = plural(len(moves), "primary", "primaries")
    pronoun = "it was" if len(moves) == 1 else "they were"
    return movement.queue_moves(
        session,
        view,
        ActionName.SWITCH_BACK,
        moves,
        description=f"Return {count} of {view.databases[bdb_uid].name} to where {pronoun} before the outage",
        originator=originator,
        object_type="bdb",
        object_uid=bdb_uid,
        params=SwitchBackParameters(situation=[move.promote for move in moves]),
    )
