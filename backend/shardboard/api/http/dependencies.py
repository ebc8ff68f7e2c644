"""Dependencies of handlers: the console, a transaction, and the authenticated user.

`WriteSession` commits before the response is sent (scope "function"), so a client never gets a success reply for an uncommitted
change.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.api.http import request_bodies
from shardboard.api.http.credentials import Login
from shardboard.api.http.idempotency import IdempotentRequestDep, executing, replay_or_start
from shardboard.api.http.object_versions import read_version, require_match
from shardboard.api.http.parameters import DryRun
from shardboard.console import Console
from shardboard.errors import ApiError, Forbidden
from shardboard.services.access.authorization import ADMINS, EDITORS, USER_ADMINS, VIEWERS, Principal
from shardboard.store.db import roll_back

__all__ = [
    "Admin",
    "ConsoleDep",
    "CurrentLogin",
    "Editor",
    "Principal",
    "ReadSession",
    "UserManager",
    "Viewer",
    "WriteSession",
    "WriteSessionWithoutDryRun",
    "check_principal_role",
    "get_console",
    "require_full_access",
]


async def get_console(request: Request) -> Console:
    console: Console = request.app.state.console
    return console


ConsoleDep = Annotated[Console, Depends(get_console)]


async def login_or_error(request: Request) -> Login | ApiError:
    """Return the login of the request, or the reason why it has none. Only handlers that need a login raise the reason."""
    return await request_bodies.authenticate_once(request)


LoginOrError = Annotated[Login | ApiError, Depends(login_or_error)]


async def write_session(
    request: Request,
    console: ConsoleDep,
    _login_or_error: LoginOrError,
    dry_run: DryRun,
    repeatable: IdempotentRequestDep,
) -> AsyncIterator[AsyncSession]:
    """Open one transaction per request, after the credentials: verifying them takes time and can write to the store.

    A request with an idempotency key that was executed before gets its stored reply. A request for an
    outdated version of the object is rejected.

    A dry run is executed completely and then rolled back. Handlers that also change something outside of the store need
    `write_session_without_dry_run`, or handle `DryRun` themselves.
    """
    with executing(console.store, repeatable):
        async with console.store.begin() as session:
            await replay_or_start(request.scope, session, repeatable)
            await require_match(request, session)
            yield session
            if dry_run:
                await roll_back(session)


async def write_session_without_dry_run(
    console: ConsoleDep, _login_or_error: LoginOrError
) -> AsyncIterator[AsyncSession]:
    """Open a transaction of a request that changes something outside of the store, or whose reply contains new secrets."""
    async with console.store.begin() as session:
        yield session


async def read_session(
    request: Request, console: ConsoleDep, login_or_error: LoginOrError
) -> AsyncIterator[AsyncSession]:
    async with console.store.read() as session:
        if not isinstance(login_or_error, ApiError):
            await read_version(request, session)
        yield session


WriteSession = Annotated[AsyncSession, Depends(write_session, scope="function")]
WriteSessionWithoutDryRun = Annotated[AsyncSession, Depends(write_session_without_dry_run, scope="function")]
ReadSession = Annotated[AsyncSession, Depends(read_session, scope="function")]


async def current_login(login_or_error: LoginOrError) -> Login:
    if isinstance(login_or_error, ApiError):
        raise login_or_error
    return login_or_error


CurrentLogin = Annotated[Login, Depends(current_login)]


def check_principal_role(principal: Principal, roles: frozenset[str]) -> None:
    if principal.role not in roles:
        raise Forbidden("unauthorized_action", f"The role {principal.role} does not allow this request.")


def require_full_access(roles: frozenset[str]) -> Callable[[Login], Awaitable[Principal]]:
    """Return a dependency that admits users with one of these management roles and access to all databases.

    The dependencies of `api/http/database_scope.py` also admit users whose role is limited to some databases.
    """

    async def check(login: CurrentLogin) -> Principal:
        check_principal_role(login.principal, roles)
        login.principal.require_cluster_access()
        return login.principal

    return check


Viewer = Annotated[Principal, Depends(require_full_access(VIEWERS))]
Editor = Annotated[Principal, Depends(require_full_access(EDITORS))]
Admin = Annotated[Principal, Depends(require_full_access(ADMINS))]
UserManager = Annotated[Principal, Depends(require_full_access(USER_ADMINS))]
