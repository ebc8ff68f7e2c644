"""Tests of the election of the leading console, and of the fencing of its transactions."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from backend.tests.support.consoles.election import Candidate, candidate
from backend.tests.support.consoles.statements import prepare_statement
from backend.tests.support.real_shards import wait_until
from sqlalchemy import text

from shardboard.contract.terms import Term
from shardboard.domain.cluster.consoles import LeaderChange
from shardboard.domain.cluster.leadership import Lease
from shardboard.kit.bus import Bus
from shardboard.kit.tenure import LostLeadership
from shardboard.lifecycle import leadership
from shardboard.lifecycle.lease_session import PostgresLeaseSession
from shardboard.lifecycle.store_locks import KEY
from shardboard.lifecycle.supervision import StopConsole
from shardboard.state.cluster import consoles
from shardboard.store import postgres_connection
from shardboard.store.db import STORE_ERRORS, Store
from shardboard.store.transient_errors import is_transient

pytestmark = pytest.mark.store


@pytest.fixture
def shared(store: Store) -> None:
    if not store.is_shared:
        pytest.skip("a SQLite store has one console")


@pytest.fixture
async def first(store: Store) -> AsyncIterator[Store]:
    opened = Store(store.url, Bus(), console_id="first")
    yield opened
    await opened.close()


@pytest.fixture
async def second(store: Store) -> AsyncIterator[Store]:
    opened = Store(store.url, Bus(), console_id="second")
    yield opened
    await opened.close()


async def until_leading(console: Candidate) -> None:
    await wait_until(lambda: console.is_leading)


async def read_reason(store: Store) -> str:
    async with store.read() as session:
        row = await consoles.leadership(session)
    assert row is not None
    return row.reason


async def test_a_single_console_leads_at_once_and_gets_a_new_term_at_each_start(first: Store) -> None:
    for term in (1, 2):
        async with candidate(first, "first") as console:
            start = time.monotonic()
            await until_leading(console)
            await asyncio.wait_for(console.leadership.settled(), 5)
            assert time.monotonic() - start < 1
            assert console.leadership.term == Term(term, "first")
            if term == 1:
                await console.freeze()
                console.leadership._tenure = None  # a killed process does not release its lease


async def test_loops_of_the_leader_write_and_call_agents_in_its_term(first: Store) -> None:
    async with candidate(first, "first") as console:
        await until_leading(console)
        [tenure] = console.tenures
        with tenure.acting():
            async with first.begin() as session:
                assert await consoles.leadership(session)
            assert await console.leadership.update(6)
            assert console.leadership.term == Term(7, "first")
            async with first.begin() as session:
                lease = await consoles.leadership(session)
                assert lease is not None
                assert lease.term == 7
            assert not await console.leadership.update(10**17)
        assert console.is_leading


@pytest.mark.usefixtures("shared")
async def test_another_console_leads_at_once_when_the_leader_ends(first: Store, second: Store) -> None:
    async with candidate(first, "first") as leader:
        await until_leading(leader)
        follower = Candidate(second, "second")
        await follower.leadership.join()
        follower.start()
        assert not follower.leadership.is_led
        await asyncio.wait_for(follower.leadership.settled(), 5)
        assert not follower.is_leading
        assert leader.leadership.is_led
        assert follower.leadership.is_led
        assert follower.leadership.term == leader.leadership.term == Term(1, "first")
    start = time.monotonic()
    await until_leading(follower)
    assert time.monotonic() - start < 1
    assert await read_reason(second) == "stopped"
    assert not leader.is_leading
    await wait_until(lambda: not leader.leadership.is_led)
    await follower.freeze()
    await wait_until(lambda: not follower.leadership.is_led)
    await follower.leadership.close()


async def leave_transaction_open(frozen: Candidate, successor: Candidate, *, is_prepared: bool) -> None:
    """Freeze the leader during a transaction, and wait until the other console leads."""
    async with frozen.store.begin() as session:
        await session.execute(text("SELECT 1"))
        if is_prepared:
            await prepare_statement(session)
        await frozen.freeze()
        start = time.monotonic()
        await until_leading(successor)
        assert time.monotonic() - start < 3


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("is_prepared", [False, True])
async def test_a_frozen_leader_is_replaced_and_cannot_write(first: Store, second: Store, is_prepared: bool) -> None:
    """Not even a transaction that it has left open delays the others."""
    async with candidate(first, "first") as leader, candidate(second, "second") as follower:
        await wait_until(lambda: leader.is_leading or follower.is_leading)
        frozen, successor = (leader, follower) if leader.is_leading else (follower, leader)
        [tenure] = frozen.tenures
        with tenure.acting(), pytest.raises(STORE_ERRORS) as failure:
            await leave_transaction_open(frozen, successor, is_prepared=is_prepared)
        assert is_transient(failure.value)
        assert await read_reason(successor.store) == "expired"
        with tenure.acting(), pytest.raises(LostLeadership):
            async with frozen.store.begin():
                pass
        tenure.deadline = float("inf")  # a wrong clock
        with tenure.acting(), pytest.raises(LostLeadership):
            async with frozen.store.begin():
                pass
        async with frozen.store.begin() as session:  # requests are served
            await session.execute(text("SELECT 1"))


@pytest.mark.usefixtures("shared")
async def test_requested_change_of_the_leader_survives_a_claim(store: Store) -> None:
    """The leader claims its own lease again after it was paused. A successor that did not take over is not asked again."""
    first, second = (PostgresLeaseSession(store, name, lambda: None) for name in ("first", "second"))
    lease = await first.claim(await first.read(), "started")
    assert lease is not None
    async with store.begin() as session:
        await session.execute(text("UPDATE leadership SET successor = 'second'"))
    lease = await first.claim(lease, "started")
    assert lease == Lease(2, "first", 0, released=False, successor="second")
    lease = await second.claim(lease, "expired")
    assert lease == Lease(3, "second", 0, released=False)
    assert await second.release(3, "third", "handed_over")
    lease = await first.claim(await first.read(), None)
    assert lease == Lease(4, "first", 0, released=False)
    assert await read_reason(store) == "handed_over"
    for each in (first, second):
        await each.drop()


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize(("successor", "reason"), [("'second'", "handed_over"), ("NULL", "stopped")])
async def test_a_console_of_the_previous_release_does_not_write_why_it_released_the_lease(
    store: Store, successor: str, reason: str
) -> None:
    first, second = (PostgresLeaseSession(store, name, lambda: None) for name in ("first", "second"))
    assert await first.claim(await first.read(), "started")
    async with store.begin() as session:
        await session.execute(text(f"UPDATE leadership SET released = TRUE, successor = {successor}"))  # noqa: S608
    assert await second.claim(await second.read(), None)
    assert await read_reason(store) == reason
    for each in (first, second):
        await each.drop()


@pytest.mark.usefixtures("shared")
async def test_a_transaction_of_a_frozen_console_does_not_block_others_forever(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_connection, "IDLE_MILLISECONDS", 100)
    frozen = Store(store.url, Bus(), console_id="frozen")
    with pytest.raises(STORE_ERRORS) as failure:
        await pause_in_transaction(frozen)
    assert is_transient(failure.value)
    await frozen.close()


async def pause_in_transaction(store: Store) -> None:
    async with store.begin() as session:
        await session.execute(text("SELECT 1"))
        await asyncio.sleep(0.5)
        await session.execute(text("SELECT 1"))


@pytest.mark.usefixtures("shared")
async def test_a_take_over_waits_for_transactions_of_the_former_leader(first: Store, second: Store) -> None:
    async with candidate(first, "first") as leader:
        await until_leading(leader)
        [tenure] = leader.tenures
        follower = Candidate(second, "second")
        await follower.leadership.join()
        follower.start()
        with tenure.acting():
            async with first.begin():
                await leader.leadership.hand_over("second", LeaderChange.MORE_AGENTS)
                await wait_until(lambda: not leader.is_leading)
                await asyncio.sleep(0.3)
                assert not follower.is_leading
        await until_leading(follower)
        assert await read_reason(second) == "more_agents"
        assert follower.tenures[0].term == tenure.term + 1
        await follower.freeze()
        await follower.leadership.close()
        await wait_until(lambda: leader.is_leading)


@pytest.mark.usefixtures("shared")
async def test_a_broken_session_is_replaced_within_the_tenure(first: Store) -> None:
    async with candidate(first, "first") as leader:
        await until_leading(leader)
        before = leader.tenures[0].deadline
        async with first.read() as session:
            await session.execute(
                text(
                    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database = "
                    "(SELECT oid FROM pg_database WHERE datname = current_database())"
                )
            )
        await wait_until(lambda: leader.tenures[0].deadline > before + 1)
        assert (len(leader.tenures), leader.is_leading) == (1, True)
        assert not await try_exclusive_lock(first)


async def try_exclusive_lock(store: Store) -> bool:
    async with store.read() as session:
        taken = (await session.execute(text(f"SELECT pg_try_advisory_xact_lock({KEY})"))).scalar_one()
    return bool(taken)


@pytest.mark.usefixtures("shared")
async def test_consoles_of_earlier_releases_are_excluded(
    first: Store, second: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They take the advisory lock exclusively."""
    monkeypatch.setattr(leadership, "START_SECONDS", 0.0)
    async with candidate(first, "first"):
        assert not await try_exclusive_lock(second)
    async with second.read() as session:
        assert (await session.execute(text(f"SELECT pg_try_advisory_xact_lock({KEY})"))).scalar_one()
        with pytest.raises(ValueError, match="A console of an earlier release is running"):
            async with candidate(first, "first"):
                pass


@pytest.mark.usefixtures("shared")
async def test_a_console_whose_id_is_used_twice_stops(first: Store, second: Store) -> None:
    async with candidate(first, "same") as copied:
        await until_leading(copied)
        async with candidate(second, "same") as copy:
            await until_leading(copy)
            with pytest.raises(StopConsole, match="uses the ID of this one"):
                await asyncio.wait_for(copied.tasks[0], 5)
