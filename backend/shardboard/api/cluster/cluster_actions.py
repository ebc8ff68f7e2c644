"""Endpoints of actions on the cluster: the change of the leading console."""

from typing import Annotated, Any

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer
from shardboard.api.http.dependencies import Admin, ReadSession, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.domain.cluster.actions import ActionStatus
from shardboard.errors import BadRequest, NotFound
from shardboard.services.cluster import consoles as service

router = ApiRouter(prefix="/v1", tags=["cluster"])

CHANGE_MASTER = "change_master"
ActionInPath = Annotated[str, Path(max_length=64)]


class ClusterAction(BaseModel):
    name: str
    status: str
    progress: float


class ClusterActions(BaseModel):
    actions: list[ClusterAction]


class ChangeMasterRequest(BaseModel):
    """Body of a request to change the leading console."""

    model_config = ConfigDict(strict=True)

    node_uid: str | int = Field(description="Uid of a node on whose machine a console runs.")


@router.get("/cluster/actions", responses=error_responses())
async def list_cluster_actions(_viewer: AnyViewer, session: ReadSession) -> ClusterActions:
    """Return `change_master` while a console was requested to become the leader."""
    return ClusterActions(actions=await _running(session))


@router.get("/cluster/actions/{action}", responses=error_responses(404))
async def get_cluster_action(_viewer: AnyViewer, session: ReadSession, action: ActionInPath) -> ClusterAction:
    """Return `change_master` while a console was requested to become the leader, otherwise 404."""
    running = await _running(session) if action == CHANGE_MASTER else []
    if not running:
        raise _not_running(action)
    return running[0]


@router.post("/cluster/actions/{action}", summary="Run cluster action", responses=error_responses(400, 404, 406, 409))
async def run_cluster_action(
    admin: Admin, session: WriteSession, action: ActionInPath, body: ChangeMasterRequest
) -> dict[str, Any]:
    """Run `change_master`: make the console that runs on the machine of a node the leader. `/v1/consoles` lists the consoles.

    Required role: `admin`.
    """
    if action != CHANGE_MASTER:
        raise BadRequest("bad_request", f"The only action is {CHANGE_MASTER}.", field="action")
    node_uid = str(body.node_uid)
    if not node_uid.isdecimal() or len(node_uid) > 10 or not 0 < int(node_uid) < 2**31:
        raise NotFound("node_not_found", f"Node {node_uid[:64]} does not exist.")
    await service.request_lead_of_node(session, int(node_uid), admin)
    return {}


@router.delete("/cluster/actions/{action}", responses=error_responses(404))
async def cancel_cluster_action(admin: Admin, session: WriteSession, action: ActionInPath) -> dict[str, Any]:
    """Cancel a `change_master` that has not taken effect yet. Required role: `admin`."""
    if action != CHANGE_MASTER or not await service.cancel_lead(session, admin):
        raise _not_running(action)
    return {}


async def _running(session: ReadSession) -> list[ClusterAction]:
    is_changing = await service.is_leader_changing(session)
    return [ClusterAction(name=CHANGE_MASTER, status=ActionStatus.RUNNING, progress=0.0)] if is_changing else []


def _not_running(action: str) -> NotFound:
    return NotFound("not_found", f"The action {action} is not running.")
