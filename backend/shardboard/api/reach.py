"""Letting in those whose role reaches some databases only (`resources` of a role): to what is about one of these databases, to what
is about none, and to what shows no others to them.

A handler that asks for none of these, but for `Viewer` or `Editor` of `api/deps.py`, refuses them.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Annotated, Any

from fastapi import Depends
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.api.deps import CurrentLogin, Principal, TheConsole, insist_on_role
from shardboard.api.parameters import Uid
from shardboard.services.users import EDITORS, LOG_VIEWERS, VIEWERS
from shardboard.state import benchmarks, shards

Find = Callable[[AsyncSession, int], Awaitable[int | None]]
"""The database of the object with that uid; None: there is none."""


def letting_in(roles: frozenset[str], find: Find | None = None) -> Any:
    """A dependency that lets in who has one of these management roles and reaches what `uid` in the path is."""

    async def anybody(login: CurrentLogin) -> Principal:
        insist_on_role(login.principal, roles)
        return login.principal

    if find is None:
        return Depends(anybody)

    async def check(login: CurrentLogin, console: TheConsole, uid: Uid) -> Principal:
        principal = login.principal
        insist_on_role(principal, roles)
        if principal.bdbs is not None:
            async with console.store.read() as session:
                bdb_uid = await find(session, uid)
            principal.insist_on_reaching(bdb_uid)
        return principal

    return Depends(check)


async def itself(_session: AsyncSession, uid: int) -> int:
    return uid


async def of_shard(session: AsyncSession, uid: int) -> int | None:
    shard = await shards.by_uid(session, uid)
    return shard.bdb_uid if shard is not None else None


async def of_run(session: AsyncSession, uid: int) -> int | None:
    run = await benchmarks.by_uid(session, uid)
    return run.bdb_uid if run is not None else None


AnyViewer = Annotated[Principal, letting_in(VIEWERS)]
"""The handler shows nothing of databases, or only of those that `reaches` is true of."""
AnyLogViewer = Annotated[Principal, letting_in(LOG_VIEWERS)]
AnyEditor = Annotated[Principal, letting_in(EDITORS)]
"""The handler insists on what it is about."""
BdbViewer = Annotated[Principal, letting_in(VIEWERS, itself)]
"""`uid` in the path is a database; so is a shard with the next two, and a benchmark with those after."""
BdbEditor = Annotated[Principal, letting_in(EDITORS, itself)]
ShardViewer = Annotated[Principal, letting_in(VIEWERS, of_shard)]
ShardEditor = Annotated[Principal, letting_in(EDITORS, of_shard)]
RunViewer = Annotated[Principal, letting_in(VIEWERS, of_run)]
RunEditor = Annotated[Principal, letting_in(EDITORS, of_run)]


async def insist_on_each(session: AsyncSession, principal: Principal, find: Find, uids: Iterable[int]) -> None:
    """For a call that names several."""
    if principal.bdbs is not None:
        for uid in uids:
            principal.insist_on_reaching(await find(session, uid))
