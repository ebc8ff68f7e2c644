"""Authorization dependencies for users whose role may be limited to some databases (`resources` of a role).

They admit such users to objects of their databases, to objects that do not belong to a database, and to lists that the handler
filters. A handler that uses `Viewer` or `Editor` of `api/http/dependencies.py` instead rejects these users.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Annotated, Any

from fastapi import Depends
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.api.http.dependencies import ConsoleDep, CurrentLogin, Principal, check_principal_role
from shardboard.api.http.parameters import Uid
from shardboard.services.access.authorization import EDITORS, LOG_VIEWERS, VIEWERS
from shardboard.state.benchmarks import benchmark_runs
from shardboard.state.data import backups, restores
from shardboard.state.databases import shards

FindDatabase = Callable[[AsyncSession, int], Awaitable[int | None]]
"""Returns the uid of the database that an object belongs to; None if the object does not exist."""


def require_role(roles: frozenset[str], find: FindDatabase | None = None) -> Any:
    """Return a dependency that requires one of these roles, and access to the database of the object `uid` in the path."""

    async def check_role(login: CurrentLogin) -> Principal:
        check_principal_role(login.principal, roles)
        return login.principal

    if find is None:
        return Depends(check_role)

    async def check(login: CurrentLogin, console: ConsoleDep, uid: Uid) -> Principal:
        principal = login.principal
        check_principal_role(principal, roles)
        if principal.bdbs is not None:
            async with console.store.read() as session:
                bdb_uid = await find(session, uid)
            principal.require_database_access(bdb_uid)
        return principal

    return Depends(check)


async def database_of_bdb(_session: AsyncSession, uid: int) -> int:
    return uid


async def database_of_shard(session: AsyncSession, uid: int) -> int | None:
    shard = await shards.by_uid(session, uid)
    return shard.bdb_uid if shard is not None else None


async def database_of_run(session: AsyncSession, uid: int) -> int | None:
    run = await benchmark_runs.by_uid(session, uid)
    return run.bdb_uid if run is not None else None


async def database_of_backup(session: AsyncSession, uid: int) -> int | None:
    backup = await backups.by_uid(session, uid)
    return backup.bdb_uid if backup is not None else None


async def database_of_restore(session: AsyncSession, uid: int) -> int | None:
    restore = await restores.by_uid(session, uid)
    return restore.bdb_uid if restore is not None else None


AnyViewer = Annotated[Principal, require_role(VIEWERS)]
"""For handlers that return no data of databases, or filter it with `can_access_database`."""
AnyLogViewer = Annotated[Principal, require_role(LOG_VIEWERS)]
AnyEditor = Annotated[Principal, require_role(EDITORS)]
"""For handlers that check the access to databases themselves."""
BdbViewer = Annotated[Principal, require_role(VIEWERS, database_of_bdb)]
"""The path parameter `uid` is a database. For `Shard…` it is a shard, for `Run…` a benchmark run, and so on."""
BdbEditor = Annotated[Principal, require_role(EDITORS, database_of_bdb)]
ShardViewer = Annotated[Principal, require_role(VIEWERS, database_of_shard)]
ShardEditor = Annotated[Principal, require_role(EDITORS, database_of_shard)]
RunViewer = Annotated[Principal, require_role(VIEWERS, database_of_run)]
RunEditor = Annotated[Principal, require_role(EDITORS, database_of_run)]
BackupViewer = Annotated[Principal, require_role(VIEWERS, database_of_backup)]
BackupEditor = Annotated[Principal, require_role(EDITORS, database_of_backup)]
RestoreViewer = Annotated[Principal, require_role(VIEWERS, database_of_restore)]


async def require_access_to_each(
    session: AsyncSession, principal: Principal, find: FindDatabase, uids: Iterable[int]
) -> None:
    """Require access to the databases of all objects that a request names."""
    if principal.bdbs is not None:
        for uid in uids:
            principal.require_database_access(await find(session, uid))
