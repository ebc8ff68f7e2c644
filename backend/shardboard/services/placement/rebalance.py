"""Scheduling moves of a database's shards to the nodes that its placement policy prefers."""

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import movement, queue
from shardboard.domain.placement import rebalance
from shardboard.domain.placement.layout import Layout
from shardboard.domain.placement.moves import Move
from shardboard.domain.text import plural
from shardboard.errors import Conflict, NotFound
from shardboard.services.access.authorization import Principal
from shardboard.services.placement import endpoint_addresses
from shardboard.services.placement.endpoint_addresses import EndpointAddressChange
from shardboard.state.alerting import events
from shardboard.state.cluster.actions import Action

ACTION_NAME = "SMRebalance"
MAX_REASONS = 5
"""Maximum number of reasons in one error message."""


async def preview(
    session: AsyncSession, uid: int, *, only_failovers: bool, max_operations: int | None
) -> tuple[Layout, dict[int, str]]:
    """Return the layout after a rebalance, and the slots of each shard pair."""
    view = await movement.locked_view(session)
    planned = _plan(view, uid, only_failovers=only_failovers, max_operations=max_operations)
    board = view.layout()
    for move in planned:
        _apply(board, move)
    return board, {row.pair: row.slots for row in view.shards_of_bdb(uid)}


async def address_changes(
    session: AsyncSession, uid: int, *, only_failovers: bool, max_operations: int | None
) -> list[EndpointAddressChange]:
    """Return the endpoint addresses that clients must stop using if the rebalance is requested."""
    board, _ = await preview(session, uid, only_failovers=only_failovers, max_operations=max_operations)
    found = endpoint_addresses.address_changes(await movement.locked_view(session), board)
    return [each for each in found if each.bdb_uid == uid]


async def schedule(
    session: AsyncSession, uid: int, principal: Principal, *, only_failovers: bool, max_operations: int | None
) -> Action | None:
    """Schedule a rebalance. Returns None if no shard has to move."""
    view = await movement.locked_view(session)
    if (bdb := view.databases.get(uid)) is not None:
        await queue.require_idle(session, [bdb])
    planned = _plan(view, uid, only_failovers=only_failovers, max_operations=max_operations)
    if bdb is None or not planned:
        return None
    board = view.layout()
    for move in planned:
        _apply(board, move)
    left = [each for each in endpoint_addresses.address_changes(view, board) if each.bdb_uid == uid]
    copied = sum(move.to is not None for move in planned)
    action = movement.queue_moves(
        session,
        view,
        ACTION_NAME,
        planned,
        description=f"Rebalance {bdb.name} ({bdb.config['shards_placement']}): {_steps(len(planned) - copied, copied)}",
        originator=principal.username,
        object_type="bdb",
        object_uid=uid,
    )
    events.record_for_action(
        session,
        action,
        "bdb_rebalance_request",
        f"Rebalancing {bdb.name} was requested: {_steps(len(planned) - copied, copied)}."
        + endpoint_addresses.messages_text(left),
    )
    return action


def _plan(view: movement.ClusterView, uid: int, *, only_failovers: bool, max_operations: int | None) -> list[Move]:
    """Return the moves; empty only if none are needed. Raises Conflict if moves are needed but nodes or shards block them now."""
    if uid not in view.databases:
        raise NotFound("db_not_found", f"Database {uid} does not exist.")
    found, needed = (
        rebalance.plan(board, uid, only_failovers=only_failovers, max_operations=max_operations)
        for board in (view.layout(), view.layout(ignore_failures=True))
    )
    if needed and not found and (hindrances := view.obstacles(uid)):
        more = [f"and {len(hindrances) - MAX_REASONS} more"] if len(hindrances) > MAX_REASONS else []
        reasons = ", ".join([*hindrances[:MAX_REASONS], *more])
        raise Conflict("not_now", f"Shards must be moved, but cannot be moved now: {reasons}. Try again later.")
    return found


def _apply(layout: Layout, move: Move) -> None:
    if move.leads is not None:
        layout.promote(move.leads)
    if move.leaves is not None and move.to is None:
        layout.remove(move.leaves)
    elif move.leaves is not None and move.to is not None:
        moved = layout.move(move.leaves, move.to)
        if move.takes_lead:
            layout.promote(moved.uid)


def _steps(handovers: int, copied: int) -> str:
    return f"{plural(handovers, 'switchover')}, {plural(copied, 'shard')} to move"
