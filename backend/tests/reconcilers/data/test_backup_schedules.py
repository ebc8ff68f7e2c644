"""Tests of the loop that starts scheduled backups, with a clock that the tests set."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from backend.tests.reconcilers.loop_helpers import events_of_bdb
from backend.tests.support import active_database, stored_backups
from backend.tests.support.active_database import BDB
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.console import Console
from shardboard.domain.cluster.actions import ActionName, ActionStatus
from shardboard.driver.fake_agents import FakeAgents
from shardboard.reconcilers.data.backup_schedules import BackupScheduleLoop
from shardboard.services.loop_requests import LoopRequests
from shardboard.state.cluster import actions
from shardboard.state.cluster.nodes import Node
from shardboard.state.data import backup_schedules
from shardboard.state.data.backup_schedules import BackupSchedule
from shardboard.state.data.backups import Backup
from shardboard.state.databases.bdbs import Bdb

START = datetime(2026, 11, 30, 0, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Clock:
    now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def loop(console: Console, agents: FakeAgents, nodes: list[Node], clock: Clock) -> BackupScheduleLoop:
    """A loop that has found the hourly schedule of database 1 at 00:30, with a window of 20 minutes."""
    await active_database.create_active_database(console, agents)
    location_uid = await stored_backups.add_location(console)
    await schedule(console, cron="0 * * * *", window_minutes=20)
    await stored_backups.configure(console, BDB, backup=True, backup_location_uid=location_uid)
    return await loop_after_start(console, clock)


async def loop_after_start(console: Console, clock: Clock, requests: Any = None) -> BackupScheduleLoop:
    loop = BackupScheduleLoop(console.store, console.bus, requests or LoopRequests(), clock)
    await loop.sweep()
    return loop


async def schedule(console: Console, **changes: Any) -> None:
    defaults = {"cron": "", "time_zone": "UTC", "window_minutes": 60, "verify": False}
    await stored_backups.configure(console, BDB, backup_schedule={**defaults, **changes})


async def sweep_at(loop: BackupScheduleLoop, clock: Clock, now: datetime) -> None:
    clock.now = now
    await loop.sweep()


async def schedule_rows(console: Console) -> list[BackupSchedule]:
    async with console.store.read() as session:
        return list(await backup_schedules.list_all(session))


async def finish_backups(console: Console) -> None:
    async with console.store.begin() as session:
        for action in await actions.list_open_for_bdb(session, BDB):
            action.status, action.finished_at = ActionStatus.COMPLETED, datetime.now(UTC)


async def skipped(console: Console) -> list[str]:
    return [each.description for each in await events_of_bdb(console, BDB) if each.type == "backup_skipped"]


async def test_a_due_backup_is_started_once(console: Console, loop: BackupScheduleLoop, clock: Clock) -> None:
    assert await stored_backups.all_backups(console) == [], "the time before the schedule was set is not due"
    [row] = await schedule_rows(console)
    assert (row.schedule, row.since, row.next_at) == ("0 * * * * (UTC)", START, START + HOUR / 2)
    await sweep_at(loop, clock, START + HOUR / 2 + timedelta(seconds=2))
    await loop.sweep()
    [backup] = await stored_backups.all_backups(console)
    assert (backup.trigger, backup.status, backup.location_name) == ("schedule", "running", "vault")
    async with console.store.read() as session:
        [action] = await actions.list_open_for_bdb(session, BDB)
    assert (action.name, action.originator) == (ActionName.BACKUP_BDB, "system")
    [row] = await schedule_rows(console)
    assert (row.handled_until, row.next_at) == (START + HOUR / 2, START + 3 * HOUR / 2)


async def test_a_busy_database_is_backed_up_later_in_the_window(
    console: Console, loop: BackupScheduleLoop, clock: Clock
) -> None:
    await sweep_at(loop, clock, START + HOUR / 2)
    await sweep_at(loop, clock, START + 3 * HOUR / 2)
    assert len(await stored_backups.all_backups(console)) == 1
    [row] = await schedule_rows(console)
    assert row.waiting_for == "Another action is running on shop; try again when it has finished."
    await finish_backups(console)
    await sweep_at(loop, clock, START + 3 * HOUR / 2 + timedelta(minutes=19))
    assert len(await stored_backups.all_backups(console)) == 2
    assert [each.waiting_for for each in await schedule_rows(console)] == [""]
    assert await skipped(console) == []


async def test_a_backup_that_finds_the_database_busy_until_its_window_ends_is_skipped(
    console: Console, loop: BackupScheduleLoop, clock: Clock
) -> None:
    await sweep_at(loop, clock, START + HOUR / 2)
    await sweep_at(loop, clock, START + 3 * HOUR / 2)
    await sweep_at(loop, clock, START + 3 * HOUR / 2 + timedelta(minutes=20))
    assert await skipped(console) == [
        (
            "The backup of shop that was due at 2026-11-30 02:00 UTC was skipped, because no backup could be started within 20 "
            "minutes. Another action is running on shop; try again when it has finished."
        )
    ]
    await finish_backups(console)
    await loop.sweep()
    assert len(await stored_backups.all_backups(console)) == 1
    await sweep_at(loop, clock, START + 5 * HOUR / 2)
    assert len(await stored_backups.all_backups(console)) == 2


async def test_a_console_that_was_down_catches_up_one_backup_and_reports_the_others(
    console: Console, loop: BackupScheduleLoop, clock: Clock
) -> None:
    clock.now = START + 5 * HOUR + 2 * HOUR / 3  # 06:10
    await loop_after_start(console, clock)
    assert len(await stored_backups.all_backups(console)) == 1
    assert await skipped(console) == [
        (
            "5 backups of shop that were due from 2026-11-30 01:00 UTC to 2026-11-30 05:00 UTC were skipped, because no backup "
            "could be started within 20 minutes. No console was running, or a later backup was due."
        )
    ]


async def test_a_console_killed_during_the_start_starts_the_backup_again(
    console: Console, loop: BackupScheduleLoop, clock: Clock
) -> None:
    class Killed(LoopRequests):
        async def start_backup(self, session: AsyncSession, bdb: Bdb) -> Backup:
            await super().start_backup(session, bdb)
            raise SystemExit

    clock.now = START + HOUR / 2
    with pytest.raises(SystemExit):
        await loop_after_start(console, clock, Killed())
    assert await stored_backups.all_backups(console) == []
    await loop.sweep()
    assert len(await stored_backups.all_backups(console)) == 1


async def test_a_changed_schedule_starts_again(console: Console, loop: BackupScheduleLoop, clock: Clock) -> None:
    await schedule(console, cron="15 * * * *", time_zone="Asia/Kathmandu")  # UTC+05:45: at minute 30 of UTC
    await sweep_at(loop, clock, START + 2 * HOUR)
    [row] = await schedule_rows(console)
    assert (row.since, row.next_at) == (START + 2 * HOUR, START + 3 * HOUR)
    assert await stored_backups.all_backups(console) == []


async def test_a_schedule_that_is_turned_off_is_removed(
    console: Console, loop: BackupScheduleLoop, clock: Clock
) -> None:
    await stored_backups.configure(console, BDB, backup=False)
    await sweep_at(loop, clock, START + HOUR)
    assert await schedule_rows(console) == []
    assert await stored_backups.all_backups(console) == []


async def test_a_location_that_was_lost_is_reported(console: Console, loop: BackupScheduleLoop, clock: Clock) -> None:
    await stored_backups.configure(console, BDB, backup_location_uid=9)
    await sweep_at(loop, clock, START + HOUR / 2)
    assert [each.waiting_for for each in await schedule_rows(console)] == ["Backup location 9 does not exist."]
    await sweep_at(loop, clock, START + HOUR)
    assert "Backup location 9 does not exist." in (await skipped(console))[0]


async def test_after_the_clock_was_a_year_ahead_backups_continue(
    console: Console, loop: BackupScheduleLoop, clock: Clock
) -> None:
    await sweep_at(loop, clock, START + timedelta(days=365) + HOUR / 2)
    await finish_backups(console)
    await sweep_at(loop, clock, START)
    [row] = await schedule_rows(console)
    assert (row.handled_until, row.since, row.next_at) == (START, START, START + HOUR / 2)
    await sweep_at(loop, clock, START + HOUR / 2)
    assert len(await stored_backups.all_backups(console)) == 2
