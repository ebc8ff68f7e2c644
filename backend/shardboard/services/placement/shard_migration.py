"""Scheduling moves of shards to another node."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import movement, queue
from shardboard.actions.movement import ClusterView
from shardboard.domain.placement.moves import Move
from shardboard.errors import NotAcceptable, NotFound
from shardboard.services.access.authorization import Principal
from shardboard.services.placement import endpoint_addresses
from shardboard.services.placement.endpoint_addresses import EndpointAddressChange
from shardboard.state.alerting import events
from shardboard.state.cluster.actions import Action
from shardboard.state.databases.shards import Shard

ACTION_NAME = "SMMigrateShards"


async def schedule(
    session: AsyncSession,
    uids: Sequence[int],
    target: int,
    principal: Principal,
    *,
    dry_run: bool,
    concurrent_databases: int = 0,
) -> tuple[Action | None, list[EndpointAddressChange]]:
    """Schedule moves of these shards to node `target`, `at_once` databases at a time (0 = all).

    Roles stay the same: the new shard of a primary becomes primary. Returns the action, None for a dry run or if there is nothing
    to do, and the endpoint addresses that clients must stop using.
    """
    view = await movement.locked_view(session)
    if not uids:
        raise NotFound("shard_uids_required", "The request names no shards.")
    known = {row.uid: row for row in view.desired_shards}
    chosen = dict.fromkeys(uids)
    for uid in chosen:
        if uid not in known:
            raise NotFound("shard_not_exist", f"Shard {uid} does not exist.")
    leaving = [known[uid] for uid in chosen if known[uid].node_uid != target]
    _check_target(view, target)
    if not leaving:
        return None, []
    databases = [view.databases[uid] for uid in sorted({row.bdb_uid for row in leaving})]
    # Must precede checks of the layout: a running move has already added its new shards to it.
    await queue.require_idle(session, databases)
    _check_copies(view, leaving, target)
    _check_capacity(view, leaving, target)
    board = view.layout()
    for row in leaving:
        board.move(row.uid, target)
    moved = {bdb.uid for bdb in databases}
    left = [each for each in endpoint_addresses.address_changes(view, board) if each.bdb_uid in moved]
    if dry_run:
        return None, left
    planned = [
        Move(
            bdb=row.bdb_uid,
            pair=row.pair,
            title=f"Move {movement.role_name(row)} redis:{row.uid} of {view.databases[row.bdb_uid].name} from node "
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
    action = movement.queue_moves(
        session,
        view,
        ACTION_NAME,
        planned,
        description=description,
        originator=principal.username,
        object_type="bdb" if one else "node",
        object_uid=databases[0].uid if one else target,
        params={"at_once": concurrent_databases},
    )
    for bdb in databases:
        held = [f"redis:{row.uid}" for row in leaving if row.bdb_uid == bdb.uid]
        events.record(
            session,
            "shard_migrate_request",
            f"Moving {', '.join(held)} of {bdb.name} to node {target} was requested."
            + endpoint_addresses.messages_text([each for each in left if each.bdb_uid == bdb.uid]),
            source="bdb",
            originator=principal.username,
            bdb_uid=bdb.uid,
            node_uid=target,
            action_uid=action.uid,
        )
    return action, left


def _check_target(view: ClusterView, target: int) -> None:
    node = view.nodes.get(target)
    if node is None:
        raise NotFound("node_not_found", f"Node {target} does not exist.")
    if node.health == "down" or node.agent_status != "connected":
        state = "is down" if node.health == "down" else "has no connected agent"
        raise NotAcceptable("node_not_connected", f"Node {target} {state}.", field="target_node_uid")
    if not movement.can_take_shards(node):
        why = f"is in {node.duty}" if node.duty else "does not accept shards (accept_servers is false)"
        raise NotAcceptable("insufficient_resources", f"Node {target} {why}.", field="target_node_uid")


def _check_copies(view: ClusterView, leaving: Sequence[Shard], target: int) -> None:
    """Require that a node holds at most one copy of a shard; otherwise a node failure would lose both copies."""
    for row in leaving:
        partner = next((each for each in view.shards_of_pair(row) if each is not row and each.node_uid == target), None)
        if partner is not None:
            message = f"Node {target} already holds redis:{partner.uid}, the other copy of redis:{row.uid}."
            raise NotAcceptable("replication_node_violation", message, field="target_node_uid")
    pairs = {(row.bdb_uid, row.pair) for row in leaving}
    if len(pairs) < len(leaving):
        message = "Both copies of a shard would be on one node; name either the primary or the replica."
        raise NotAcceptable("replication_node_violation", message, field="shard_uids")


def _check_capacity(view: ClusterView, leaving: Sequence[Shard], target: int) -> None:
    room = view.capacities()[target]
    needed = sum(view.memory(view.databases[row.bdb_uid]) for row in leaving)
    if room.shards + len(leaving) > room.max_shards:
        message = f"Node {target} runs {room.shards} of at most {room.max_shards} shards."
        raise NotAcceptable("insufficient_resources", message, field="target_node_uid")
    on_flash = [row for row in leaving if view.databases[row.bdb_uid].on_flash]
    disk = sum(view.databases[row.bdb_uid].shard_memory.flash or 0 for row in on_flash)
    if on_flash and not room.has_flash_for(disk):
        has = "no flash" if room.free_flash is None else f"{max(room.free_flash, 0)} bytes of free flash"
        message = f"Node {target} has {has}; these shards need {disk} bytes."
        raise NotAcceptable("insufficient_resources", message, field="target_node_uid")
    if needed > max(room.free_memory, 0):
        message = (
            f"Node {target} has {max(room.free_memory, 0)} bytes of free memory; these shards need {needed} bytes."
        )
        raise NotAcceptable("insufficient_resources", message, field="target_node_uid")
