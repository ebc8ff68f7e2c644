"""Ordering that a database's shards go where its placement policy wants them."""

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import rebalance
from shardboard.domain.layout import Layout
from shardboard.domain.moves import Move
from shardboard.domain.numerals import plural
from shardboard.errors import Conflict, NotFound
from shardboard.orders import movement, queue
from shardboard.services import addresses
from shardboard.services.addresses import Change
from shardboard.services.users import Principal
from shardboard.state import events
from shardboard.state.actions import Action

NAME = "SMRebalance"
NAMED = 5
"""Most reasons that one sentence tells."""


async def preview(
    session: AsyncSession, uid: int, *, only_failovers: bool, max_operations: int | None
) -> tuple[Layout, dict[int, str]]:
    """The board as a rebalance would leave it, and the slots of each pair."""
    view = await movement.locked_view(session)
    planned = _plan(view, uid, only_failovers=only_failovers, max_operations=max_operations)
    board = view.board()
    for move in planned:
        _play(board, move)
    return board, {row.pair: row.slots for row in view.of(uid)}


async def address_changes(
    session: AsyncSession, uid: int, *, only_failovers: bool, max_operations: int | None
) -> list[Change]:
    """The addresses that clients must leave when this is ordered."""
    board, _ = await preview(session, uid, only_failovers=only_failovers, max_operations=max_operations)
    found = addresses.changes(await movement.locked_view(session), board)
    return [each for each in found if each.bdb_uid == uid]


async def order(
    session: AsyncSession, uid: int, principal: Principal, *, only_failovers: bool, max_operations: int | None
) -> Action | None:
    """None when everything is where it should be."""
    view = await movement.locked_view(session)
    if (bdb := view.databases.get(uid)) is not None:
        await queue.insist_on_idle(session, [bdb])
    planned = _plan(view, uid, only_failovers=only_failovers, max_operations=max_operations)
    if bdb is None or not planned:
        return None
    board = view.board()
    for move in planned:
        _play(board, move)
    left = [each for each in addresses.changes(view, board) if each.bdb_uid == uid]
    copied = sum(move.to is not None for move in planned)
    action = movement.order(
        session,
        view,
        NAME,
        planned,
        description=f"Rebalance {bdb.name} ({bdb.config['shards_placement']}): {_steps(len(planned) - copied, copied)}",
        originator=principal.username,
        object_type="bdb",
        object_uid=uid,
    )
    events.record_of_action(
        session,
        action,
        "bdb_rebalance_request",
        f"The rebalance of {bdb.name} was ordered: {_steps(len(planned) - copied, copied)}." + addresses.told(left),
    )
    return action


def _plan(view: movement.ClusterView, uid: int, *, only_failovers: bool, max_operations: int | None) -> list[Move]:
    """Nothing only when nothing is to be done: what would be done, were all nodes and shards well, is refused in words."""
    if uid not in view.databases:
        raise NotFound("db_not_found", f"There is no database {uid}.")
    found, wanted = (
        rebalance.plan(board, uid, only_failovers=only_failovers, max_operations=max_operations)
        for board in (view.board(), view.board(all_well=True))
    )
    if wanted and not found and (hindrances := view.hindrances(uid)):
        more = [f"and {len(hindrances) - NAMED} more"] if len(hindrances) > NAMED else []
        reasons = ", ".join([*hindrances[:NAMED], *more])
        raise Conflict("not_now", f"Shards should be elsewhere, but cannot be moved now: {reasons}. Try again later.")
    return found


def _play(board: Layout, move: Move) -> None:
    if move.leads is not None:
        board.lead(move.leads)
    if move.leaves is not None and move.to is None:
        board.drop(move.leaves)
    elif move.leaves is not None and move.to is not None:
        moved = board.move(move.leaves, move.to)
        if move.takes_lead:
            board.lead(moved.uid)


def _steps(handovers: int, copied: int) -> str:
    return f"{plural(handovers, 'handover')}, {plural(copied, 'shard')} to move"
