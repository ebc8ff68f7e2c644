"""Endpoint that checks the settings of a node's machine."""

from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer
from shardboard.api.http.dependencies import ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.errors import NotFound
from shardboard.queries.cluster import host_checks as service
from shardboard.schemas.cluster.host_checks import MachineCheck, render
from shardboard.state.cluster import nodes

router = ApiRouter(prefix="/v1", tags=["nodes"])


@router.get(
    "/nodes/{uid}/host",
    summary="Check host settings",
    response_model=list[MachineCheck],
    responses=error_responses(404),
)
async def list_host_checks(_viewer: AnyViewer, session: ReadSession, uid: Uid) -> JSONResponse:
    """Return the settings of the node's machine that affect latency or data safety. Unreadable settings are omitted."""
    node = await nodes.by_uid(session, uid)
    if node is None:
        raise NotFound("node_not_found", f"Node {uid} does not exist.")
    return JSONResponse([render(each) for each in (await service.checks(session, [node]))[uid]])
