"""Tests that only one console uses a PostgreSQL database."""

import asyncio

import pytest
from backend.tests.support.real_shards import wait_until
from sqlalchemy import text

from shardboard.kit.bus import Bus
from shardboard.lifecycle import store_lock
from shardboard.lifecycle.store_lock import StoreLock, lock_store
from shardboard.lifecycle.supervision import StopConsole
from shardboard.store.db import Store

pytestmark = pytest.mark.store


@pytest.fixture(autouse=True)
def short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_lock, "TIMEOUT_SECONDS", 0.0)
    monkeypatch.setattr(store_lock, "POLL_SECONDS", 0.02)


@pytest.fixture
def postgres(store: Store) -> None:
    if not StoreLock(store).is_needed:
        pytest.skip("SQLite is guarded by the lock of the state directory")


async def break_sessions(store: Store) -> None:
    async with store.read() as session:
        await session.execute(
            text(
                "SELECT pg_terminate_backend(pid, 60000) FROM pg_locks WHERE locktype = 'advisory' AND database = "
                "(SELECT oid FROM pg_database WHERE datname = current_database())"
            )
        )


@pytest.mark.usefixtures("postgres")
async def test_second_console_is_refused_until_the_first_ends(store: Store) -> None:
    other = Store(store.url, Bus())
    try:
        async with lock_store(store):
            with pytest.raises(ValueError, match="Another console is running on this PostgreSQL database"):
                async with lock_store(other):
                    pass
        async with lock_store(other):
            pass
    finally:
        await other.close()


@pytest.mark.usefixtures("postgres")
async def test_broken_session_is_replaced(store: Store) -> None:
    async with lock_store(store) as lock:
        keep_task = asyncio.create_task(lock.run())
        before = lock._session
        await break_sessions(store)
        await wait_until(lambda: lock._session not in (None, before))
        with pytest.raises(ValueError, match="Another console"):
            await StoreLock(store).acquire()
        assert not keep_task.done()
        keep_task.cancel()
        await asyncio.gather(keep_task, return_exceptions=True)


@pytest.mark.usefixtures("postgres")
async def test_replaced_console_ends(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Store(store.url, Bus())
    monkeypatch.setattr(store_lock, "TIMEOUT_SECONDS", 60.0)
    try:
        async with lock_store(store) as first:
            await break_sessions(store)
            async with lock_store(other):
                with pytest.raises(StopConsole):
                    await asyncio.wait_for(first.run(), 60)
    finally:
        await other.close()
