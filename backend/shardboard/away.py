"""Whether a failure means that the store is away for a moment, or that it was asked for something it will never do.

Away is a server that restarts, a connection that broke, a lock that somebody holds, a full disk: whoever waits is served. A
statement that the store refuses (no such column, a value out of range, a row that exists already) is refused again in a second.
"""

import errno
import socket
import sqlite3
from collections.abc import Iterator

import asyncpg
from sqlalchemy import exc

_SQLSTATES = (
    "08",  # the connection
    "25006",  # read only: a standby that will be promoted
    "40",  # rolled back for another transaction's sake
    "53",  # disk, memory or connections have run out
    "55006",  # somebody else uses it
    "55P03",  # somebody else holds the lock
    "57",  # the server stops, starts, or an administrator interfered
    "58",  # its operating system failed
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
_SESSION = (exc.TimeoutError, exc.DisconnectionError, exc.ResourceClosedError, exc.PendingRollbackError)
"""No connection was free, or the one that was used is gone."""


def is_away(error: BaseException) -> bool:
    """Whether the same may succeed in a moment."""
    if isinstance(error, exc.DBAPIError):
        return error.connection_invalidated or _of_driver(error)
    if isinstance(error, asyncpg.PostgresError | asyncpg.InterfaceError):
        return _of_asyncpg(error)
    if isinstance(error, OSError):
        return isinstance(error, ConnectionError | TimeoutError | socket.gaierror) or error.errno in _ERRNOS
    return isinstance(error, _SESSION)


def reason(error: BaseException) -> str:
    """What the store said, without the statement and its values: passwords are among them."""
    said = str(error.orig if isinstance(error, exc.DBAPIError) else error).partition("\n")[0]
    if said.startswith("<class "):  # as SQLAlchemy quotes asyncpg
        said = said.partition(">: ")[2]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _of_driver(error: exc.DBAPIError) -> bool:
    for cause in _causes(error.orig):
        if isinstance(cause, asyncpg.PostgresError | asyncpg.InterfaceError):
            return _of_asyncpg(cause)
        if isinstance(cause, OSError):
            return True
        code = getattr(cause, "sqlite_errorcode", None)
        if code is not None:
            # A transaction that SQLite itself had rolled back, for a full disk, cannot be ended any more.
            return code & 0xFF in _SQLITE or (code == sqlite3.SQLITE_ERROR and "transaction" in str(cause))
    return isinstance(error, exc.OperationalError | exc.InterfaceError)


def _of_asyncpg(error: BaseException) -> bool:
    if isinstance(error, asyncpg.PostgresError):
        return str(error.sqlstate or "").startswith(_SQLSTATES)
    return not isinstance(error, ValueError)  # a value that does not fit its column


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
