"""Scheduling moves of shards to another node."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import movement, queue
from shardboard.actions.move_parameters import MoveParameters
from shardboard.actions.movement import ClusterView
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.cluster.node_status import AgentStatus, NodeHealth
from shardboard.domain.placement.moves import Move
from shardboard.domain.placement.zones import are_separate, zone_text
from shardboard.errors import NotAcceptable, NotFound
from shardboard.services.access.authorization import Principal
from shardboard.services.placement import endpoint_addresses
from shardboard.services.placement.endpoint_addresses import EndpointAddressChange
from shardboard.state.alerting import events
from shardboard.state.cluster.actions import Action
from shardboard.state.databases.shards import Shard


async def schedule(
    session: AsyncSession,
    uids: Sequence[int],
    target: int,
    principal: Principal,
    *,
    dry_run: bool,
    override_rack_policy: bool = False,
    concurrent_databases: int = 0,
) -> tuple[Action | None, list[EndpointAddressChange]]:
    """Schedule moves of these shards to node `target`, `concurrent_databases` at a time (0 = all).

    Roles stay the same: the new shard of a primary becomes primary. With `override_rack_policy`, the copies of a pair of a
    rack-aware database may share a zone. Returns the action, None for a dry run or if there is nothing to do, and the endpoint
    addresses that clients must stop using.
    """
    view = await movement.locked_view(session)
    if not uids:
        raise NotFound("shard_uids_required", "The request does not contain any shards.")
    rows_by_uid = {row.uid: row for row in view.desired_shards}
    unique_uids = dict.fromkeys(uids)
    for uid in unique_uids:
        if uid not in rows_by_uid:
            raise NotFound("shard_not_exist", f"Shard {uid} does not exist.")
    leaving = [rows_by_uid[uid] for uid in unique_uids if rows_by_uid[uid].node_uid != target]
    _check_target(view, target)
    if not leaving:
        return None, []
    databases = [view.databases[uid] for uid in sorted({row.bdb_uid for row in leaving})]
    # Must precede checks of the layout: a running move has already added its new shards to it.
    await queue.require_idle(session, databases)
    _check_copies(view, leaving, target)
    if not override_rack_policy:
        _check_zones(view, leaving, target)
    _check_capacity(view, leaving, target)
    layout = view.layout()
    for row in leaving:
        layout.move(row.uid, target)
    bdb_uids = {bdb.uid for bdb in databases}
    address_changes = [each for each in endpoint_addresses.address_changes(view, layout) if each.bdb_uid in bdb_uids]
    if dry_run:
        return None, address_changes
    moves = [
        Move(
            bdb=row.bdb_uid,
            pair=row.pair,
            title=f"Move {movement.role_name(row)} redis:{row.uid} of {view.databases[row.bdb_uid].name} from node "
            f"{row.node_uid} to node {target}",
            removed=row.uid,
            to=target,
        )
        for row in leaving
    ]
    is_single = len(databases) == 1
    description = (
        moves[0].title
        if len(moves) == 1
        else f"Move {len(moves)} shards" + (f" of {databases[0].name}" if is_single else "") + f" to node {target}"
    )
    action = movement.queue_moves(
        session,
        view,
        ActionName.MIGRATE_SHARDS,
        moves,
        description=description,
        originator=principal.username,
        object_type="bdb" if is_single else "node",
        object_uid=databases[0].uid if is_single else target,
        params=MoveParameters(concurrent_databases=concurrent_databases),
    )
    for bdb in databases:
        names = [f"redis:{row.uid}" for row in leaving if row.bdb_uid == bdb.uid]
        events.record(
            session,
            "shard_migrate_request",
            f"Moving {', '.join(names)} of {bdb.name} to node {target} was requested."
            + endpoint_addresses.messages_text([each for each in address_changes if each.bdb_uid == bdb.uid]),
            source="bdb",
            originator=principal.username,
            bdb_uid=bdb.uid,
            node_uid=target,
            action_uid=action.uid,
        )
    return action, address_changes


def _check_target(view: ClusterView, target: int) -> None:
    node = view.nodes.get(target)
    if node is None:
        raise NotFound("node_not_found", f"Node {target} does not exist.")
    if node.health == NodeHealth.DOWN or node.agent_status != AgentStatus.CONNECTED:
        state = "is down" if node.health == NodeHealth.DOWN else "has no connected agent"
        raise NotAcceptable("node_not_connected", f"Node {target} {state}.", field="target_node_uid")
    if not movement.can_take_shards(node):
        reason = f"is in {node.duty}" if node.duty else "does not accept shards (accept_servers is false)"
        raise NotAcceptable("insufficient_resources", f"Node {target} {reason}.", field="target_node_uid")


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


def _check_zones(view: ClusterView, leaving: Sequence[Shard], target: int) -> None:
    """Require that the copies of each pair of a rack-aware database are in different zones afterwards."""
    zones = view.zones
    for row in leaving:
        partners = [each for each in view.shards_of_pair(row) if each is not row]
        if not view.databases[row.bdb_uid].rack_aware or all(
            are_separate(zones[target], zones[each.node_uid]) for each in partners
        ):
            continue
        uids = [uid for uid in (target, partners[0].node_uid) if not zones[uid]]
        reason = (
            f"Node {uids[0]} has no zone. Set its rack_id"
            if uids
            else f"Node {target} and the other copy, redis:{partners[0].uid} on node {partners[0].node_uid}, are both in "
            f"{zone_text(zones[target] & zones[partners[0].node_uid])}. Choose a node in another zone"
        )
        message = (
            f"The copies of redis:{row.uid} of the rack-aware database {view.databases[row.bdb_uid].name} must be in different "
            f"zones. {reason}, or send override_rack_policy=true."
        )
        raise NotAcceptable("rack_awareness_violation", message, field="target_node_uid")


def _check_capacity(view: ClusterView, leaving: Sequence[Shard], target: int) -> None:
    capacity = view.capacities()[target]
    required = sum(view.memory(view.databases[row.bdb_uid]) for row in leaving)
    if capacity.shards + len(leaving) > capacity.max_shards:
        message = f"Node {target} runs {capacity.shards} of at most {capacity.max_shards} shards."
        raise NotAcceptable("insufficient_resources", message, field="target_node_uid")
    on_flash = [row for row in leaving if view.databases[row.bdb_uid].on_flash]
    disk = sum(view.databases[row.bdb_uid].shard_memory.flash or 0 for row in on_flash)
    if on_flash and not capacity.has_flash_for(disk):
        capacity_text = (
            "no flash" if capacity.free_flash is None else f"{max(capacity.free_flash, 0)} bytes of free flash"
        )
        message = f"Node {target} has {capacity_text}; these shards need {disk} bytes."
        raise NotAcceptable("insufficient_resources", message, field="target_node_uid")
    if required > max(capacity.free_memory, 0):
        message = f"Node {target} has {max(capacity.free_memory, 0)} bytes of free memory; these shards need {required} bytes."
        raise NotAcceptable("insufficient_resources", message, field="target_node_uid")
