"""Classification of store failures as transient or permanent.

Transient failures are a restarting server, a lost connection, a held lock or a full disk: a retry can succeed. A statement that the
store rejects (unknown column, value out of range, duplicate row) fails again.
"""

import errno
import socket
import sqlite3
from collections.abc import Iterator

import asyncpg
from sqlalchemy import exc

from shardboard.kit.tenure import LostLeadership

_SQLSTATES = (
    "08",  # connection failures
    "25006",  # read only: a standby that may be promoted
    "25P03",  # the server ended a session that was idle in a transaction for too long
    "40",  # rolled back because of another transaction
    "53",  # out of disk, memory or connections
    "55006",  # object in use
    "55P03",  # lock not available
    "57",  # server starting or stopping, or operator intervention
    "58",  # system error
)
_SQLITE = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
    }
)
_ERRNOS = frozenset(
    {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EIO,
        errno.EROFS,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENETDOWN,
        errno.ENETUNREACH,
        errno.EHOSTDOWN,
        errno.EHOSTUNREACH,
        errno.EADDRNOTAVAIL,
    }
)
_BROKEN = (asyncpg.InternalClientError, asyncpg.InvalidCachedStatementError)
"""The server has ended the session while a statement was being prepared, or another console has changed the schema."""
_ASYNCPG = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
_SESSION = (exc.TimeoutError, exc.DisconnectionError, exc.ResourceClosedError, exc.PendingRollbackError, LostLeadership)
"""No connection was available, the one in use was lost, or this console may not use it at the moment."""


def is_transient(error: BaseException) -> bool:
    """Return whether a retry may succeed."""
    if isinstance(error, exc.DBAPIError):
        return error.connection_invalidated or _is_transient_driver_error(error)
    if isinstance(error, _ASYNCPG):
        return _is_transient_asyncpg_error(error)
    if isinstance(error, OSError):
        return isinstance(error, ConnectionError | TimeoutError | socket.gaierror) or error.errno in _ERRNOS
    return isinstance(error, _SESSION)


def describe_error(error: BaseException) -> str:
    """Return the store's error message without statement and values, which can contain passwords."""
    message = str(error.orig if isinstance(error, exc.DBAPIError) else error).partition("\n")[0]
    if message.startswith("<class "):  # format in which SQLAlchemy quotes asyncpg
        message = message.partition(">: ")[2]
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _is_transient_driver_error(error: exc.DBAPIError) -> bool:
    for cause in _causes(error.orig):
        if isinstance(cause, _ASYNCPG):
            return _is_transient_asyncpg_error(cause)
        if isinstance(cause, OSError):
            return True
        code = getattr(cause, "sqlite_errorcode", None)
        if code is not None:
            # A transaction that SQLite has rolled back itself, because of a full disk, can no longer be ended.
            return code & 0xFF in _SQLITE or (code == sqlite3.SQLITE_ERROR and "transaction" in str(cause))
    return isinstance(error, exc.OperationalError | exc.InterfaceError)


def _is_transient_asyncpg_error(error: BaseException) -> bool:
    if isinstance(error, _BROKEN):
        return True
    if isinstance(error, asyncpg.PostgresError):
        return str(error.sqlstate or "").startswith(_SQLSTATES)
    return not isinstance(error, ValueError)  # ValueError: a value that does not fit its column


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
