"""Tests of two consoles on one PostgreSQL that announce changes to each other."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from backend.tests.support.real_shards import wait_until
from sqlalchemy import text

from shardboard.kit.bus import Bus, Listener
from shardboard.state.alerting import events
from shardboard.store.change_receiver import ChangeReceiver
from shardboard.store.db import Store, roll_back
from shardboard.store.transient_errors import is_transient

pytestmark = [pytest.mark.store]


@pytest.fixture
async def other(store: Store) -> AsyncIterator[Store]:
    """The store of another console."""
    if store.connector is None:
        pytest.skip("SQLite has one console")
    other = Store(store.url, Bus(), console_id="other")
    yield other
    await other.close()


@asynccontextmanager
async def receiving(store: Store) -> AsyncIterator[tuple[Listener, asyncio.Task[None]]]:
    """Yield a listener of the bus after the receiver has connected."""
    with store.bus.listen("change") as changes:
        task = asyncio.create_task(ChangeReceiver(store, events.newest_uid).run())
        try:
            await wait_until(lambda: changes.overflowed or task.done())
            changes.drain()
            changes.overflowed = False
            yield changes, task
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task


async def record_event(store: Store, message: str = "An event.") -> int:
    async with store.begin() as session:
        event = events.record(session, "login", message, source="cluster")
        await session.flush()
        return event.uid


async def test_changes_of_another_console_are_published(store: Store, other: Store) -> None:
    async with receiving(store) as (changes, _):
        uid = await record_event(other)
        assert await changes.get(timeout=10) == ("change", ("event", uid))
        assert store.state_id == uid == other.state_id


async def test_own_changes_are_published_once(store: Store, other: Store) -> None:
    async with receiving(store) as (changes, _):
        own, foreign = await record_event(store), await record_event(other)
        assert await changes.get(timeout=10) == ("change", ("event", own))
        assert await changes.get(timeout=10) == ("change", ("event", foreign))


async def test_transaction_that_is_rolled_back_is_not_announced(store: Store, other: Store) -> None:
    async with receiving(store) as (changes, _):
        with suppress(RuntimeError):
            async with other.begin() as session:
                events.record(session, "login", "Rolled back.", source="cluster")
                await session.flush()
                raise RuntimeError
        async with other.begin() as session:
            events.record(session, "login", "Dry run.", source="cluster")
            await session.flush()
            await roll_back(session)
        uid = await record_event(other)
        assert await changes.get(timeout=10) == ("change", ("event", uid))


async def test_large_transaction_makes_listeners_read_everything(store: Store, other: Store) -> None:
    async with receiving(store) as (changes, _):
        async with other.begin() as session:
            session.info["changed"].update(("shard", uid) for uid in range(100_000))
            session.info["changed"].add(("event", 12))
        assert await changes.get(timeout=10) is None
        assert changes.overflowed
        assert store.state_id == 12


async def test_unknown_message_makes_listeners_read_everything(store: Store, other: Store) -> None:
    async with receiving(store) as (changes, _):
        async with other.begin() as session:
            await session.execute(text("NOTIFY shardboard, 'of a later release'"))
        assert await changes.get(timeout=10) is None
        assert changes.overflowed


async def test_lost_session_is_detected_and_listeners_read_everything_when_it_is_back(
    store: Store, other: Store
) -> None:
    async with receiving(store) as (_, task):
        async with other.begin() as session:
            ended = text("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = :name")
            assert (await session.execute(ended, {"name": store.console_id})).scalar_one() >= 1
        with pytest.raises(Exception) as failure:  # noqa: PT011 - the error depends on what notices the loss first
            await asyncio.wait_for(task, 10)
        assert is_transient(failure.value)
    missed = await record_event(other)
    async with receiving(store):
        assert store.state_id == missed
