"""What makes tests quicker and leaves them as they are: work that a product has to do and that no test is about."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from aiosqlite.core import Connection, set_exception, set_result
from argon2 import PasswordHasher

from shardboard import db
from shardboard.services import passwords

REAL = Connection.__init__


@contextmanager
def passwords_in_no_time() -> Iterator[None]:
    """Hashing is slow on purpose, 0.2 s of a processor; almost every test logs in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_hasher", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        yield


@contextmanager
def sqlite_in_the_loop() -> Iterator[None]:
    """SQLite without a thread for each connection, and without waiting for the disk.

    Handing a statement to a thread and back takes longer than most statements. Tasks still take turns after each one.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connection, "__init__", _without_thread)
        patch.setattr(db, "_tune_sqlite", _without_disk)
        yield


@contextmanager
def sqlite_in_threads() -> Iterator[None]:
    """As it really is, for tests that are about the store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connection, "__init__", REAL)
        yield


def _without_thread(self: Any, connector: Callable[[], Any], iter_chunk_size: int, loop: None = None) -> None:
    self._running, self._connection, self._connector, self._iter_chunk_size = True, None, connector, iter_chunk_size
    self._tx = self._thread = _AtOnce()


class _AtOnce:
    """Both the queue of a connection and the thread that would empty it."""

    def put_nowait(self, order: tuple[asyncio.Future[Any] | None, Callable[[], Any]]) -> None:
        future, function = order
        try:
            told, outcome = set_result, function()
        except BaseException as error:  # as the thread does: it is raised where the future is awaited
            told, outcome = set_exception, error
        if future is not None:
            future.get_loop().call_soon(told, future, outcome)

    def start(self) -> None:
        """There is nothing to start."""


def _without_disk(connection: Any, record: Any, tune: Callable[[Any, Any], None] = db._tune_sqlite) -> None:
    tune(connection, record)
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous=OFF")
    cursor.close()
