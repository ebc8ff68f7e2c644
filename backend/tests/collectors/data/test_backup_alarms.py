"""Tests of the alarms about backups that the console raises from its store."""

from datetime import UTC, datetime, timedelta

import pytest
from backend.tests.support import active_database, stored_backups
from backend.tests.support.active_database import BDB

from shardboard.collectors.alerting.alarms import AlarmCollector
from shardboard.collectors.pulse import Pulses
from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.alerting import events
from shardboard.state.cluster.nodes import Node
from shardboard.state.data.backup_schedules import BackupSchedule
from shardboard.state.data.recordings import Recording
from shardboard.state.databases.bdbs import Bdb

HOUR = timedelta(hours=1)


@pytest.fixture
async def collector(console: Console, agents: FakeAgents, nodes: list[Node]) -> AlarmCollector:
    await active_database.create_active_database(console, agents)
    return AlarmCollector(console.store, console.bus, console.live, Pulses(), console.agents, dict)


async def backup_alarms(console: Console, collector: AlarmCollector) -> set[str]:
    await collector.read_store()
    await collector.evaluate(0)
    async with console.store.read() as session:
        return {each.type for each in await events.list_open_alarms(session) if "backup" in each.type}


async def test_alarms_follow_the_backups_of_a_database(console: Console, collector: AlarmCollector) -> None:
    now = datetime.now(UTC)
    assert await backup_alarms(console, collector) == set()
    await stored_backups.add_backup(console, BDB, now - 9 * HOUR, raw_bytes=10**9)
    await stored_backups.add_backup(console, BDB, now - 8 * HOUR, raw_bytes=10**8, kind="export")
    assert await backup_alarms(console, collector) == set()
    await stored_backups.add_backup(
        console, BDB, now - 7 * HOUR, status="failed", detail="403.", error_code="no-permission"
    )
    assert await backup_alarms(console, collector) == {"alarm_backup_location"}
    verified = {"at": "", "ok": False, "detail": "2 slots differ.", "seconds": 1.0, "keys": 3}
    await stored_backups.add_backup(console, BDB, now - 6 * HOUR, raw_bytes=10**8, verified=verified)
    assert await backup_alarms(console, collector) == {"alarm_bdb_backup_size_changed", "alarm_backup_verification"}


async def test_a_late_scheduled_backup_raises_an_alarm_until_it_succeeds(
    console: Console, collector: AlarmCollector
) -> None:
    now = datetime.now(UTC)
    await stored_backups.configure(
        console, BDB, backup=True, backup_interval=3600, backup_location=stored_backups.LOCATION
    )
    async with console.store.begin() as session:
        started = now - 9 * HOUR
        session.add(BackupSchedule(bdb_uid=BDB, schedule="", since=started, handled_until=now, waiting_for=""))
    assert await backup_alarms(console, collector) == {"alarm_bdb_backup_delayed"}
    await stored_backups.add_backup(console, BDB, now)
    assert await backup_alarms(console, collector) == set()
    async with console.store.begin() as session:
        await session.delete(await session.get_one(Bdb, BDB))
    assert await backup_alarms(console, collector) == set()


async def test_changes_that_are_not_recorded_raise_an_alarm(console: Console, collector: AlarmCollector) -> None:
    now = datetime.now(UTC)
    await stored_backups.configure(
        console,
        BDB,
        backup=True,
        backup_location=stored_backups.LOCATION,
        backup_schedule={"cron": "0 2 * * *", "time_zone": "UTC", "window_minutes": 60, "record_changes": True},
    )
    async with console.store.begin() as session:
        (await session.get_one(Bdb, BDB)).created_at = now - 2 * HOUR
        session.add(
            BackupSchedule(bdb_uid=BDB, schedule="0 2 * * * (UTC)", since=now, handled_until=now, waiting_for="")
        )
        for pair, until in enumerate((now, now - HOUR)):
            session.add(
                Recording(
                    bdb_uid=BDB,
                    pair=pair,
                    slots="",
                    location=stored_backups.LOCATION,
                    folder=f"changes/{pair}",
                    segment_seconds=30,
                    created_at=now - HOUR,
                    recorded_until=until,
                    detail="The bucket does not exist." if pair else "",
                )
            )
    await collector.read_store()
    await collector.evaluate(0)
    async with console.store.read() as session:
        [alarm] = [each for each in await events.list_open_alarms(session) if "recorded" in each.type]
    assert alarm.description.endswith("are not recorded. The bucket does not exist.")
