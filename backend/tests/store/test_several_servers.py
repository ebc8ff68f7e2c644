"""Failover between two PostgreSQL servers in one URL, while transactions are running."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import psutil
import pytest
from backend.tests.support.consoles.postgres_pair import HOST, PostgresPair, running_pair
from backend.tests.support.real_shards import wait_until
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.kit.bus import Bus
from shardboard.settings import Settings
from shardboard.store.change_receiver import ChangeReceiver
from shardboard.store.db import Store
from shardboard.store.transient_errors import is_transient

pytestmark = [
    pytest.mark.store,
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("SHARDBOARD_TEST_POSTGRES_URL"), reason="needs PostgreSQL (scripts/with-postgres)"
    ),
]

WRITERS = 4


@pytest.fixture
def pair() -> Iterator[PostgresPair]:
    with running_pair() as servers:
        yield servers


def url_of(pair: PostgresPair, query: str = "") -> str:
    hosts = f"{HOST}:{pair.old.port},{HOST}:{pair.new.port}"
    return Settings(database_url=f"postgresql://shardboard:{pair.old.password}@{hosts}/postgres{query}").store_url


@pytest.fixture
async def store(pair: PostgresPair) -> AsyncIterator[Store]:
    store = Store(url_of(pair), Bus())
    await pair.execute(pair.old, "CREATE TABLE written (port int DEFAULT inet_server_port())")
    await wait_until(lambda: pair.execute(pair.new, "SELECT to_regclass('written') IS NOT NULL"))
    yield store
    await store.close()


async def written_at_new(pair: PostgresPair) -> Any:
    """Return the number of rows that the promoted server itself has inserted."""
    return await pair.execute(pair.new, "SELECT count(*) FROM written WHERE port = inet_server_port()")


class Load:
    """Writers that repeat failed transactions, as the loops of a console do."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.succeeded_at: list[float] = []

    async def write(self) -> None:
        while True:
            started = time.monotonic()
            try:
                async with self._store.begin() as session:
                    await session.execute(text("INSERT INTO written DEFAULT VALUES"))
                    session.info["changed"].add(("bdb", 1))
                self.succeeded_at.append(started)
            except Exception as error:
                if not is_transient(error):
                    raise
            await asyncio.sleep(0.02)

    async def receive(self) -> None:
        async def newest_event(_: AsyncSession) -> int:
            return 0

        while True:
            try:
                await ChangeReceiver(self._store, newest_event).run()
            except Exception as error:
                if not is_transient(error):
                    raise
            await asyncio.sleep(0.5)

    async def wait_for_success(self, since: float) -> float:
        """Return the seconds from `since` until a transaction that started later succeeded."""
        await wait_until(lambda: any(started > since for started in self.succeeded_at))
        return time.monotonic() - since


@asynccontextmanager
async def load(store: Store) -> AsyncIterator[Load]:
    running = Load(store)
    tasks = [asyncio.create_task(running.write()) for _ in range(WRITERS)]
    tasks.append(asyncio.create_task(running.receive()))
    try:
        await running.wait_for_success(time.monotonic())
        yield running
        assert not [task for task in tasks if task.done()]
    finally:
        for task in tasks:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks)


@contextmanager
def frozen(server: Any) -> Iterator[None]:
    """Suspend all processes of a server: its kernel still accepts connections and data."""
    postmaster = psutil.Process(server.process.pid)
    processes = [postmaster, *postmaster.children(recursive=True)]
    for process in processes:
        process.suspend()
    try:
        yield
    finally:
        for process in processes:
            process.resume()


async def test_writes_continue_after_a_promotion(pair: PostgresPair, store: Store) -> None:
    """The former primary ends, then it is a standby."""
    async with load(store) as running:
        pair.old.stop()
        stopped = time.monotonic()
        assert await pair.execute(pair.new, "SELECT pg_promote()")
        assert await running.wait_for_success(stopped) < 5
        await asyncio.to_thread(pair.restart_as_standby)
        restarted = time.monotonic()
        assert await running.wait_for_success(restarted) < 2
        await store.engine.dispose()
        assert await running.wait_for_success(time.monotonic()) < 2
    assert await written_at_new(pair) > 0


async def test_demoted_server_is_left_at_once(pair: PostgresPair, store: Store) -> None:
    """Its sessions stay open, but are read-only."""
    async with load(store) as running:
        await pair.promote()
        await pair.make_read_only()
        demoted = time.monotonic()
        assert await running.wait_for_success(demoted) < 2
    assert await written_at_new(pair) > 0


async def test_server_that_does_not_respond_is_left_within_seconds(pair: PostgresPair, store: Store) -> None:
    async with load(store) as running:
        await pair.promote()
        with frozen(pair.old):
            started = time.monotonic()
            assert await running.wait_for_success(started + 0.1) < 15
    assert await written_at_new(pair) > 0


async def run_while_frozen(store: Store, server: Any) -> None:
    async with store.begin() as session:
        await session.execute(text("SELECT 1"))
        with frozen(server):
            await session.execute(text("SELECT 2"))


async def test_statement_ends_after_its_time_limit(pair: PostgresPair) -> None:
    """Also if the server does not respond to the request to cancel it."""
    store = Store(url_of(pair, "?command_timeout=1"), Bus())
    try:
        async with store.begin() as session:
            await session.execute(text("SELECT 1"))
        started = time.monotonic()
        with pytest.raises(TimeoutError):
            await run_while_frozen(store, pair.old)
        assert time.monotonic() - started < 5
        async with store.begin() as session:
            assert (await session.execute(text("SELECT 3"))).scalar() == 3
    finally:
        await store.close()
