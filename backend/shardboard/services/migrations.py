"""Ordering that shards move to another node."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.moves import Move
from shardboard.errors import NotAcceptable, NotFound
from shardboard.orders import movement, queue
from shardboard.orders.movement import ClusterView
from shardboard.services import addresses
from shardboard.services.addresses import Change
from shardboard.services.users import Principal
from shardboard.state import events
from shardboard.state.actions import Action
from shardboard.state.shards import Shard

NAME = "SMMigrateShards"


async def order(
    session: AsyncSession,
    uids: Sequence[int],
    target: int,
    principal: Principal,
    *,
    dry_run: bool,
    at_once: int = 0,
) -> tuple[Action | None, list[Change]]:
    """Move these shards to node `target`, `at_once` databases at a time (0 = all). No action when there is nothing to do, or for
    a dry run; and the addresses that clients must leave for it. Roles stay: the newcomer of a primary becomes primary."""
    view = await movement.locked_view(session)
    if not uids:
        raise NotFound("shard_uids_required", "No shards were named.")
    known = {row.uid: row for row in view.rows}
    chosen = dict.fromkeys(uids)
    for uid in chosen:
        if uid not in known:
            raise NotFound("shard_not_exist", f"There is no shard {uid}.")
    leaving = [known[uid] for uid in chosen if known[uid].node_uid != target]
    _insist_on_target(view, target)
    if not leaving:
        return None, []
    databases = [view.databases[uid] for uid in sorted({row.bdb_uid for row in leaving})]
    # Before what is asked of the layout: a move under way has put newcomers into it already.
    await queue.insist_on_idle(session, databases)
    _insist_on_pairs(view, leaving, target)
    _insist_on_room(view, leaving, target)
    board = view.board()
    for row in leaving:
        board.move(row.uid, target)
    moved = {bdb.uid for bdb in databases}
    left = [each for each in addresses.changes(view, board) if each.bdb_uid in moved]
    if dry_run:
        return None, left
    planned = [
        Move(
            bdb=row.bdb_uid,
            pair=row.pair,
            title=f"Move {movement.word(row)} redis:{row.uid} of {view.databases[row.bdb_uid].name} from node "
            f"{row.node_uid} to node {target}",
            leaves=row.uid,
            to=target,
        )
        for row in leaving
    ]
    one = len(databases) == 1
    description = (
        planned[0].title
        if len(planned) == 1
        else f"Move {len(planned)} shards" + (f" of {databases[0].name}" if one else "") + f" to node {target}"
    )
    action = movement.order(
        session,
        view,
        NAME,
        planned,
        description=description,
        originator=principal.username,
        object_type="bdb" if one else "node",
        object_uid=databases[0].uid if one else target,
        params={"at_once": at_once},
    )
    for bdb in databases:
        held = [f"redis:{row.uid}" for row in leaving if row.bdb_uid == bdb.uid]
        events.record(
            session,
            "shard_migrate_request",
            f"The move of {', '.join(held)} of {bdb.name} to node {target} was ordered."
            + addresses.told([each for each in left if each.bdb_uid == bdb.uid]),
            source="bdb",
            originator=principal.username,
            bdb_uid=bdb.uid,
            node_uid=target,
            action_uid=action.uid,
        )
    return action, left


def _insist_on_target(view: ClusterView, target: int) -> None:
    node = view.machines.get(target)
    if node is None:
        raise NotFound("node_not_found", f"There is no node {target}.")
    if node.health == "down" or node.agent_status != "connected":
        state = "is down" if node.health == "down" else "has lost its agent"
        raise NotAcceptable("node_not_connected", f"Node {target} {state}.", field="target_node_uid")
    if not movement.takes_shards(node):
        why = f"is in {node.duty}" if node.duty else "accepts no shards (accept_servers is false)"
        raise NotAcceptable("insufficient_resources", f"Node {target} {why}.", field="target_node_uid")


def _insist_on_pairs(view: ClusterView, leaving: Sequence[Shard], target: int) -> None:
    """A node holds one copy of a pair, or losing it would lose the pair."""
    for row in leaving:
        partner = next((each for each in view.pair_of(row) if each is not row and each.node_uid == target), None)
        if partner is not None:
            sentence = f"Node {target} holds redis:{partner.uid}, the other copy of what redis:{row.uid} holds."
            raise NotAcceptable("replication_node_violation", sentence, field="target_node_uid")
    pairs = {(row.bdb_uid, row.pair) for row in leaving}
    if len(pairs) < len(leaving):
        sentence = "Two copies of the same pair would be on one node; name one shard of each pair."
        raise NotAcceptable("replication_node_violation", sentence, field="shard_uids")


def _insist_on_room(view: ClusterView, leaving: Sequence[Shard], target: int) -> None:
    room = view.rooms()[target]
    needed = sum(view.memory(view.databases[row.bdb_uid]) for row in leaving)
    if room.shards + len(leaving) > room.max_shards:
        sentence = f"Node {target} runs {room.shards} of at most {room.max_shards} shards."
        raise NotAcceptable("insufficient_resources", sentence, field="target_node_uid")
    on_flash = [row for row in leaving if view.databases[row.bdb_uid].on_flash]
    disk = sum(view.databases[row.bdb_uid].share.flash or 0 for row in on_flash)
    if on_flash and not room.gives(disk):
        has = "no flash" if room.free_flash is None else f"{max(room.free_flash, 0)} bytes of flash to give"
        sentence = f"Node {target} has {has}; these shards need {disk}."
        raise NotAcceptable("insufficient_resources", sentence, field="target_node_uid")
    if needed > max(room.free_memory, 0):
        sentence = f"Node {target} has {max(room.free_memory, 0)} bytes to give; these shards need {needed}."
        raise NotAcceptable("insufficient_resources", sentence, field="target_node_uid")
