"""First set-up over HTTP.

Until the cluster is created, a script on the console's own machine needs no login, as in the reference. A request that
came through a proxy, or under a name that is not this machine's, does not count as local: a web page in a local browser
must not be able to create clusters.
"""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from shardboard.api import audited
from shardboard.api.deps import Evidence, Reader, TheConsole, Tx
from shardboard.api.locality import is_local, is_loopback
from shardboard.api.replies import errors
from shardboard.db import take_back
from shardboard.errors import ApiError, Forbidden, NotAcceptable
from shardboard.queries import machine
from shardboard.schemas import bootstrap as schema
from shardboard.services import cluster as service
from shardboard.services.users import ADMINS
from shardboard.state import cluster

router = APIRouter(tags=["cluster"])

LOCAL = "local set-up"


async def starter(request: Request, evidence: Evidence) -> str:
    """Name of who may create the cluster: an administrator, or anybody on this machine, also with the login to be made."""
    if not isinstance(evidence, ApiError):
        if evidence.principal.role not in ADMINS:
            raise Forbidden("unauthorized_action", f"The role {evidence.principal.role} does not allow this.")
        return evidence.principal.username
    if not _is_local(request):
        raise evidence
    audited.claimed(LOCAL)
    return LOCAL


Starter = Annotated[str, Depends(starter)]


@router.get("/bootstrap", response_model=schema.BootstrapState, responses=errors())
async def get_bootstrap(evidence: Evidence, session: Reader, console: TheConsole, request: Request) -> JSONResponse:
    """How far the set-up is. The machine is described to users, and to local callers until the cluster exists."""
    row = await cluster.load(session)
    known = not isinstance(evidence, ApiError)
    described = {}
    if known or (row.bootstrap_state == "idle" and _is_local(request)):
        described = await run_in_threadpool(machine.describe, str(console.settings.state_dir))
    return JSONResponse(schema.render(row, described))


@router.post("/bootstrap/create_cluster", response_model=schema.BootstrapState, responses=errors(406, 409))
async def create_cluster(who: Starter, session: Tx, body: schema.CreateCluster) -> JSONResponse:
    """Name the cluster and set its administrator."""
    name, credentials = body.cluster.name, body.credentials
    row = await service.create(session, name, credentials.username, credentials.password, who)
    return JSONResponse(schema.render(row, {}))


@router.post("/bootstrap", response_model=schema.BootstrapState, responses=errors(406, 409))
async def bootstrap(who: Starter, session: Tx, body: schema.Bootstrap) -> JSONResponse:
    """The same with the action in the body."""
    if body.action != "create_cluster":
        sentence = "Only create_cluster is possible here; nodes join with `shardboard agent --join`."
        raise NotAcceptable("config_error", sentence, field="action")
    return await create_cluster(who, session, body)


@router.post("/bootstrap/validate/{action}", response_model=schema.BootstrapState, responses=errors(406, 409))
async def validate_bootstrap(who: Starter, session: Tx, action: str, body: schema.CreateCluster) -> JSONResponse:
    """Whether the action could be done; nothing is done."""
    found = await bootstrap(who, session, schema.Bootstrap(action=action, **body.model_dump()))
    await take_back(session)
    return found


def _is_local(request: Request) -> bool:
    host = request.url.hostname
    return is_local(request) and (host == "localhost" or is_loopback(host))
