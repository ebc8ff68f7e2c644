"""Consoles of several releases on one store: which of them may join, and which may migrate it."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from backend.tests.support.consoles.election import candidate
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from shardboard.contract.protocol import PROTOCOL
from shardboard.kit.bus import Bus
from shardboard.lifecycle import leadership, lease_session, store_locks
from shardboard.lifecycle.leadership import Leadership
from shardboard.lifecycle.supervision import StopConsole
from shardboard.state.cluster.consoles import StoreRelease
from shardboard.store.db import Store
from shardboard.store.schema import Schema

pytestmark = pytest.mark.store

OUTDATED = Schema("previous", "newest", is_known=True, number=PROTOCOL - 1)
NEXT = Schema("next", "newest", is_known=False, number=PROTOCOL + 1)
AFTER_NEXT = Schema("after next", "newest", is_known=False, number=PROTOCOL + 2)


@pytest.fixture(autouse=True)
def no_waiting(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    if not store.is_shared:
        pytest.skip("a SQLite store has one console")
    monkeypatch.setattr(leadership, "START_SECONDS", 0.0)


@asynccontextmanager
async def joined(store: Store, console_id: str, schema: Schema | None = None) -> AsyncIterator[Leadership]:
    """Let a console join that sees this schema."""
    opened = Store(store.url, Bus(), console_id=console_id)
    if schema is not None:

        async def seen(_: AsyncConnection) -> Schema:
            return schema

        opened.schema = seen  # type: ignore[method-assign]
    try:
        console = Leadership(opened, console_id)
        async with console.participating():
            yield console
    finally:
        await opened.close()


@asynccontextmanager
async def session_with_lock(store: Store, key: int) -> AsyncIterator[None]:
    async with store.engine.connect() as connection:
        await connection.execute(text(f"SELECT pg_advisory_lock_shared({key})"))
        yield
        await connection.execute(text(f"SELECT pg_advisory_unlock_shared({key})"))


async def test_the_store_is_migrated_while_consoles_of_the_previous_release_use_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_locks, "PROTOCOL", PROTOCOL - 1)
    async with joined(store, "old"):
        monkeypatch.setattr(store_locks, "PROTOCOL", PROTOCOL)
        async with joined(store, "new", OUTDATED) as console:
            with pytest.raises(ValueError, match="Another console is migrating the store"):
                async with joined(store, "other"):
                    pass
            await console.share()
            async with joined(store, "other"):
                pass


async def test_the_store_is_not_migrated_while_consoles_of_older_releases_use_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_locks, "PROTOCOL", PROTOCOL - 2)
    async with joined(store, "old"):
        monkeypatch.setattr(store_locks, "PROTOCOL", PROTOCOL)
        with pytest.raises(ValueError, match="more than one release older are running"):
            async with joined(store, "new", OUTDATED):
                pass
    async with joined(store, "new", OUTDATED):
        pass


@pytest.mark.parametrize("releases", [1, 2])
async def test_consoles_without_a_lock_of_their_release_are_recognized(
    store: Store, monkeypatch: pytest.MonkeyPatch, releases: int
) -> None:
    monkeypatch.setattr(store_locks, "PROTOCOL", store_locks.UNNUMBERED_RELEASE + releases)
    async with session_with_lock(store, store_locks.KEY):
        if releases == 1:
            async with joined(store, "new", OUTDATED):
                pass
        else:
            with pytest.raises(ValueError, match="more than one release older"):
                async with joined(store, "new", OUTDATED):
                    pass


async def test_a_console_of_the_previous_release_joins_again_after_the_migration(store: Store) -> None:
    async with joined(store, "old", NEXT) as console:
        assert console._postgres is not None
        await console._postgres.drop()
        await console._read()


async def test_a_console_stops_if_the_store_is_of_a_release_that_it_cannot_use(store: Store) -> None:
    async with joined(store, "old") as console:
        await console._read()
        async with store.begin() as session:
            await session.merge(StoreRelease(uid=1, number=PROTOCOL + 2))
        with pytest.raises(StopConsole, match=f"release {PROTOCOL + 2} uses the store now"):
            await console._read()


async def test_a_console_that_reconnects_stops_if_it_cannot_use_the_store(store: Store) -> None:
    async with joined(store, "old") as console:
        assert console._postgres is not None
        await console._postgres.drop()

        async def seen(_: AsyncConnection) -> Schema:
            return AFTER_NEXT

        console._store.schema = seen  # type: ignore[method-assign]
        with pytest.raises(StopConsole, match="A newer release uses this store"):
            await console._read()


@pytest.mark.parametrize(("seconds", "side"), [(3600, "ahead of"), (-3600, "behind")])
async def test_a_console_with_a_wrong_clock_does_not_join(
    store: Store, monkeypatch: pytest.MonkeyPatch, seconds: int, side: str
) -> None:
    now = time.time
    monkeypatch.setattr(lease_session.time, "time", lambda: now() + seconds)
    with pytest.raises(ValueError, match=rf"3[56]\d\d s {side} the clock of PostgreSQL. Nothing was changed"):
        async with joined(store, "first", OUTDATED):
            pass


async def test_an_older_console_lets_a_newer_one_take_over(store: Store) -> None:
    async with store.begin() as session:
        await session.merge(StoreRelease(uid=1, number=PROTOCOL + 1))
    older = Store(store.url, Bus(), console_id="older")
    async with candidate(older, "older") as console:
        await console.leadership._read()
        assert console.leadership._watch.is_outdated
    await older.close()
