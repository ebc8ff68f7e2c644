"""Receives the changes of other consoles on the same PostgreSQL, and watches the server.

Notifications are a hint: those sent while the session is broken are lost. Therefore, all listeners of the bus read everything
again when it is back. The same session detects that the server was demoted, replaced, or does not respond. Then all connections are
closed.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

import asyncpg
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.store.change_notifications import CHANNEL, decode
from shardboard.store.db import Store
from shardboard.store.postgres_connection import PostgresConnector
from shardboard.store.server_check import IDENTITY, READ_ONLY, WrongServer

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
RESPONSE_SECONDS = 3.0
"""Time after which a server that does not respond is given up."""


class ChangeReceiver:
    """Publishes the changes of other consoles on the bus."""

    def __init__(self, store: Store, newest_event: Callable[[AsyncSession], Awaitable[int]]) -> None:
        self._store = store
        self._newest_event = newest_event
        self._identity = ""
        """Identity of the server of the latest session."""

    async def run(self) -> None:
        """Receive until cancelled. Raises a transient error if the session is lost; the next call connects again."""
        connector = self._store.connector
        if connector is None:  # SQLite has one console
            await asyncio.Event().wait()
            return
        connection = await connector.connect(command_timeout=RESPONSE_SECONDS)
        try:
            await self._follow(connection, connector)
        except (TimeoutError, WrongServer):  # otherwise, other connections may be usable
            connector.abort_all()
            raise
        finally:
            connection.terminate()

    async def _follow(self, connection: asyncpg.Connection, connector: PostgresConnector) -> None:
        lost = asyncio.Event()
        connection.add_termination_listener(lambda _: lost.set())
        await connection.add_listener(CHANNEL, self._receive)
        identity = await self._check_server(connection)
        if self._identity not in ("", identity):
            log.warning("the PostgreSQL server was replaced")
            connector.abort_all(keep=connection)
        self._identity = identity
        async with self._store.read() as session:
            self._store.raise_state_id(await self._newest_event(session))
        self._store.bus.invalidate("change")
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await lost.wait()
                raise ConnectionError("the session that receives changes was lost")
            await self._check_server(connection)

    async def _check_server(self, connection: asyncpg.Connection) -> str:
        """Return the identity of the server. Raises WrongServer if it is read-only, and TimeoutError if it does not respond."""
        try:
            row = await connection.fetchrow(f"SELECT {READ_ONLY} AS read_only, {IDENTITY} AS identity")
        except TimeoutError:
            self._store.server.suspected.set()
            raise TimeoutError(f"the PostgreSQL server did not respond within {RESPONSE_SECONDS:g} s") from None
        if row["read_only"]:
            self._store.server.suspected.set()
            raise WrongServer("the PostgreSQL server is read-only: it is being demoted")
        return str(row["identity"])

    def _receive(self, _connection: object, _pid: int, _channel: str, message: object) -> None:
        notification = decode(str(message))
        if notification.console_id == self._store.console_id:
            return
        self._store.raise_state_id(notification.newest_event)
        if notification.changes is None:
            self._store.bus.invalidate("change")
            return
        for change in notification.changes:
            self._store.bus.publish("change", change)
