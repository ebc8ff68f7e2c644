"""Endpoints of the initial setup.

As in the Redis Enterprise REST API, `create_cluster` sets the cluster name and replaces the initial administrator. Unlike there, it
requires the initial administrator's password. The address of a client does not prove that it is local: a reverse proxy on the
console's machine makes every client look local.
"""

from typing import Annotated

from fastapi import Depends
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import (
    ConsoleDep,
    LoginOrError,
    Principal,
    ReadSession,
    WriteSession,
    check_principal_role,
)
from shardboard.api.http.error_replies import error_responses
from shardboard.errors import ApiError, NotAcceptable, Unauthorized
from shardboard.queries.cluster import bootstrap as machine
from shardboard.schemas.cluster import bootstrap as schema
from shardboard.services.access.authorization import ADMINS
from shardboard.services.cluster import cluster as service
from shardboard.state.cluster import cluster
from shardboard.store.db import roll_back

router = ApiRouter(prefix="/v1", tags=["cluster"])

CREDENTIALS_REQUIRED = (
    "Send the username and password of the initial administrator (HTTP Basic). The console prints the generated password once, at "
    "its first start. `shardboard reset-admin-password` sets a new one."
)

_OTHER_ACTIONS = {
    "join_cluster": "Nodes join with their agent: create a token with `POST /v1/join_tokens`, and run `shardboard agent --join`.",
    "recover_cluster": "Run `shardboard restore-console` with a backup of the console, or `shardboard recover-console` with the "
    "copies at the agents.",
}
_UNKNOWN_ACTION = "`action` must be `create_cluster`."


async def require_initial_admin(login_or_error: LoginOrError) -> Principal:
    """Return the administrator who creates the cluster."""
    if isinstance(login_or_error, ApiError):
        raise (
            Unauthorized(login_or_error.code, CREDENTIALS_REQUIRED)
            if login_or_error.code == "unauthorized"
            else login_or_error
        )
    check_principal_role(login_or_error.principal, ADMINS)
    return login_or_error.principal


Creator = Annotated[Principal, Depends(require_initial_admin)]


@router.get("/bootstrap", response_model=schema.BootstrapState, responses=error_responses())
async def get_bootstrap(login_or_error: LoginOrError, session: ReadSession, console: ConsoleDep) -> JSONResponse:
    """Return the state of the setup. Authenticated users also get a description of the console's machine."""
    row = await cluster.load(session)
    info = {}
    if not isinstance(login_or_error, ApiError):
        info = await run_in_threadpool(machine.describe, str(console.settings.state_dir))
    return JSONResponse(schema.render(row, info))


@router.post("/bootstrap/create_cluster", response_model=schema.BootstrapState, responses=error_responses(406, 409))
async def create_cluster(admin: Creator, session: WriteSession, body: schema.CreateCluster) -> JSONResponse:
    """Set the cluster name and replace the initial administrator. Requires the password of the initial administrator, which the
    console prints at its first start.

    Returns 409 if the cluster already exists: after this request, if the administrator's password was configured, if a user has
    signed in, or if a node has joined. Required role: `admin`.
    """
    name, credentials = body.cluster.name, body.credentials
    row = await service.create(session, name, credentials.username, credentials.password, admin.username)
    return JSONResponse(schema.render(row, {}))


@router.post(
    "/bootstrap",
    summary="Run bootstrap action",
    response_model=schema.BootstrapState,
    responses=error_responses(406, 409),
)
async def bootstrap(admin: Creator, session: WriteSession, body: schema.Bootstrap) -> JSONResponse:
    """Run the action that the body names. Actions other than `create_cluster` return 406 with what to do instead.

    Required role: `admin`.
    """
    if body.action != "create_cluster":
        raise NotAcceptable("config_error", _OTHER_ACTIONS.get(body.action, _UNKNOWN_ACTION), field="action")
    return await create_cluster(admin, session, body)


@router.post("/bootstrap/join_cluster", summary="Join cluster", responses=error_responses(406))
async def join_cluster(_admin: Creator) -> None:
    """Return 406 `config_error`: a node joins with its agent, not with its console. Required role: `admin`."""
    raise NotAcceptable("config_error", _OTHER_ACTIONS["join_cluster"])


@router.post("/bootstrap/recover_cluster", summary="Recover cluster", responses=error_responses(406))
async def recover_cluster(_admin: Creator) -> None:
    """Return 406 `config_error`: a lost console is recovered with the command line. Required role: `admin`."""
    raise NotAcceptable("config_error", _OTHER_ACTIONS["recover_cluster"])


@router.post(
    "/bootstrap/validate/{action}",
    summary="Validate bootstrap action",
    response_model=schema.BootstrapState,
    responses=error_responses(406, 409),
)
async def validate_bootstrap(
    admin: Creator, session: WriteSession, action: str, body: schema.CreateCluster
) -> JSONResponse:
    """Validate an action without running it. Required role: `admin`."""
    errors = await bootstrap(admin, session, schema.Bootstrap(action=action, **body.model_dump()))
    await roll_back(session)
    return errors
