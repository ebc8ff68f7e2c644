"""Actions on whole nodes: maintenance, switching over all primaries, and removal. Each is an action made of shard moves."""

from collections.abc import Collection
from dataclasses import replace
from typing import Literal

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import movement, queue
from shardboard.actions.move_parameters import MoveParameters, NodeParameters
from shardboard.actions.movement import ClusterView
from shardboard.domain.cluster.actions import OPEN_STATUSES, ActionName
from shardboard.domain.cluster.node_status import AgentStatus, NodeDuty, NodeHealth
from shardboard.domain.placement import drain
from shardboard.domain.placement.drain import Drain
from shardboard.domain.placement.layout import Layout
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.errors import Conflict, NotAcceptable, NotFound
from shardboard.services.access.authorization import Principal
from shardboard.services.placement import endpoint_addresses, placement_snapshots
from shardboard.services.placement.endpoint_addresses import EndpointAddressChange
from shardboard.state.alerting import events
from shardboard.state.cluster import actions
from shardboard.state.cluster.actions import Action
from shardboard.state.cluster.nodes import Node


async def maintenance_on(
    session: AsyncSession,
    uid: int,
    principal: Principal,
    *,
    overwrite_snapshot: bool,
    evict: bool,
    evict_dbs: Collection[str],
) -> Action:
    """Put a node into maintenance: save its placement, switch over its primaries, and move replicas to nodes with capacity.

    Replicas of the databases in `evict_dbs` are always moved, other replicas only with `evict`.
    """
    view, node = await _load_idle(session, uid)
    _require_connected(node)
    _require_other_nodes(view, node)
    previous = node.duty
    node.duty = NodeDuty.MAINTENANCE
    snapshot = await placement_snapshots.create_for_maintenance(session, view, uid, overwrite=overwrite_snapshot)
    layout = view.layout()
    plan = drain.drain(layout, uid, evict=lambda copy: evict or str(copy.bdb) in evict_dbs)
    changes = _address_changes(view, layout, uid, is_removed=False)
    params = NodeParameters(duty_before=NodeDuty(previous), snapshot=snapshot)
    action = await _queue(
        session, view, ActionName.NODE_MAINTENANCE_ON, node, plan, principal, "Put node {} into maintenance", params
    )
    message = f"Maintenance of node {uid} was requested.{endpoint_addresses.messages_text(changes)}"
    _record_event(session, action, "node_maintenance_on_request", message)
    return action


async def maintenance_off(
    session: AsyncSession, uid: int, principal: Principal, *, snapshot_name: str, skip_shards_restore: bool
) -> Action:
    """Put a node back into service and restore its shards and primary roles from the snapshot."""
    view, node = await _load_idle(session, uid)
    snapshot = await placement_snapshots.find(session, uid, snapshot_name)
    if node.duty != NodeDuty.MAINTENANCE:
        raise NotAcceptable("node_not_in_maintenance", f"Node {uid} is not in maintenance.")
    _require_connected(node)
    node.duty = NodeDuty.IN_SERVICE
    remembered_copies = [
        drain.RememberedCopy(each["bdb"], each["pair"], each["node"], each["role"] == ShardRole.PRIMARY)
        for each in (snapshot.placement if snapshot is not None and not skip_shards_restore else [])
    ]
    plan = drain.restore(view.layout(), uid, remembered_copies)
    params = NodeParameters(duty_before=NodeDuty.MAINTENANCE, snapshot=snapshot.name if snapshot is not None else "")
    action = await _queue(
        session, view, ActionName.NODE_MAINTENANCE_OFF, node, plan, principal, "End maintenance of node {}", params
    )
    _record_event(
        session, action, "node_maintenance_off_request", f"The end of maintenance of node {uid} was requested."
    )
    return action


async def address_changes(
    session: AsyncSession, uid: int, action: Literal["maintenance_on", "remove"]
) -> list[EndpointAddressChange]:
    """Return the endpoint addresses that clients must stop using if this is requested, as far as can be predicted."""
    view = await movement.locked_view(session)
    node = _find(view, uid)
    layout = view.layout()
    if action == "remove" and _is_dead(node):
        drain.abandon_node(layout, uid)
    else:
        drain.drain(layout, uid, evict=lambda _: True)
    return _address_changes(view, layout, uid, is_removed=action == "remove")


