"""By which second writes were good again after a failover."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from backend.tests.collectors.samples import sample, shard

from shardboard.collectors import first_writes
from shardboard.collectors.first_writes import FirstWrites, first_write
from shardboard.console import Console
from shardboard.state import events
from shardboard.state.events import Event

pytestmark = pytest.mark.store


def test_only_what_is_added_between_two_samples_of_a_primary_counts() -> None:
    replica, taken_over = (10, 0.0, 100.0), (11, 1.0, 150.0)  # what was added in between may be replication
    assert first_write([replica, taken_over], 9.5) is None
    assert first_write([replica, taken_over, (12, 1.0, 150.0), (13, 1.0, 151.0)], 9.5) == 13
    assert first_write([replica, taken_over, (13, 1.0, 151.0)], 9.5) == 13, "a second is missing"
    assert first_write([taken_over, (12, 1.0, 151.0)], 12.5) is None, "that was before"
    assert first_write([taken_over, (12, 1.0, None), (13, 1.0, 200.0)], 9.5) is None
    assert first_write([], 0.0) is None


async def failover(console: Console, moment: datetime) -> int:
    async with console.store.begin() as session:
        event = events.record(session, "shard_failover", "", source="shard", shard_uid=4, details={"heir": 4})
        event.time = moment
        await session.flush()
        return event.uid


async def event(console: Console, uid: int) -> Event:
    async with console.store.read() as session:
        found = await events.by_uid(session, uid)
    assert found is not None
    return found


async def test_it_is_written_into_the_event_once_known(console: Console) -> None:
    now = int(time.time()) - 5
    uid = await failover(console, datetime.fromtimestamp(now + 0.5, UTC))
    looking = FirstWrites(console.store, console.bus, console.live)
    console.live.ingest(1, sample(now + 1, {4: shard(write_cmds=5.0)}))
    await looking.look({uid})
    assert "first_write_by" not in (await event(console, uid)).details
    console.live.ingest(1, sample(now + 2, {4: shard(write_cmds=6.0)}))
    await looking.look(set())
    told = (await event(console, uid)).details["first_write_by"]
    assert told == datetime.fromtimestamp(now + 2, UTC).isoformat().replace("+00:00", "Z")
    assert looking._open == set()


async def test_nobody_writes(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_writes, "GIVE_UP", timedelta(seconds=1))
    uid = await failover(console, datetime.now(UTC) - timedelta(seconds=2))
    await FirstWrites(console.store, console.bus, console.live).look({uid})
    assert (await event(console, uid)).details["first_write_by"] is None
