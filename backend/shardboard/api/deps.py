"""Dependencies of handlers: the console, a transaction, and the authenticated user.

`Tx` commits before the response is sent (scope "function"), so a client never gets a success reply for an uncommitted change.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.api import credentials
from shardboard.api.credentials import Login
from shardboard.console import Console
from shardboard.errors import ApiError, Forbidden
from shardboard.services.users import ADMINS, EDITORS, USER_ADMINS, VIEWERS, Principal

__all__ = [
    "Admin",
    "CurrentLogin",
    "Editor",
    "Principal",
    "Reader",
    "TheConsole",
    "Tx",
    "UserManager",
    "Viewer",
    "get_console",
    "insist_on_role",
    "requires",
]


async def get_console(request: Request) -> Console:
    console: Console = request.app.state.console
    return console


TheConsole = Annotated[Console, Depends(get_console)]


async def evidence(request: Request, console: TheConsole) -> Login | ApiError:
    """Return the login of the request, or the reason why it has none. Only handlers that need a login raise the reason."""
    return await credentials.try_prove(request, console)


Evidence = Annotated[Login | ApiError, Depends(evidence)]


async def transaction(console: TheConsole, _evidence: Evidence) -> AsyncIterator[AsyncSession]:
    """Open one transaction per request, after the credentials: verifying them takes time and can write to the store."""
    async with console.store.begin() as session:
        yield session


async def reading(console: TheConsole, _evidence: Evidence) -> AsyncIterator[AsyncSession]:
    async with console.store.read() as session:
        yield session


Tx = Annotated[AsyncSession, Depends(transaction, scope="function")]
Reader = Annotated[AsyncSession, Depends(reading, scope="function")]


async def current_login(proof: Evidence) -> Login:
    if isinstance(proof, ApiError):
        raise proof
    return proof


CurrentLogin = Annotated[Login, Depends(current_login)]


def insist_on_role(principal: Principal, roles: frozenset[str]) -> None:
    if principal.role not in roles:
        raise Forbidden("unauthorized_action", f"The role {principal.role} does not allow this request.")


def requires(roles: frozenset[str]) -> Callable[[Login], Awaitable[Principal]]:
    """Return a dependency that admits users with one of these management roles and access to all databases.

    The dependencies of `api/reach.py` also admit users whose role is limited to some databases.
    """

    async def check(login: CurrentLogin) -> Principal:
        insist_on_role(login.principal, roles)
        login.principal.insist_on_reaching_all()
        return login.principal

    return check


Viewer = Annotated[Principal, Depends(requires(VIEWERS))]
Editor = Annotated[Principal, Depends(requires(EDITORS))]
Admin = Annotated[Principal, Depends(requires(ADMINS))]
UserManager = Annotated[Principal, Depends(requires(USER_ADMINS))]
