"""Endpoints of the initial setup.

As in the Redis Enterprise REST API, `create_cluster` sets the cluster name and replaces the initial administrator. Unlike there, it
requires the initial administrator's password. The address of a client does not prove that it is local: a reverse proxy on the
console's machine makes every client look local.
"""

from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from shardboard.api.deps import Evidence, Principal, Reader, TheConsole, Tx, insist_on_role
from shardboard.api.replies import errors
from shardboard.db import take_back
from shardboard.errors import ApiError, NotAcceptable, Unauthorized
from shardboard.queries import machine
from shardboard.schemas import bootstrap as schema
from shardboard.services import cluster as service
from shardboard.services.users import ADMINS
from shardboard.state import cluster

router = APIRouter(tags=["cluster"])

UNPROVEN = (
    "Send the user name and password of the initial administrator (HTTP Basic). The console prints the generated password once, at "
    "its first start. `shardboard reset-admin-password` sets a new one."
)


async def creator(proof: Evidence) -> Principal:
    """Return the administrator who creates the cluster."""
    if isinstance(proof, ApiError):
        raise Unauthorized(proof.code, UNPROVEN) if proof.code == "unauthorized" else proof
    insist_on_role(proof.principal, ADMINS)
    return proof.principal


Creator = Annotated[Principal, Depends(creator)]


@router.get("/bootstrap", response_model=schema.BootstrapState, responses=errors())
async def get_bootstrap(proof: Evidence, session: Reader, console: TheConsole) -> JSONResponse:
    """Return the state of the setup. Authenticated users also get a description of the console's machine."""
    row = await cluster.load(session)
    described = {}
    if not isinstance(proof, ApiError):
        described = await run_in_threadpool(machine.describe, str(console.settings.state_dir))
    return JSONResponse(schema.render(row, described))


@router.post("/bootstrap/create_cluster", response_model=schema.BootstrapState, responses=errors(406, 409))
async def create_cluster(admin: Creator, session: Tx, body: schema.CreateCluster) -> JSONResponse:
    """Set the cluster name and replace the initial administrator. Requires the password of the initial administrator, which the
    console prints at its first start.

    Returns 409 if the cluster exists already: after this request, if the administrator's password was configured, if a user has
    signed in, or if a node has joined. Required role: `admin`.
    """
    name, credentials = body.cluster.name, body.credentials
    row = await service.create(session, name, credentials.username, credentials.password, admin.username)
    return JSONResponse(schema.render(row, {}))


@router.post(
    "/bootstrap", summary="Run bootstrap action", response_model=schema.BootstrapState, responses=errors(406, 409)
)
async def bootstrap(admin: Creator, session: Tx, body: schema.Bootstrap) -> JSONResponse:
    """Run the action that the body names. Only `create_cluster` is supported. Required role: `admin`."""
    if body.action != "create_cluster":
        sentence = "`action` must be `create_cluster`. To add a node, run `shardboard agent --join` on it."
        raise NotAcceptable("config_error", sentence, field="action")
    return await create_cluster(admin, session, body)


@router.post(
    "/bootstrap/validate/{action}",
    summary="Validate bootstrap action",
    response_model=schema.BootstrapState,
    responses=errors(406, 409),
)
async def validate_bootstrap(admin: Creator, session: Tx, action: str, body: schema.CreateCluster) -> JSONResponse:
    """Validate an action without running it. Required role: `admin`."""
    found = await bootstrap(admin, session, schema.Bootstrap(action=action, **body.model_dump()))
    await take_back(session)
    return found
