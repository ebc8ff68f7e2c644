"""Endpoints that check the health and the setup of nodes."""

from collections.abc import Sequence
from typing import Any

from fastapi.responses import JSONResponse
from pydantic import BaseModel

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer
from shardboard.api.http.dependencies import ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lookups import get_node_or_404
from shardboard.api.http.parameters import Uid
from shardboard.contract import HostCheck
from shardboard.queries.cluster import host_checks
from shardboard.schemas.optional_fields import OptionalStr, without_none
from shardboard.state.cluster import nodes
from shardboard.state.cluster.nodes import Node

router = ApiRouter(prefix="/v1", tags=["nodes"])


class NodeResult(BaseModel):
    node_uid: int
    result: bool
    error: OptionalStr


class ClusterNodeResult(BaseModel):
    """Result of one node. `node_uid` is text here, as in the Redis Enterprise REST API."""

    node_uid: str
    result: bool
    error: OptionalStr


class ClusterResult(BaseModel):
    cluster_test_result: bool
    nodes: list[ClusterNodeResult]


@router.get("/cluster/check", response_model=ClusterResult, responses=error_responses())
async def check_cluster(_viewer: AnyViewer, session: ReadSession) -> JSONResponse:
    """Check all nodes: whether the agent is reachable, the proxy runs, and the machine is configured correctly. The
    response contains the first problem of each node.
    """
    machines = await nodes.list_all(session)
    settings = await host_checks.checks(session, machines)
    checks = [_result(node, settings[node.uid]) for node in machines]
    rendered_checks = [{**each, "node_uid": str(each["node_uid"])} for each in checks]
    return JSONResponse({"cluster_test_result": all(each["result"] for each in checks), "nodes": rendered_checks})


@router.get("/nodes/check/{uid}", response_model=NodeResult, responses=error_responses(404))
async def check_node(_viewer: AnyViewer, session: ReadSession, uid: Uid) -> JSONResponse:
    """Check a node in the same way as `/v1/cluster/check`. `/v1/nodes/{uid}/host` returns all settings of its machine."""
    node = await get_node_or_404(session, uid)
    return JSONResponse(_result(node, (await host_checks.checks(session, [node]))[uid]))


def _result(node: Node, settings: Sequence[HostCheck]) -> dict[str, Any]:
    error = next(host_checks.problems(node, settings), None)
    return {"node_uid": node.uid, "result": error is None, **without_none(error=error)}
