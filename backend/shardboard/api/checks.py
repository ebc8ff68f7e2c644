"""Whether nodes are as they should be, in one look."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from shardboard.api.deps import Reader
from shardboard.api.found import node_of
from shardboard.api.parameters import Uid
from shardboard.api.reach import AnyViewer
from shardboard.api.replies import errors
from shardboard.queries import hosts
from shardboard.schemas.absent import OptionalStr, present
from shardboard.state import nodes
from shardboard.state.nodes import Node

router = APIRouter(tags=["nodes"])


class NodeResult(BaseModel):
    node_uid: int
    result: bool
    error: OptionalStr


class NodeOfCluster(BaseModel):
    """Here the uid is text, as in the REST reference."""

    node_uid: str
    result: bool
    error: OptionalStr


class ClusterResult(BaseModel):
    cluster_test_result: bool
    nodes: list[NodeOfCluster]


@router.get("/cluster/check", response_model=ClusterResult, responses=errors())
async def check_cluster(_viewer: AnyViewer, session: Reader) -> JSONResponse:
    """All nodes: is each reached, does its proxy run, is its machine set up well; of each the first fault that was found."""
    machines = await nodes.every(session)
    settings = await hosts.checks(session, machines)
    found = [_result(node, settings[node.uid]) for node in machines]
    shown = [{**each, "node_uid": str(each["node_uid"])} for each in found]
    return JSONResponse({"cluster_test_result": all(each["result"] for each in found), "nodes": shown})


@router.get("/nodes/check/{uid}", response_model=NodeResult, responses=errors(404))
async def check_node(_viewer: AnyViewer, session: Reader, uid: Uid) -> JSONResponse:
    """One node, as `/v1/cluster/check`. `/v1/nodes/{uid}/host` lists every setting of its machine."""
    node = await node_of(session, uid)
    return JSONResponse(_result(node, (await hosts.checks(session, [node]))[uid]))


def _result(node: Node, settings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    error = next(_faults(node, settings), None)
    return {"node_uid": node.uid, "result": error is None, **present(error=error)}


def _faults(node: Node, settings: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if node.health == "down":
        yield "The console does not reach the node's agent."
    if node.proxy.get("state") == "died":  # one that has nothing to serve does not run, either
        yield "The node's proxy does not run."
    for setting in settings:
        if not setting["good"]:
            yield f"{setting['name']} is {setting['value']}: {setting['costs']} {setting['mends']}"
