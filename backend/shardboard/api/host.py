"""How a node's machine is set up, over HTTP."""

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from shardboard.api.deps import Reader
from shardboard.api.parameters import Uid
from shardboard.api.reach import AnyViewer
from shardboard.api.replies import errors
from shardboard.errors import NotFound
from shardboard.queries import hosts as service
from shardboard.state import nodes

router = APIRouter(tags=["nodes"])


class Check(BaseModel):
    """One setting of the machine."""

    name: str
    value: str
    good: bool
    costs: str = Field(description="What a wrong value costs.")
    mends: str = Field(description="The line that mends it.")


@router.get("/nodes/{uid}/host", response_model=list[Check], responses=errors(404))
async def host_checks(_viewer: AnyViewer, session: Reader, uid: Uid) -> JSONResponse:
    """Settings of the machine that cost latency or data when they are wrong; good ones included, what cannot be read left out."""
    node = await nodes.by_uid(session, uid)
    if node is None:
        raise NotFound("node_not_found", f"There is no node {uid}.")
    return JSONResponse((await service.checks(session, [node]))[uid])
