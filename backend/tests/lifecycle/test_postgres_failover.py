"""Failover of PostgreSQL behind a proxy that keeps open sessions: only one console leads at the new primary."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator

import pytest
from backend.tests.support.consoles.election import Candidate, candidate
from backend.tests.support.consoles.postgres_pair import PostgresPair, SessionProxy, running_pair, session_proxy
from backend.tests.support.real_shards import wait_until
from sqlalchemy import text

from shardboard.kit.bus import Bus
from shardboard.kit.tenure import LostLeadership
from shardboard.lifecycle import leadership
from shardboard.lifecycle.leadership import Leadership
from shardboard.store import db
from shardboard.store.db import Store
from shardboard.store.transient_errors import is_transient

pytestmark = [
    pytest.mark.store,
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("SHARDBOARD_TEST_POSTGRES_URL"), reason="needs PostgreSQL (scripts/with-postgres)"
    ),
]


@pytest.fixture
def pair() -> Iterator[PostgresPair]:
    with running_pair() as servers:
        yield servers


@pytest.fixture
async def proxy(pair: PostgresPair) -> AsyncIterator[SessionProxy]:
    async with session_proxy(pair.old.port) as running:
        yield running


def open_store(pair: PostgresPair, proxy: SessionProxy, console_id: str) -> Store:
    url = pair.old.url.replace(f":{pair.old.port}/", f":{proxy.address}/")
    return Store(url, Bus(), console_id=console_id)


@pytest.fixture
async def first(pair: PostgresPair, proxy: SessionProxy) -> AsyncIterator[Store]:
    store = open_store(pair, proxy, "first")
    await store.migrate()
    await pair.execute(pair.old, "CREATE TABLE written (value int)")
    yield store
    await store.close()


@pytest.fixture
async def second(pair: PostgresPair, proxy: SessionProxy) -> AsyncIterator[Store]:
    store = open_store(pair, proxy, "second")
    yield store
    await store.close()


async def write(console: Candidate, value: int) -> None:
    """Write in a loop of the leader, in its last tenure."""
    with console.tenures[-1].acting():
        async with console.store.begin() as session:
            await session.execute(text("INSERT INTO written VALUES (:value)"), {"value": value})


async def until_following(console: Candidate, server: str | None) -> None:
    """Wait until the console uses another server than this one."""
    await wait_until(lambda: console.store.server.identity != server)


async def test_leader_moves_from_a_demoted_server_to_the_new_primary(
    pair: PostgresPair, proxy: SessionProxy, first: Store
) -> None:
    """Open sessions stay at the demoted server."""
    async with candidate(first, "first") as console:
        await wait_until(lambda: console.is_leading)
        await write(console, 1)
        before = first.server.identity
        await pair.promote()
        await pair.make_read_only()
        proxy.port = pair.new.port
        with pytest.raises((*db.STORE_ERRORS, LostLeadership)) as failure:
            await write(console, 2)
        assert is_transient(failure.value)
        await until_following(console, before)
        await wait_until(lambda: console.is_leading and console.tenures[-1].is_valid)
        await write(console, 4)
        assert await pair.execute(pair.new, "SELECT array_agg(value) FROM written") == [1, 4]


@pytest.mark.parametrize("demoted", [True, False])
async def test_only_one_console_leads_at_the_new_primary(
    pair: PostgresPair, proxy: SessionProxy, first: Store, second: Store, monkeypatch: pytest.MonkeyPatch, demoted: bool
) -> None:
    """The former leader never writes there in its old term, even if its former server still accepts writes."""
    monkeypatch.setattr(leadership, "VERIFY_SECONDS", 0.5)
    async with candidate(first, "first") as former:
        await wait_until(lambda: former.is_leading)
        await write(former, 1)
        before = first.server.identity
        await pair.promote()
        if demoted:
            await pair.make_read_only()
        proxy.port = pair.new.port
        async with candidate(second, "second") as other:
            await wait_until(lambda: first.server.identity == second.server.identity != before)
            await wait_until(lambda: (former.is_leading, other.is_leading) in [(True, False), (False, True)])
            leader, follower = (former, other) if former.is_leading else (other, former)
            await write(leader, 2)
            for tenure in follower.tenures:
                tenure.deadline, tenure.is_over = float("inf"), False  # a wrong clock
                with pytest.raises((*db.STORE_ERRORS, LostLeadership)):
                    await write(follower, 3)
            assert await pair.execute(pair.new, "SELECT array_agg(value) FROM written") == [1, 2]


async def test_console_does_not_lead_at_a_standby(
    pair: PostgresPair, proxy: SessionProxy, first: Store, second: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The former primary restarts as a standby before the proxy leads to the new primary."""
    monkeypatch.setattr(leadership, "START_SECONDS", 0.0)
    async with candidate(first, "first") as console:
        await wait_until(lambda: console.is_leading)
        await write(console, 1)
        before = first.server.identity
        await pair.promote()
        await asyncio.to_thread(pair.restart_as_standby)
        with pytest.raises(ValueError, match="read-only"):
            await Leadership(second, "second").join()
        with pytest.raises(ValueError, match="read-only"):
            await second.check()
        await wait_until(lambda: not console.is_leading)
        with pytest.raises((*db.STORE_ERRORS, LostLeadership)):
            await write(console, 2)
        proxy.port = pair.new.port
        await until_following(console, before)
        await wait_until(lambda: console.is_leading)
        await write(console, 3)
        assert not any(task.done() for task in console.tasks)
        assert await pair.execute(pair.new, "SELECT array_agg(value) FROM written") == [1, 3]