async def switch_over_primaries(session: AsyncSession, uid: int, principal: Principal) -> Action:
    """Switch all primaries of the node over to their replicas on other nodes."""
    view, node = await _load_idle(session, uid)
    _require_connected(node)
    plan = drain.switch_over_primaries(view.layout(), uid)
    action = await _queue(
        session,
        view,
        ActionName.NODE_SWITCH_OVER,
        node,
        plan,
        principal,
        "Switch over the primaries of node {}",
        MoveParameters(),
    )
    _record_event(session, action, "node_enslave_request", f"Switching over the primaries of node {uid} was requested.")
    return action


async def remove(session: AsyncSession, uid: int, principal: Principal) -> Action:
    """Move all shards to other nodes, then remove the node.

    Shards of a dead node are rebuilt on other nodes from their other copies. Where there is no capacity for that, one copy
    remains.
    """
    view, node = await _load_idle(session, uid)
    _require_other_nodes(view, node)
    previous, is_dead = node.duty, _is_dead(node)
    node.duty = NodeDuty.REMOVAL
    layout = view.layout()
    plan = drain.abandon_node(layout, uid) if is_dead else drain.drain(layout, uid, evict=lambda _: True)
    if plan.staying:
        shard, reason = min(plan.staying.items())
        suffix = f" (and {len(plan.staying) - 1} more)" if len(plan.staying) > 1 else ""
        copy = layout.copies.get(shard)
        lacks_zones = copy is not None and not is_dead and layout.lacks_zones(copy)
        code = "replication_violation" if is_dead else "insufficient_resources"
        code = "rack_awareness_violation" if lacks_zones else code
        raise NotAcceptable(code, f"Shard redis:{shard}{suffix} cannot leave node {uid}: {reason}.")
    action = await _queue(
        session,
        view,
        ActionName.NODE_REMOVE,
        node,
        plan,
        principal,
        "Remove node {}",
        NodeParameters(duty_before=NodeDuty(previous)),
    )
    changes = endpoint_addresses.messages_text(_address_changes(view, layout, uid, is_removed=True))
    _record_event(session, action, "node_remove_request", f"The removal of node {uid} was requested.{changes}")
    return action


async def _load_idle(session: AsyncSession, uid: int) -> tuple[ClusterView, Node]:
    view = await movement.locked_view(session)
    node = _find(view, uid)
    for action in await actions.list_for_object(session, "node", uid):
        if action.status in OPEN_STATUSES and action.name != ActionName.DRILL:
            raise Conflict("busy", f"Another action is running on node {uid}: {action.description}.")
    return view, node


def _find(view: ClusterView, uid: int) -> Node:
    node = view.nodes.get(uid)
    if node is None:
        raise NotFound("node_not_found", f"Node {uid} does not exist.")
    return node


def _is_dead(node: Node) -> bool:
    return node.health == NodeHealth.DOWN or node.agent_status != AgentStatus.CONNECTED


def _address_changes(view: ClusterView, layout: Layout, uid: int, *, is_removed: bool) -> list[EndpointAddressChange]:
    """Return the address changes. `board` is the layout after the plan."""
    return endpoint_addresses.address_changes(
        view, layout, draining=() if is_removed else {uid}, removed={uid} if is_removed else ()
    )


def _require_connected(node: Node) -> None:
    if _is_dead(node):
        raise NotAcceptable("node_not_connected", f"The agent of node {node.uid} does not respond.")


def _require_other_nodes(view: ClusterView, node: Node) -> None:
    if not any(movement.can_take_shards(other) for other in view.nodes.values() if other.uid != node.uid):
        message = f"Node {node.uid} is the only node that can run shards; put another node into service first."
        raise NotAcceptable("insufficient_resources", message)


async def _queue(
    session: AsyncSession,
    view: ClusterView,
    name: ActionName,
    node: Node,
    plan: Drain,
    principal: Principal,
    description: str,
    params: MoveParameters,
) -> Action:
    affected = [view.databases[uid] for uid in sorted({move.bdb for move in plan.moves})]
    await queue.require_idle(session, affected)
    return movement.queue_moves(
        session,
        view,
        name,
        plan.moves,
        description=description.format(node.uid),
        originator=principal.username,
        object_type="node",
        object_uid=node.uid,
        params=replace(params, staying=plan.staying),
    )


def _record_event(session: AsyncSession, action: Action, type_: str, message: str) -> None:
    staying_shards = sorted(MoveParameters.parse(action).staying.items())
    if staying_shards:
        message += " These shards stay: " + ", ".join(f"redis:{uid} ({reason})" for uid, reason in staying_shards) + "."
    events.record_for_action(session, action, type_, message)
