"""Endpoints of actions on nodes (maintenance, failover of all primaries, removal) and of snapshots."""

from typing import Annotated, Any, ClassVar, Literal

from fastapi import Path
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import Admin, ReadSession, Viewer, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.domain.cluster.actions import OPEN_STATUSES
from shardboard.errors import NotFound
from shardboard.schemas.cluster import node_actions as schema
from shardboard.schemas.placement import plans
from shardboard.schemas.placement.plans import AddressChange
from shardboard.services.cluster import actions as action_service
from shardboard.services.cluster import node_actions as service
from shardboard.services.placement import placement_snapshots as snapshot_service
from shardboard.state.cluster import actions, nodes
from shardboard.state.cluster.actions import Action
from shardboard.state.placement import placement_snapshots

router = ApiRouter(prefix="/v1", tags=["nodes"])

NameInPath = Annotated[str, Path(max_length=64, pattern=r"^[A-Za-z0-9_.:-]+$")]


class MaintenanceOnRequest(BaseModel):
    """Body of a request to start maintenance, as in the Redis Enterprise REST API."""

    model_config = ConfigDict(extra="ignore")

    WITHOUT_EFFECT: ClassVar = {"evict_active_active_replica": True}

    overwrite_snapshot: bool = Field(default=False, description="Replace the snapshot of an earlier maintenance start.")
    evict_ha_replica: bool = Field(default=True, description="Move replicas to other nodes with enough free memory.")
    evict_active_active_replica: bool = Field(default=True, description="Accepted without effect.")
    evict_dbs: list[str] = Field(
        default=[], max_length=1024, description="Uids of databases whose replicas are moved in any case."
    )
    keep_slave_shards: bool = Field(default=False, description="Deprecated: same as `evict_ha_replica` false.")


class MaintenanceOffRequest(BaseModel):
    """Body of a request to end maintenance, as in the Redis Enterprise REST API."""

    snapshot_name: str = Field(
        default="", max_length=64, description="Snapshot to restore. Default: the latest maintenance snapshot."
    )
    skip_shards_restore: bool = Field(
        default=False, description="Do not restore the placement and the roles of shards."
    )


class RemovalRequest(BaseModel):
    """Body of a request to remove a node, as in the Redis Enterprise REST API."""

    WITHOUT_EFFECT: ClassVar = {"wait_for_persistence": None}

    wait_for_persistence: bool | None = Field(
        default=None, description="Accepted without effect: moved shards are always complete."
    )


@router.post(
    "/nodes/{uid}/actions/maintenance_on", summary="Start maintenance", responses=error_responses(404, 406, 409)
)
async def start_maintenance(
    admin: Admin, session: WriteSession, uid: Uid, body: MaintenanceOnRequest | None = None
) -> schema.Queued:
    """Start maintenance of a node: its primaries are switched over, its replicas move to other nodes, and it gets no new shards.

    Required role: `admin`.
    """
    options = body or MaintenanceOnRequest()
    action = await service.maintenance_on(
        session,
        uid,
        admin,
        overwrite_snapshot=options.overwrite_snapshot,
        evict=options.evict_ha_replica and not options.keep_slave_shards,
        evict_dbs=options.evict_dbs,
    )
    return schema.render_queued(action)


@router.post(
    "/nodes/{uid}/actions/maintenance_off", summary="End maintenance", responses=error_responses(404, 406, 409)
)
async def end_maintenance(
    admin: Admin, session: WriteSession, uid: Uid, body: MaintenanceOffRequest | None = None
) -> schema.Queued:
    """End maintenance of a node: the placement and the roles of its shards are restored from the snapshot.

    Required role: `admin`.
    """
    options = body or MaintenanceOffRequest()
    action = await service.maintenance_off(
        session, uid, admin, snapshot_name=options.snapshot_name, skip_shards_restore=options.skip_shards_restore
    )
    return schema.render_queued(action)


@router.post(
    "/nodes/{uid}/actions/enslave_node",
    summary="Switch over all primaries of node",
    responses=error_responses(404, 406, 409),
)
async def switch_over_node(admin: Admin, session: WriteSession, uid: Uid) -> schema.Queued:
    """Switch all primaries of the node over to their replicas on other nodes. Required role: `admin`."""
    return schema.render_queued(await service.switch_over_primaries(session, uid, admin))


