"""Resyncs are recorded as spans, from the replies of fake engines on both sides."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from backend.tests.support import active_database
from backend.tests.support.real_shards import wait_until

from shardboard.collectors.failures import resync as resyncs
from shardboard.collectors.failures import resync_span
from shardboard.collectors.failures.resync import ResyncCollector
from shardboard.collectors.failures.resync_span import ResyncSpan
from shardboard.console import Console
from shardboard.domain.failures import resync
from shardboard.domain.failures.resync import ResyncPoll
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import shards
from shardboard.state.databases.shards import Shard

pytestmark = pytest.mark.store

SYNC = "master_link_status:down\r\nmaster_sync_in_progress:1\r\nmaster_sync_total_bytes:0\r\n"
WAITING = "# Replication\r\nrole:slave\r\nmaster_link_status:down\r\nmaster_sync_in_progress:0\r\n"
LINK_UP = "role:slave\r\nmaster_link_status:up\r\n"


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: list[Node], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "MIN_POLL_SECONDS",
        "MAX_POLL_SECONDS",
        "SWEEP_SECONDS",
        "SHORT_INTERRUPTION_SECONDS",
        "ORPHANED_AFTER_SECONDS",
    ):
        monkeypatch.setattr(resyncs, name, 0.01)
    monkeypatch.setattr(resync, "MIN_GUESS_SECONDS", 0.0)
    monkeypatch.setattr(resync_span, "UPDATE_SECONDS", 0.01)
    await active_database.create_active_database(console, agents)


@asynccontextmanager
async def running(console: Console) -> AsyncIterator[ResyncCollector]:
    collector = ResyncCollector(console.store, console.bus, console.agents)
    task = asyncio.create_task(collector.run())
    try:
        yield collector
    finally:
        tasks = list(collector._tasks.values())
        task.cancel()
        await asyncio.gather(task, *tasks, return_exceptions=True)


async def spans(console: Console) -> list[Event]:
    async with console.store.read() as session:
        return [event for event in await events.page(session, newest_first=False) if event.type == "resync"]


def set_replies(
    agents: FakeAgents, replication: str, persistence: str = "loading:0", primary: str = "loading:0"
) -> None:
    """Set what replica 4 and primary 1 answer from now on."""
    agents.info |= {(4, "replication"): replication, (4, "persistence"): persistence, (1, "persistence"): primary}


async def wait_for_polls(console: Console, agents: FakeAgents, polls: int = 5) -> None:
    """Wait until replica 4 was polled this many more times."""

    def count() -> int:
        return agents.commands.count((4, resyncs.REPLICA_INFO))

    before = count()
    await wait_until(lambda: count() >= before + polls)


async def wait_for_phase(console: Console, phase: str, percent: float = 0.0) -> Event:
    """Wait until the last span is in `phase` with at least this progress. Return it."""

    async def find_span() -> Event | None:
        span_list = await spans(console)
        last = span_list[-1] if span_list else None
        return last if last and last.details["phase"] == phase and last.details["percent"] >= percent else None

    event: Event = await wait_until(find_span)
    return event


async def test_a_resync_passes_all_phases_in_one_span(console: Console, agents: FakeAgents) -> None:
    set_replies(agents, WAITING)
    await active_database.set_observed_state(console, 4, link="link_down")
    async with running(console):
        first = await wait_for_phase(console, "waiting")
        assert first.details["percent"] == 0
        assert (first.shard_uid, first.node_uid, first.bdb_uid, first.ended_at) == (4, 2, 1, None)
        saving = "rdb_bgsave_in_progress:1\r\ncurrent_save_keys_total:1000\r\nused_memory_dataset:9000\r\n"
        set_replies(
            agents, SYNC + "master_sync_read_bytes:100\r\n", primary=saving + "current_save_keys_processed:10\r\n"
        )
        await wait_for_phase(console, "transfer")
        set_replies(
            agents, SYNC + "master_sync_read_bytes:5000\r\n", primary=saving + "current_save_keys_processed:500\r\n"
        )
        sending = await wait_for_phase(console, "transfer", 20.0)
        assert (sending.details["bytes"], sending.details["pair"], sending.details["primary"]) == (5000, 0, 1)
        assert sending.details["rate"] > 0
        assert sending.details["bytes_total"] is None, "a diskless sync reports no size"
        engine = "loading:1\r\nloading_total_bytes:9000\r\nloading_loaded_perc:50.00\r\nloading_eta_seconds:3\r\n"
        set_replies(agents, SYNC, persistence=engine)
        loading = await wait_for_phase(console, "load", sending.details["percent"])
        assert loading.details["bytes_total"] == 9000
        assert loading.details["eta_seconds"] >= 0
        agents.info[1, "replication"] = "role:master\r\nmaster_repl_offset:90000000\r\n"
        set_replies(agents, LINK_UP + "slave_repl_offset:50000000\r\n")
        await wait_for_phase(console, "catching_up", loading.details["percent"])
        set_replies(agents, LINK_UP + "slave_repl_offset:89999999\r\n")
        await active_database.set_observed_state(console, 4, link="idle")
        final_span = await wait_for_phase(console, "in_sync", 100)
        assert final_span.uid == first.uid
        await wait_until(lambda: ended(console))
    [span] = await spans(console)
    assert (span.details["open"], span.details["outcome"], span.details["eta_seconds"]) == (False, "in_sync", None)
    phases = span.details["phases"]
    assert [phase["name"] for phase in phases] == ["waiting", "transfer", "load", "catching_up", "in_sync"]
    assert [phase["ended"] for phase in phases[:-1]] == [phase["started"] for phase in phases[1:]]
    assert phases[-1]["ended"] is not None
    assert span.ended_at is not None


async def ended(console: Console) -> bool:
    return (await spans(console))[-1].ended_at is not None


async def test_a_resync_of_a_shard_that_dies_is_lost(console: Console, agents: FakeAgents) -> None:
    set_replies(agents, WAITING)
    await active_database.set_observed_state(console, 4, link="link_down")
    async with running(console):
        await wait_for_phase(console, "waiting")
        await active_database.kill_shards(console, agents, 4)
        await wait_until(lambda: ended(console))
    [span] = await spans(console)
    assert (span.details["outcome"], span.details["open"]) == ("lost", False)


async def test_a_new_console_continues_the_same_span_and_percent(console: Console, agents: FakeAgents) -> None:
    set_replies(agents, SYNC, persistence="loading:1\r\nloading_total_bytes:9000\r\nloading_loaded_perc:50.00\r\n")
    await active_database.set_observed_state(console, 4, link="in_progress")
    async with running(console):
        await wait_for_phase(console, "load", 1.0)
    [first] = await spans(console)
    set_replies(agents, WAITING)
    async with running(console) as second:
        await wait_until(lambda: 4 in second._tasks)
        before = len(agents.commands)
        await wait_until(lambda: len(agents.commands) > before + 20)
    [span] = await spans(console)
    assert (span.uid, span.details["phase"]) == (first.uid, "load")
    assert span.details["percent"] >= first.details["percent"]
    assert [phase["name"] for phase in span.details["phases"]] == ["load"]


async def test_a_new_console_closes_a_span_of_a_finished_resync(console: Console, agents: FakeAgents) -> None:
    set_replies(agents, WAITING)
    await active_database.set_observed_state(console, 4, link="link_down")
    async with running(console):
        await wait_for_phase(console, "waiting")
    await active_database.set_observed_state(console, 4, link="idle")
    async with running(console):
        await wait_until(lambda: ended(console))
    [span] = await spans(console)
    assert (span.details["outcome"], span.details["open"]) == ("unknown", False)


async def test_a_span_is_closed_later_if_its_end_cannot_be_written(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = resync_span.ResyncSpan.write

    async def store_unavailable(span: resync_span.ResyncSpan, *, ended: str = "") -> None:
        if ended:
            raise ConnectionRefusedError("no store")
        await original(span)

    monkeypatch.setattr(resync_span.ResyncSpan, "write", store_unavailable)
    set_replies(agents, WAITING)
    await active_database.set_observed_state(console, 4, link="link_down")
    async with running(console):
        await wait_for_phase(console, "waiting")
        set_replies(agents, LINK_UP)
        await active_database.set_observed_state(console, 4, link="idle")
        await wait_until(lambda: ended(console))
    [span] = await spans(console)
    assert span.details["open"] is False


async def test_shards_without_a_reachable_primary_have_no_resync(console: Console, agents: FakeAgents) -> None:
    await active_database.kill_shards(console, agents, 1)
    await active_database.set_observed_state(
        console, 4, link="link_down"
    )  # its primary is dead, so there is nothing to copy from
    await active_database.set_observed_state(console, 5, status="timeout", link="link_down")
    collector = ResyncCollector(console.store, console.bus, console.agents)
    await collector._sweep()
    assert collector._tasks == {}
    assert await spans(console) == []


async def test_a_short_link_failure_is_not_a_resync(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resyncs, "SHORT_INTERRUPTION_SECONDS", 60)
    set_replies(agents, WAITING)
    await active_database.set_observed_state(console, 4, link="link_down")
    async with running(console) as collector:
        await wait_for_polls(console, agents)
        set_replies(agents, LINK_UP)
        await wait_until(lambda: not collector._tasks)
        polls = len(agents.commands)
        await collector._sweep()
        assert collector._tasks == {}, "the samples are outdated, and the replica is in sync"
        assert len(agents.commands) == polls
    assert await spans(console) == []


async def test_a_resync_that_copies_data_is_recorded_at_once(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resyncs, "SHORT_INTERRUPTION_SECONDS", 60)
    set_replies(agents, SYNC + "master_sync_read_bytes:5000\r\n")
    await active_database.set_observed_state(console, 4, link="link_down")
    async with running(console):
        await wait_until(lambda: spans(console))
    assert (await spans(console))[0].details["phase"] == "transfer"


async def test_a_resync_that_ends_before_the_first_poll_is_recorded(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resyncs, "SHORT_INTERRUPTION_SECONDS", 60)
    monkeypatch.setattr(resyncs, "RECENT_START", timedelta(hours=1))
    started_at = datetime.now(UTC) - timedelta(seconds=1)
    async with console.store.begin() as session:
        (await session.get_one(Shard, 4)).observed_started_at = started_at
    set_replies(agents, LINK_UP)
    await active_database.set_observed_state(console, 4, link="link_down")
    async with running(console):
        await wait_until(lambda: spans(console))
    [span] = await spans(console)
    assert (span.time, span.details["percent"], span.details["outcome"]) == (started_at, 100.0, "in_sync")
    assert span.ended_at is not None


async def test_progress_of_an_empty_replica_is_measured_in_keys(console: Console, agents: FakeAgents) -> None:
    saving = "rdb_bgsave_in_progress:1\r\ncurrent_save_keys_total:1000\r\ncurrent_save_keys_processed:0\r\n"
    streaming = "loading:1\r\nloading_total_bytes:0\r\nloading_loaded_bytes:{0}0\r\nrdb_last_load_keys_loaded:{0}\r\n"
    set_replies(agents, SYNC, persistence=streaming.format(0), primary=saving)
    await active_database.set_observed_state(console, 4, link="in_progress")
    async with running(console):
        await wait_for_phase(console, "transfer")
        set_replies(agents, SYNC, persistence=streaming.format(800), primary=saving)
        half = await wait_for_phase(console, "transfer", 1.0)
        assert (half.details["bytes"], half.details["bytes_total"]) == (8000, None)
        set_replies(agents, LINK_UP)
        await wait_for_phase(console, "in_sync", 100)
    [span] = await spans(console)
    assert [phase["name"] for phase in span.details["phases"]] == ["transfer", "in_sync"]


async def test_the_load_rate_is_taken_from_the_last_resync(console: Console, agents: FakeAgents) -> None:
    moments = [f"2025-01-01T00:00:{second:02}.000Z" for second in (0, 9, 12)]
    phases = [
        {"name": "transfer", "started": moments[0], "ended": moments[1]},
        {"name": "load", "started": moments[1], "ended": moments[2]},
    ]
    async with console.store.begin() as session:
        past_resync = events.record(
            session,
            "resync",
            "",
            source="shard",
            bdb_uid=active_database.BDB,
            shard_uid=5,
            details={"phases": phases, "phase": "in_sync", "percent": 100.0, "bytes_total": 9000},
        )
        past_resync.ended_at = datetime.now(UTC)
        rows = {row.uid: row for row in await shards.list_all(session)}
    span = ResyncSpan(console.store, rows[4], rows[1])
    await span.resume()
    assert span.load_rate == 3000
    span.advance(ResyncPoll("load", 0, total=9000, share=0.0, memory=9000))
    assert span.progress.seconds_left == 3.0
