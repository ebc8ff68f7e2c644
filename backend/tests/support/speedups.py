"""Patches that make tests faster by skipping work that the product needs but no test checks."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
from aiosqlite.core import Connection, set_exception, set_result
from argon2 import PasswordHasher
from sqlalchemy import event
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncEngine

from shardboard.driver import tls_trust
from shardboard.services.access import passwords
from shardboard.store import db, encrypted_columns
from shardboard.store.postgres_connection import PostgresConnector

ORIGINAL_INIT = Connection.__init__


@contextmanager
def fast_password_hashing() -> Iterator[None]:
    """Hash passwords with minimal cost. The real hash takes 0.2 s of CPU time, and almost every test signs in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_hasher", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        yield


@contextmanager
def cached_system_trust() -> Iterator[None]:
    """Load each set of trusted CA certificates only once. OpenSSL needs 40 ms for those of the system."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tls_trust, "context", cache(tls_trust.context))
        yield


@contextmanager
def sqlite_without_threads() -> Iterator[None]:
    """Use SQLite without a thread for each connection, and without waiting for the disk.

    Passing a statement to a thread and back takes longer than most statements. Other tasks can still run after each statement.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connection, "__init__", _without_thread)
        patch.setattr(db, "_tune_sqlite", _without_disk)
        yield


@contextmanager
def sqlite_with_threads() -> Iterator[None]:
    """Use SQLite as the product does, for tests of the store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connection, "__init__", ORIGINAL_INIT)
        yield


def _without_thread(self: Any, connector: Callable[[], Any], iter_chunk_size: int, loop: None = None) -> None:
    self._running, self._connection, self._connector, self._iter_chunk_size = True, None, connector, iter_chunk_size
    self._tx = self._thread = _ImmediateQueue()


class _ImmediateQueue:
    """Queue and thread of a connection: a function that is put into the queue is run immediately."""

    def put_nowait(self, item: tuple[asyncio.Future[Any] | None, Callable[[], Any]]) -> None:
        future, function = item
        try:
            report, outcome = set_result, function()
        except BaseException as error:  # like the thread: the error is raised where the future is awaited
            report, outcome = set_exception, error
        if future is not None:
            future.get_loop().call_soon(report, future, outcome)

    def start(self) -> None:
        """Do nothing: there is no thread to start."""


def _without_disk(connection: Any, record: Any, tune: Callable[[Any, Any], None] = db._tune_sqlite) -> None:
    tune(connection, record)
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous=OFF")
    cursor.close()


@contextmanager
def reused_engines() -> Iterator[None]:
    """Reuse the SQLAlchemy engines of closed stores for other SQLite files. A new engine would compile all statements again."""
    create, close = db._engine, db.Store.close
    unused: list[_FileEngine] = []
    used: dict[AsyncEngine, _FileEngine] = {}

    def engine_of(url: str, connector: PostgresConnector | None = None) -> AsyncEngine:
        if connector is not None:
            return create(url, connector)
        reused = unused.pop() if unused else _FileEngine(create(url))
        reused.path = make_url(url).database or ""
        encrypted_columns._KEYS.pop(reused.engine.sync_engine.dialect, None)
        used[reused.engine] = reused
        return reused.engine

    async def close_and_keep(self: db.Store) -> None:
        await close(self)
        if engine := used.pop(self.engine, None):
            unused.append(engine)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(db, "_engine", engine_of)
        patch.setattr(db.Store, "close", close_and_keep)
        yield


class _FileEngine:
    """An engine whose new connections open the file `path`."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self.path = ""
        event.listen(engine.sync_engine, "do_connect", self._set_path)

    def _set_path(self, dialect: Any, record: Any, arguments: list[Any], parameters: dict[str, Any]) -> None:
        arguments[0] = self.path