@router.post("/nodes/{uid}/actions/remove", responses=error_responses(404, 406, 409))
async def remove_node(
    admin: Admin, session: WriteSession, uid: Uid, body: RemovalRequest | None = None
) -> schema.Queued:
    """Remove a node from the cluster after its shards have moved to other nodes.

    A node that is down can be removed if each of its shards has a healthy copy on another node. Required role: `admin`.
    """
    return schema.render_queued(await service.remove(session, uid, admin))


@router.get("/nodes/{uid}/address_changes", summary="List address changes", responses=error_responses(404))
async def list_node_address_changes(
    _viewer: Viewer, session: WriteSession, uid: Uid, order: Literal["maintenance_on", "remove"]
) -> list[AddressChange]:
    """Return the addresses that clients would have to stop using after maintenance or removal of the node (extension).

    Nothing is changed.
    """
    return plans.render_changes(await service.address_changes(session, uid, order))


@router.get("/nodes/actions", response_model=schema.NodeActions, responses=error_responses())
async def list_all_actions(_viewer: Viewer, session: ReadSession) -> JSONResponse:
    """Return the running and past actions of all nodes, newest first."""
    node_actions = await actions.list_for_object(session, "node")
    return JSONResponse({"actions": [schema.render(action) for action in node_actions if action.name in schema.NAMES]})


@router.get("/nodes/{uid}/actions", response_model=schema.NodeActions, responses=error_responses(404))
async def list_actions(_viewer: Viewer, session: ReadSession, uid: Uid) -> JSONResponse:
    """Return the running and past actions of a node, newest first."""
    await _require_node(session, uid)
    node_actions = await actions.list_for_object(session, "node", uid)
    return JSONResponse({"actions": [schema.render(action) for action in node_actions if action.name in schema.NAMES]})


@router.get("/nodes/{uid}/actions/{action}", response_model=schema.NodeAction, responses=error_responses(404))
async def get_action(_viewer: Viewer, session: ReadSession, uid: Uid, action: NameInPath) -> JSONResponse:
    """Return the newest action with this name: `maintenance_on`, `maintenance_off`, `enslave_node`, `remove`, or `drill`."""
    return JSONResponse(schema.render(await _newest(session, uid, action)))


@router.delete("/nodes/{uid}/actions/{action}", response_model=schema.NodeAction, responses=error_responses(404, 409))
async def cancel_action(admin: Admin, session: WriteSession, uid: Uid, action: NameInPath) -> JSONResponse:
    """Cancel a running action, or delete the result of a finished one. Required role: `admin`."""
    action_row = await _newest(session, uid, action)
    if action_row.status in OPEN_STATUSES:
        await action_service.cancel(session, action_row, admin)
    else:
        await session.delete(action_row)
    return JSONResponse(schema.render(action_row))


@router.get("/nodes/{uid}/snapshots", response_model=list[schema.Snapshot], responses=error_responses(404))
async def list_snapshots(_admin: Admin, session: ReadSession, uid: Uid) -> JSONResponse:
    """Return the placement snapshots of a node, newest first. Required role: `admin`."""
    await _require_node(session, uid)
    return JSONResponse(
        [schema.render_snapshot(each) for each in await placement_snapshots.list_for_node(session, uid)]
    )


@router.post("/nodes/{uid}/snapshots/{name}", response_model=schema.Snapshot, responses=error_responses(404, 409))
async def create_snapshot(admin: Admin, session: WriteSession, uid: Uid, name: NameInPath) -> JSONResponse:
    """Store the current placement of the node's shards as a snapshot. Required role: `admin`."""
    return JSONResponse(schema.render_snapshot(await snapshot_service.create(session, uid, name, admin)))


@router.delete("/nodes/{uid}/snapshots/{name}", response_model=schema.Snapshot, responses=error_responses(404))
async def delete_snapshot(admin: Admin, session: WriteSession, uid: Uid, name: NameInPath) -> JSONResponse:
    """Delete a snapshot. Maintenance snapshots cannot be deleted (403); they are removed when maintenance ends.

    Required role: `admin`.
    """
    return JSONResponse(schema.render_snapshot(await snapshot_service.delete(session, uid, name, admin)))


async def _newest(session: Any, uid: int, name: str) -> Action:
    state_machine = schema.STATE_MACHINES.get(name)
    matching = await actions.list_for_object(session, "node", uid)
    newest = next((action for action in matching if action.name == state_machine), None)
    if newest is None:
        raise NotFound("not_found", f"Node {uid} does not have an action {name}.")
    return newest


async def _require_node(session: Any, uid: int) -> None:
    if await nodes.by_uid(session, uid) is None:
        raise NotFound("node_not_found", f"Node {uid} does not exist.")
