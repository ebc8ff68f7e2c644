"""Check that connections lead to the right PostgreSQL server: writable, and the one where the console holds its lock.

Behind a proxy or a virtual address, a failover changes the server of new connections, while open sessions stay at the previous one.
That server may be read-only, or still writable although it is no longer the primary.
"""

import asyncio
from typing import Any

from sqlalchemy import event, exc
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.ext.asyncio import AsyncEngine

IDENTITY = "pg_postmaster_start_time()::text"
"""SQL expression that identifies a server, in microseconds. It does not need privileges."""
READ_ONLY = "pg_is_in_recovery() OR current_setting('transaction_read_only')::bool"
READ_ONLY_SQLSTATE = "25006"


class WrongServer(exc.DisconnectionError):
    """A connection leads to a server that must not be used. A retry can succeed after the failover."""


class ServerCheck:
    """Refuses new connections to wrong servers, and drops all connections when a server has become read-only."""

    def __init__(self) -> None:
        self.identity: str | None = None
        """Identity of the server that holds the lock; None: any."""
        self.suspected = asyncio.Event()
        """Set when a connection indicates that the server has changed."""

    def install(self, engine: AsyncEngine) -> None:
        event.listen(engine.sync_engine, "connect", self._check)
        event.listen(engine.sync_engine, "handle_error", self._handle_error)

    def _check(self, connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        try:
            cursor.execute(f"SELECT {READ_ONLY}, {IDENTITY}")
            read_only, identity = cursor.fetchone()
        finally:
            cursor.close()
            connection.rollback()
        if read_only:
            error = "the PostgreSQL server is read-only: it is a standby, or it is being demoted"
        elif self.identity not in (None, identity):
            error = "the connection is to a different PostgreSQL server than the lock of this console"
        else:
            return
        self.suspected.set()
        connection.close()
        raise WrongServer(error)

    def _handle_error(self, context: ExceptionContext) -> None:
        if isinstance(context.original_exception, TimeoutError):
            context.is_disconnect = True  # to roll back would wait for the same server
        if getattr(context.original_exception, "sqlstate", None) == READ_ONLY_SQLSTATE:
            self.suspected.set()
            # SQLAlchemy then replaces this connection and all others of the pool before their next use.
            context.is_disconnect = True
