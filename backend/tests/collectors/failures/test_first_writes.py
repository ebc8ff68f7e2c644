"""The second by which writes succeeded again after a failover."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from backend.tests.collectors.samples import sample, shard

from shardboard.collectors.failures import first_writes
from shardboard.collectors.failures.first_writes import FirstWriteCollector, first_write
from shardboard.console import Console
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event

pytestmark = pytest.mark.store


def test_only_writes_between_two_samples_of_a_primary_count() -> None:
    replica, promoted = (10, 0.0, 100.0), (11, 1.0, 150.0)  # the difference may be replication traffic
    assert first_write([replica, promoted], 9.5) is None
    assert first_write([replica, promoted, (12, 1.0, 150.0), (13, 1.0, 151.0)], 9.5) == 13
    assert first_write([replica, promoted, (13, 1.0, 151.0)], 9.5) == 13, "a gap does not matter"
    assert first_write([promoted, (12, 1.0, 151.0)], 12.5) is None, "these writes were before the failover"
    assert first_write([promoted, (12, 1.0, None), (13, 1.0, 200.0)], 9.5) is None
    assert first_write([], 0.0) is None


async def record_failover(console: Console, moment: datetime) -> int:
    async with console.store.begin() as session:
        event = events.record(session, "shard_failover", "", source="shard", shard_uid=4, details={"promoted": 4})
        event.time = moment
        await session.flush()
        return event.uid


async def get_event(console: Console, uid: int) -> Event:
    async with console.store.read() as session:
        event = await events.by_uid(session, uid)
    assert event is not None
    return event


async def test_the_first_write_is_added_to_the_failover_event(console: Console) -> None:
    now = int(time.time()) - 5
    uid = await record_failover(console, datetime.fromtimestamp(now + 0.5, UTC))
    collector = FirstWriteCollector(console.store, console.bus, console.live)
    console.live.ingest(1, sample(now + 1, {4: shard(write_cmds=5.0)}))
    await collector.update({uid})
    assert "first_write_by" not in (await get_event(console, uid)).details
    console.live.ingest(1, sample(now + 2, {4: shard(write_cmds=6.0)}))
    await collector.update(set())
    first_write_by = (await get_event(console, uid)).details["first_write_by"]
    assert first_write_by == datetime.fromtimestamp(now + 2, UTC).isoformat().replace("+00:00", "Z")
    assert collector._open == set()


async def test_without_writes_the_search_is_given_up(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_writes, "MAX_WAIT", timedelta(seconds=1))
    uid = await record_failover(console, datetime.now(UTC) - timedelta(seconds=2))
    await FirstWriteCollector(console.store, console.bus, console.live).update({uid})
    assert (await get_event(console, uid)).details["first_write_by"] is None
