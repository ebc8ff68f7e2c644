"""Scheduling moves of a database's shards to the nodes that its placement policy prefers."""

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import movement, queue
from shardboard.domain.cluster.actions import ActionName
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

MAX_REASONS = 5
"""Maximum number of reasons in one error message."""


async def preview(
    session: AsyncSession, uid: int, *, only_failovers: bool, max_operations: int | None
) -> tuple[Layout, dict[int, str]]:
    """Return the layout after a rebalance, and the slots of each replication pair."""
    view = await movement.locked_view(session)
    moves = _plan(view, uid, only_failovers=only_failovers, max_operations=max_operations)
    layout = view.layout()
    for move in moves:
        _apply(layout, move)
    return layout, {row.pair: row.slots for row in view.shards_of_bdb(uid)}


async def address_changes(
    session: AsyncSession, uid: int, *, only_failovers: bool, max_operations: int | None
) -> list[EndpointAddressChange]:
    """Return the endpoint addresses that clients must stop using if the rebalance is requested."""
    layout, _ = await preview(session, uid, only_failovers=only_failovers, max_operations=max_operations)
    changes = endpoint_addresses.address_changes(await movement.locked_view(session), layout)
    return [each for each in changes if each.bdb_uid == uid]


async def schedule(
    session: AsyncSession, uid: int, principal: Principal, *, only_failovers: bool, max_operations: int | None
) -> Action | None:
    """Schedule a rebalance. Returns None if no shard has to move."""
    view = await movement.locked_view(session)
    if (bdb := view.databases.get(uid)) is not None:
        await queue.require_idle(session, [bdb])
    moves = _plan(view, uid, only_failovers=only_failovers, max_operations=max_operations)
    if bdb is None or not moves:
        return None
    layout = view.layout()
    for move in moves:
        _apply(layout, move)
    changes = [each for each in endpoint_addresses.address_changes(view, layout) if each.bdb_uid == uid]
    copy_count = sum(move.to is not None for move in moves)
    action = movement.queue_moves(
        session,
        view,
        ActionName.REBALANCE,
        moves,
        description=f"Rebalance {bdb.name} ({bdb.config['shards_placement']}): {_steps(len(moves) - copy_count, copy_count)}",
        originator=principal.username,
        object_type="bdb",
        object_uid=uid,
    )
    events.record_for_action(
        session,
        action,
        "bdb_rebalance_request",
        f"Rebalancing {bdb.name} was requested: {_steps(len(moves) - copy_count, copy_count)}."
        + endpoint_addresses.messages_text(changes),
    )
    return action


def _plan(view: movement.ClusterView, uid: int, *, only_failovers: bool, max_operations: int | None) -> list[Move]:
    """Return the moves; empty only if none are needed. Raises Conflict if moves are needed but nodes or shards block them now."""
    if uid not in view.databases:
        raise NotFound("db_not_found", f"Database {uid} does not exist.")
    plan, required = (
        rebalance.plan(layout, uid, only_failovers=only_failovers, max_operations=max_operations)
        for layout in (view.layout(), view.layout(ignore_failures=True))
    )
    if required and not plan and (obstacles := view.obstacles(uid)):
        further = [f"and {len(obstacles) - MAX_REASONS} more"] if len(obstacles) > MAX_REASONS else []
        reasons = ", ".join([*obstacles[:MAX_REASONS], *further])
        raise Conflict("not_now", f"Shards must be moved, but cannot be moved now: {reasons}. Try again later.")
    return plan


def _apply(layout: Layout, move: Move) -> None:
    if move.promote is not None:
        layout.promote(move.promote)
    if move.removed is not None and move.to is None:
        layout.remove(move.removed)
    elif move.removed is not None and move.to is not None:
        copy = layout.move(move.removed, move.to)
        if move.promote_new_shard:
            layout.promote(copy.uid)


def _steps(handovers: int, copied: int) -> str:
    return f"{plural(handovers, 'switchover')}, {plural(copied, 'shard')} to move"
