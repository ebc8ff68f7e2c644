"""Placement snapshots of a node, created when maintenance starts or on demand. Shards return to the nodes that they record."""

from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import movement
from shardboard.actions.movement import ClusterView
from shardboard.errors import Conflict, Forbidden, NotFound
from shardboard.services.access.authorization import Principal
from shardboard.state.alerting import events
from shardboard.state.placement import placement_snapshots
from shardboard.state.placement.placement_snapshots import Snapshot

MAINTENANCE, USER = "maintenance", "user"


async def create_for_maintenance(session: AsyncSession, view: ClusterView, node_uid: int, *, overwrite: bool) -> str:
    """Create a maintenance snapshot unless an earlier one exists. Returns the name of the new one, or an empty string."""
    existing = [each for each in await placement_snapshots.list_for_node(session, node_uid) if each.kind == MAINTENANCE]
    if existing and not overwrite:
        return ""
    for each in existing:
        await session.delete(each)
    now = datetime.now(UTC)
    return _add(session, view, node_uid, f"maintenance_mode_{now:%Y-%m-%d_%H-%M-%S}_node_{node_uid}", MAINTENANCE).name


async def create(session: AsyncSession, node_uid: int, name: str, principal: Principal) -> Snapshot:
    """Save the current placement under a name."""
    view = await movement.locked_view(session)
    if node_uid not in view.nodes:
        raise NotFound("node_not_found", f"Node {node_uid} does not exist.")
    if await session.get(Snapshot, name) is not None:
        raise Conflict("snapshot_exists", f"The snapshot {name} already exists.")
    snapshot = _add(session, view, node_uid, name, USER)
    message = f"Snapshot {name} of the placement on node {node_uid} was created."
    events.record(
        session, "node_snapshot_created", message, source="node", originator=principal.username, node_uid=node_uid
    )
    return snapshot


async def delete(session: AsyncSession, node_uid: int, name: str, principal: Principal) -> Snapshot:
    """Delete a snapshot. Maintenance snapshots are deleted only when maintenance ends."""
    snapshot = await find(session, node_uid, name)
    if snapshot is None:
        raise NotFound("snapshot_not_found", f"Node {node_uid} has no snapshot.")
    if snapshot.kind == MAINTENANCE:
        raise Forbidden(
            "maintenance_snapshot", "Maintenance snapshots cannot be deleted; they are removed when maintenance ends."
        )
    await session.delete(snapshot)
    message = f"Snapshot {name} of node {node_uid} was deleted."
    events.record(
        session, "node_snapshot_deleted", message, source="node", originator=principal.username, node_uid=node_uid
    )
    return snapshot


async def find(session: AsyncSession, node_uid: int, name: str) -> Snapshot | None:
    """Return the named snapshot; without a name, the latest maintenance snapshot, if any. Raises NotFound for an unknown name."""
    if not name:
        return await placement_snapshots.get_latest(session, node_uid, MAINTENANCE)
    snapshot = next(
        (each for each in await placement_snapshots.list_for_node(session, node_uid) if each.name == name), None
    )
    if snapshot is None:
        raise NotFound("snapshot_not_found", f"Node {node_uid} has no snapshot {name}.")
    return snapshot


def _add(session: AsyncSession, view: ClusterView, node_uid: int, name: str, kind: str) -> Snapshot:
    pairs = {(row.bdb_uid, row.pair) for row in view.desired_shards if row.node_uid == node_uid}
    snapshot = Snapshot(
        name=name,
        node_uid=node_uid,
        kind=kind,
        created_at=datetime.now(UTC),
        placement=[
            {"bdb": row.bdb_uid, "pair": row.pair, "node": row.node_uid, "role": row.current_role}
            for row in view.desired_shards
            if (row.bdb_uid, row.pair) in pairs
        ],
    )
    session.add(snapshot)
    return snapshot
