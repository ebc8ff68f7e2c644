"""Actions on whole nodes: maintenance, switching over all primaries, and removal. Each is an action made of shard moves."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import movement, queue
from shardboard.actions.movement import ClusterView
from shardboard.domain.placement import drain
from shardboard.domain.placement.drain import Drain
from shardboard.domain.placement.layout import Layout
from shardboard.errors import Conflict, NotAcceptable, NotFound
from shardboard.services.access.authorization import Principal
from shardboard.services.placement import endpoint_addresses, placement_snapshots
from shardboard.services.placement.endpoint_addresses import EndpointAddressChange
from shardboard.state.alerting import events
from shardboard.state.cluster import actions
from shardboard.state.cluster.actions import OPEN_STATUSES, Action
from shardboard.state.cluster.nodes import Node

MAINTENANCE_ON, MAINTENANCE_OFF = "SMNodeMaintenanceOn", "SMNodeMaintenanceOff"
SWITCH_OVER, REMOVE = "SMNodeEnslave", "SMNodeRemove"


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
    before = node.duty
    node.duty = "maintenance"
    made = await placement_snapshots.create_for_maintenance(session, view, uid, overwrite=overwrite_snapshot)
    board = view.layout()
    plan = drain.drain(board, uid, evict=lambda copy: evict or str(copy.bdb) in evict_dbs)
    left = _address_changes(view, board, uid, gone=False)
    params = {"duty_before": before, "snapshot": made}
    action = await _queue(session, view, MAINTENANCE_ON, node, plan, principal, "Put node {} into maintenance", params)
    message = f"Maintenance of node {uid} was requested.{endpoint_addresses.messages_text(left)}"
    _record_event(session, action, "node_maintenance_on_request", message)
    return action


async def maintenance_off(
    session: AsyncSession, uid: int, principal: Principal, *, snapshot_name: str, skip_shards_restore: bool
) -> Action:
    """Put a node back into service and restore its shards and primary roles from the snapshot."""
    view, node = await _load_idle(session, uid)
    chosen = await placement_snapshots.find(session, uid, snapshot_name)
    if node.duty != "maintenance":
        raise NotAcceptable("node_not_in_maintenance", f"Node {uid} is not in maintenance.")
    _require_connected(node)
    node.duty = ""
    remembered = [
        drain.RememberedCopy(each["bdb"], each["pair"], each["node"], each["role"] == "master")
        for each in (chosen.placement if chosen is not None and not skip_shards_restore else [])
    ]
    plan = drain.restore(view.layout(), uid, remembered)
    params = {"duty_before": "maintenance", "snapshot": chosen.name if chosen is not None else ""}
    action = await _queue(session, view, MAINTENANCE_OFF, node, plan, principal, "End maintenance of node {}", params)
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
    board = view.layout()
    if action == "remove" and _is_dead(node):
        drain.abandon_node(board, uid)
    else:
        drain.drain(board, uid, evict=lambda _: True)
    return _address_changes(view, board, uid, gone=action == "remove")


async def switch_over_primaries(session: AsyncSession, uid: int, principal: Principal) -> Action:
    """Switch all primaries of the node over to their replicas on other nodes."""
    view, node = await _load_idle(session, uid)
    _require_connected(node)
    plan = drain.switch_over_primaries(view.layout(), uid)
    action = await _queue(session, view, SWITCH_OVER, node, plan, principal, "Switch over the primaries of node {}", {})
    _record_event(session, action, "node_enslave_request", f"Switching over the primaries of node {uid} was requested.")
    return action


async def remove(session: AsyncSession, uid: int, principal: Principal) -> Action:
    """Move all shards to other nodes, then remove the node.

    Shards of a dead node are rebuilt on other nodes from their other copies. Where there is no capacity for that, one copy
    remains.
    """
    view, node = await _load_idle(session, uid)
    _require_other_nodes(view, node)
    before, dead = node.duty, _is_dead(node)
    node.duty = "removal"
    board = view.layout()
    plan = drain.abandon_node(board, uid) if dead else drain.drain(board, uid, evict=lambda _: True)
    if plan.staying:
        shard, why = min(plan.staying.items())
        others = f" (and {len(plan.staying) - 1} more)" if len(plan.staying) > 1 else ""
        code = "replication_violation" if dead else "insufficient_resources"
        raise NotAcceptable(code, f"Shard redis:{shard}{others} cannot leave node {uid}: {why}.")
    action = await _queue(session, view, REMOVE, node, plan, principal, "Remove node {}", {"duty_before": before})
    changes = endpoint_addresses.messages_text(_address_changes(view, board, uid, gone=True))
    _record_event(session, action, "node_remove_request", f"The removal of node {uid} was requested.{changes}")
    return action


async def _load_idle(session: AsyncSession, uid: int) -> tuple[ClusterView, Node]:
    view = await movement.locked_view(session)
    node = _find(view, uid)
    for action in await actions.list_for_object(session, "node", uid):
        if action.status in OPEN_STATUSES and action.name != "SMDrill":
            raise Conflict("busy", f"Another action is running on node {uid}: {action.description}.")
    return view, node


def _find(view: ClusterView, uid: int) -> Node:
    node = view.nodes.get(uid)
    if node is None:
        raise NotFound("node_not_found", f"Node {uid} does not exist.")
    return node


def _is_dead(node: Node) -> bool:
    return node.health == "down" or node.agent_status != "connected"


def _address_changes(view: ClusterView, layout: Layout, uid: int, *, gone: bool) -> list[EndpointAddressChange]:
    """Return the address changes. `board` is the layout after the plan."""
    return endpoint_addresses.address_changes(
        view, layout, draining=() if gone else {uid}, removed={uid} if gone else ()
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
    name: str,
    node: Node,
    plan: Drain,
    principal: Principal,
    description: str,
    params: Mapping[str, Any],
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
        params={**params, "stay": {str(uid): why for uid, why in plan.staying.items()}},
    )


def _record_event(session: AsyncSession, action: Action, type_: str, message: str) -> None:
    stay: Sequence[tuple[str, str]] = sorted(action.params["stay"].items())
    if stay:
        message += " These shards stay: " + ", ".join(f"redis:{uid} ({why})" for uid, why in stay) + "."
    events.record_for_action(session, action, type_, message)
