"""Tests that only one console uses a PostgreSQL database."""

import asyncio

import pytest
from backend.tests.shards import until
from sqlalchemy import text

from shardboard import ownership
from shardboard.bus import Bus
from shardboard.db import Store
from shardboard.ownership import Ownership, owned
from shardboard.supervision import MustEnd

pytestmark = pytest.mark.store


@pytest.fixture(autouse=True)
def short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(ownership, "LOOK_SECONDS", 0.02)


@pytest.fixture
def postgres(store: Store) -> None:
    if not Ownership(store).needed:
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
        async with owned(store):
            with pytest.raises(ValueError, match="Another console is running on this PostgreSQL database"):
                async with owned(other):
                    pass
        async with owned(other):
            pass
    finally:
        await other.close()


@pytest.mark.usefixtures("postgres")
async def test_broken_session_is_replaced(store: Store) -> None:
    async with owned(store) as held:
        keeping = asyncio.create_task(held.run())
        before = held._session
        await break_sessions(store)
        await until(lambda: held._session not in (None, before))
        with pytest.raises(ValueError, match="Another console"):
            await Ownership(store).claim()
        assert not keeping.done()
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


@pytest.mark.usefixtures("postgres")
async def test_replaced_console_ends(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Store(store.url, Bus())
    monkeypatch.setattr(ownership, "PATIENCE_SECONDS", 60.0)
    try:
        async with owned(store) as first:
            await break_sessions(store)
            async with owned(other):
                with pytest.raises(MustEnd):
                    await asyncio.wait_for(first.run(), 60)
    finally:
        await other.close()
