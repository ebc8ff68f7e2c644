"""Failover of PostgreSQL behind a proxy that keeps open sessions: only one console writes to the new primary."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator

import pytest
from backend.tests.support.postgres_pair import PostgresPair, SessionProxy, running_pair, session_proxy
from backend.tests.support.real_shards import wait_until
from sqlalchemy import text

from shardboard.kit.bus import Bus
from shardboard.lifecycle import store_lock
from shardboard.lifecycle.store_lock import StoreLock, lock_store
from shardboard.lifecycle.supervision import Loop, LoopSupervisor, StopConsole
from shardboard.store import db
from shardboard.store.db import Store
from shardboard.store.server_check import WrongServer
from shardboard.store.transient_errors import is_transient

pytestmark = [
    pytest.mark.store,
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("SHARDBOARD_TEST_POSTGRES_URL"), reason="needs PostgreSQL (scripts/with-postgres)"
    ),
]


@pytest.fixture(autouse=True)
def short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_lock, "TIMEOUT_SECONDS", 0.0)
    monkeypatch.setattr(store_lock, "POLL_SECONDS", 0.05)


@pytest.fixture
def pair() -> Iterator[PostgresPair]:
    with running_pair() as servers:
        yield servers


@pytest.fixture
async def proxy(pair: PostgresPair) -> AsyncIterator[SessionProxy]:
    async with session_proxy(pair.old.port) as running:
        yield running


def open_store(pair: PostgresPair, proxy: SessionProxy) -> Store:
    return Store(pair.old.url.replace(f":{pair.old.port}/", f":{proxy.address}/"), Bus())


@pytest.fixture
async def first(pair: PostgresPair, proxy: SessionProxy) -> AsyncIterator[Store]:
    store = open_store(pair, proxy)
    await pair.execute(pair.old, "CREATE TABLE written (value int)")
    yield store
    await store.close()


@pytest.fixture
async def second(pair: PostgresPair, proxy: SessionProxy) -> AsyncIterator[Store]:
    store = open_store(pair, proxy)
    yield store
    await store.close()


async def write(store: Store, value: int) -> None:
    async with store.begin() as session:
        await session.execute(text("INSERT INTO written VALUES (:value)"), {"value": value})


async def test_lock_moves_from_a_demoted_server_to_the_new_primary(
    pair: PostgresPair, proxy: SessionProxy, first: Store, second: Store
) -> None:
    """The sessions of the console stay open at the demoted server, which still holds its lock."""
    async with lock_store(first) as lock:
        await write(first, 1)
        await pair.promote()
        await pair.make_read_only()
        proxy.port = pair.new.port
        with pytest.raises(db.STORE_ERRORS) as failure:
            await write(first, 2)
        assert is_transient(failure.value)
        with pytest.raises(WrongServer):  # the pool does not keep sessions of the demoted server
            await write(first, 3)
        keeping = asyncio.create_task(lock.run())
        before = first.server.identity
        await wait_until(lambda: first.server.identity != before)
        await write(first, 4)
        assert await pair.execute(pair.new, "SELECT array_agg(value) FROM written") == [1, 4]
        with pytest.raises(ValueError, match="Another console"):
            await StoreLock(second).acquire()
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


@pytest.mark.parametrize("demoted", [True, False])
async def test_console_stops_if_another_one_has_the_lock_of_the_new_primary(
    pair: PostgresPair, proxy: SessionProxy, first: Store, second: Store, monkeypatch: pytest.MonkeyPatch, demoted: bool
) -> None:
    """It never writes to the new primary, even if its former server still accepts writes."""
    monkeypatch.setattr(store_lock, "VERIFY_SECONDS", 0.2)
    async with lock_store(first) as lock:
        await write(first, 1)
        await pair.promote()
        if demoted:
            await pair.make_read_only()
        proxy.port = pair.new.port
        async with lock_store(second):
            await write(second, 2)
            await first.engine.dispose()
            with pytest.raises(WrongServer):
                await write(first, 3)
            with pytest.raises(StopConsole):
                await asyncio.wait_for(lock.run(), 20)
            with pytest.raises(WrongServer):
                await write(first, 4)
            assert await pair.execute(pair.new, "SELECT array_agg(value) FROM written") == [1, 2]


async def test_lock_is_not_acquired_at_a_standby(
    pair: PostgresPair, proxy: SessionProxy, first: Store, second: Store
) -> None:
    """The former primary restarts as a standby before the proxy leads to the new primary."""
    async with lock_store(first) as lock:
        await write(first, 1)
        before = first.server.identity
        async with LoopSupervisor(first, [Loop("hold the store lock", lock.run, vital=True)]).running() as failed:
            await pair.promote()
            await asyncio.to_thread(pair.restart_as_standby)
            with pytest.raises(ValueError, match="read-only"):
                await StoreLock(second).acquire()
            with pytest.raises(ValueError, match="read-only"):
                await second.check()
            with pytest.raises(db.STORE_ERRORS):
                await write(first, 2)
            assert lock._session is None
            proxy.port = pair.new.port
            await wait_until(lambda: first.server.identity != before)
            await write(first, 3)
            assert not failed.done()
        assert await pair.execute(pair.new, "SELECT array_agg(value) FROM written") == [1, 3]
