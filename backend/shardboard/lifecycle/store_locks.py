"""Advisory locks of the consoles that use a PostgreSQL store. They belong to a session, so they end with the console.

* `KEY`: shared by each running console. Exclusive for commands that need all consoles stopped, and for consoles of early releases.
* `RELEASES` plus the number of a release: shared by its running consoles.
* `MIGRATION`: exclusive for a console that migrates the store. Shared by one that joins, which sees the schema before or after.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from shardboard.contract.protocol import PROTOCOL

KEY = 0x5368617264626F72
MIGRATION = KEY + 1
RELEASES = KEY + 0x100
UNNUMBERED_RELEASE = 3
"""Number of the release whose consoles only hold `KEY`."""

# PostgreSQL lists a key of 64 bits as two halves.
_RUNNING = f"""
    WITH locks AS (
        SELECT pid, (classid::bigint << 32) + objid::bigint AS key FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 1 AND granted
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    )
    SELECT min(coalesce(release.key - {RELEASES}, {UNNUMBERED_RELEASE})) FROM locks AS running
    LEFT JOIN locks AS release ON release.pid = running.pid AND release.key BETWEEN {RELEASES} AND {RELEASES + 0xFFFF}
    WHERE running.key = {KEY}
"""  # noqa: S608 - only constants
"""Query of the oldest release whose consoles are running."""


class StoreLocked(ConnectionError):
    """Another console is migrating the store, or one of a release that is too old is using it."""


@asynccontextmanager
async def joining(connection: AsyncConnection) -> AsyncIterator[None]:
    """Take the locks of a running console. No console migrates the store during the block. Raises StoreLocked."""
    if not await _call(connection, "pg_try_advisory_lock_shared", MIGRATION):
        raise StoreLocked("Another console is migrating the store. Wait until it is running.")
    try:
        if not await _call(connection, "pg_try_advisory_lock_shared", KEY):
            raise StoreLocked(
                "A console of an earlier release is running on this PostgreSQL database, or a command has locked it. "
                "Stop all consoles of the earlier release, and wait until the command has ended."
            )
        await _call(connection, "pg_try_advisory_lock_shared", RELEASES + PROTOCOL)
        yield
    finally:
        await _call(connection, "pg_advisory_unlock_shared", MIGRATION)


async def start_migration(connection: AsyncConnection) -> None:
    """Exclude other consoles that join or migrate, until `end_migration` or the end of the session. Raises StoreLocked, also while
    consoles run that could not use the migrated store.
    """
    if not await _call(connection, "pg_try_advisory_lock", MIGRATION):
        raise StoreLocked("Another console is starting or migrating the store. Wait until it is running.")
    if await scalar(connection, _RUNNING) < PROTOCOL - 1:
        raise StoreLocked(
            "This release must migrate the store, and consoles that are more than one release older are running. Upgrade them to "
            "the release before this one first, or stop them."
        )


async def end_migration(connection: AsyncConnection) -> None:
    await _call(connection, "pg_advisory_unlock", MIGRATION)


async def _call(connection: AsyncConnection, function: str, key: int) -> bool:
    return bool(await scalar(connection, f"SELECT {function}({key})"))


async def scalar(connection: AsyncConnection, statement: str) -> Any:
    """Return the value that a statement returns."""
    return (await connection.exec_driver_sql(statement)).scalar_one()
