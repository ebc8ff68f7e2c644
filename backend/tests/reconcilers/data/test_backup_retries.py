"""Backups that fail: they are resumed with the files that are missing, by users or automatically, also if consoles are killed."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from backend.tests.reconcilers.data.data_helpers import (
    KEYS,
    add_location,
    complete_all,
    get_backup,
    running,
    snapshot_result,
    start_backup,
    started,
    wait_for_backup,
)
from backend.tests.reconcilers.loop_helpers import Gate, create_active_database, events_of_bdb, shard_rows
from backend.tests.support.case_sampling import Sampling
from backend.tests.support.real_shards import wait_until
from backend.tests.support.stored_backups import configure

from shardboard.collectors.data.backup_alarms import read_backup_alarms
from shardboard.console import Console
from shardboard.domain.data import backup_plan, backup_retries
from shardboard.domain.data.manifest import parse
from shardboard.driver.fake_agents import FakeAgents
from shardboard.reconcilers.data.backup_schedules import BackupScheduleLoop
from shardboard.services.loop_requests import LoopRequests
from shardboard.state.cluster import actions
from shardboard.state.data import backups
from shardboard.state.data.backups import Backup
from shardboard.state.databases import bdbs
from shardboard.state.databases.shards import Shard

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes", "short_backup_intervals")]


async def fail_one_pair(agents: FakeAgents, bdb_uid: int) -> None:
    """Let all pairs succeed except the first one, each of whose snapshots fails."""
    # Nodes may still store transfers of earlier backups.
    ended, earlier = set[str](), set(started(agents, "snapshot"))
    agents.transfer_results = {"delete_files": {}}

    def fail_first() -> bool:
        for identity in set(started(agents, "snapshot")) - ended - earlier:
            ended.add(identity)
            path = agents.started_transfers[identity][1].transfer.path  # type: ignore[union-attr]
            if "/0-" in path:
                agents.end_transfer(identity, error="The upload failed.", error_code="upload-error")
            else:
                agents.end_transfer(identity, snapshot_result())
        return len(ended) == 3 + backup_plan.MAX_ATTEMPTS - 1

    await wait_until(fail_first)


async def fail_backup(client: httpx.AsyncClient, console: Console, agents: FakeAgents, bdb_uid: int) -> int:
    """Make a backup of which two of three files are complete."""
    uid = await start_backup(client, bdb_uid)
    async with running(console):
        await fail_one_pair(agents, bdb_uid)
        backup = await wait_for_backup(console, uid, "failed")
    assert (backup["resumable_until"] is not None, backup["retry_at"]) == (True, None)
    return uid


async def resume(client: httpx.AsyncClient, uid: int) -> None:
    reply = await client.post(f"/v1/backups/{uid}/actions/resume")
    assert reply.status_code == 200, reply.text
    assert reply.json()["backup_uid"] == uid


async def change_backup(console: Console, uid: int, **columns: Any) -> None:
    async with console.store.begin() as session:
        row = await session.get_one(Backup, uid)
        for name, value in columns.items():
            setattr(row, name, value)


async def test_a_resumed_backup_takes_only_the_missing_snapshots(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    bdb_uid = await create_active_database(console)
    await add_location(client)
    uid = await fail_backup(client, console, agents, bdb_uid)
    before = started(agents, "snapshot")
    assert started(agents, "delete_files") == []
    await resume(client, uid)
    complete_all(agents)
    async with running(console):
        backup = await wait_for_backup(console, uid, "succeeded")
    assert (backup["runs"], backup["keys"], backup["resumable_until"]) == (2, 3 * KEYS, None)
    [again] = [each for each in started(agents, "snapshot") if each not in before]
    request: Any = agents.started_transfers[again][1].transfer
    assert request.path.endswith("/0-5460-4.rdb.zst"), "each attempt writes another file"
    write: Any = agents.started_transfers[started(agents, "write_file")[-1]][1].transfer
    names = [each.name for each in parse(json.loads(write.text)).files]
    assert {f"{backup['path']}/{name}" for name in names} == write.expected.keys(), "files of the first run must exist"
    types = [event.type for event in await events_of_bdb(console, bdb_uid)]
    assert types[-4:] == ["backup_started", "backup_failed", "backup_started", "backup_succeeded"]


async def test_killed_at_every_step_a_resumed_backup_completes(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, sampling: Sampling
) -> None:
    bdb_uid = await create_active_database(console)
    await add_location(client)
    for closed_at in sampling.kill_steps(3, 200):
        uid = await fail_backup(client, console, agents, bdb_uid)
        await resume(client, uid)
        complete_all(agents)
        before, gate = len(started(agents, "snapshot")), Gate(closed_at)
        async with running(console, gate):
            ending = asyncio.create_task(wait_for_backup(console, uid, "succeeded"))
            killed = asyncio.create_task(gate.reached.wait())
            await asyncio.wait({ending, killed}, return_when=asyncio.FIRST_COMPLETED)
        async with running(console):
            backup = await ending
        killed.cancel()
        assert backup["keys"] == 3 * KEYS, closed_at
        assert len(started(agents, "snapshot")) == before + 1, f"one snapshot is missing, killed at step {closed_at}"
        if gate.passed < closed_at:
            return
    raise AssertionError("the operation never completed")


async def test_a_resumed_backup_has_a_limited_number_of_attempts(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    bdb_uid = await create_active_database(console)
    await add_location(client)
    uid = await fail_backup(client, console, agents, bdb_uid)
    await resume(client, uid)
    agents.transfer_refused = "The disk is full."
    async with running(console):
        backup = await wait_for_backup(console, uid, "failed")
    assert backup["runs"] == 2
    assert "in 3 attempts. The disk is full." in backup["detail"]
    async with console.store.read() as session:
        rows = await backups.list_failed(session)
    assert [row.uid for row in rows] == [uid], "it can be resumed again"


async def test_backups_are_not_resumed_after_changes(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    bdb_uid = await create_active_database(console)
    await add_location(client)
    uid = await fail_backup(client, console, agents, bdb_uid)

    async def obstacle() -> str:
        reply = await client.post(f"/v1/backups/{uid}/actions/resume")
        assert (reply.status_code, reply.json()["error_code"]) == (406, "backup_not_resumable"), reply.text
        description: str = reply.json()["description"]
        return description

    pairs = {row.uid: row.slots for row in await shard_rows(console, bdb_uid) if row.pair == 0}
    for slots, message in (("0-99", "slots of the shards have changed"), (next(iter(pairs.values())), "")):
        async with console.store.begin() as session:
            for shard_uid in pairs:
                (await session.get_one(Shard, shard_uid)).slots = slots
        if message:
            assert message in await obstacle()
    assert (await client.put(f"/v1/bdbs/{bdb_uid}/flush")).status_code == 200
    async with console.store.begin() as session:
        bdb = await session.get_one(bdbs.Bdb, bdb_uid)
        for action in await actions.list_open_for_bdb(session, bdb_uid):
            action.status, action.finished_at = "completed", datetime.now(UTC)
        bdb.action_uid, bdb.status = None, "active"
    assert "were replaced or deleted" in await obstacle()
    await change_backup(console, uid, resumable_until=datetime.now(UTC))
    assert "no longer kept" in await obstacle()


@pytest.mark.parametrize("by", ["time", "another backup"])
async def test_files_of_failed_backups_are_deleted_later(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, by: str
) -> None:
    bdb_uid = await create_active_database(console)
    await add_location(client)
    uid = await fail_backup(client, console, agents, bdb_uid)
    if by == "time":
        await change_backup(console, uid, resumable_until=datetime.now(UTC))
    else:
        await start_backup(client, bdb_uid)
    complete_all(agents)
    async with running(console):
        await wait_until(lambda: bool(started(agents, "delete_files")))
    request: Any = agents.started_transfers[started(agents, "delete_files")[0]][1].transfer
    backup = await get_backup(console, uid)
    assert backup is not None
    assert backup["resumable_until"] is None
    assert request.paths[0] == f"{backup['path']}/manifest.json"
    assert len(request.paths) == 1 + 3 + backup_plan.MAX_ATTEMPTS - 1


class ScheduledBackups:
    """Scheduled backups of a database with a clock that the test sets."""

    def __init__(self, client: httpx.AsyncClient, console: Console, agents: FakeAgents, bdb_uid: int) -> None:
        self.client, self.console, self.agents, self.bdb_uid = client, console, agents, bdb_uid
        self.now = datetime.now(UTC) - timedelta(minutes=3)
        self.loop = BackupScheduleLoop(console.store, console.bus, LoopRequests(), lambda: self.now)

    async def start(self) -> None:
        """Start a schedule whose next time is in about a day, and the backup that is due."""
        offset = int((self.now + timedelta(minutes=1)).timestamp()) % 86_400
        fields = {"backup_interval": 86_400, "backup_interval_offset": offset}
        await configure(self.console, self.bdb_uid, backup=True, backup_location_uid=1, **fields)
        await self.loop.sweep()
        await self.pass_time(timedelta(minutes=2))

    async def pass_time(self, time: timedelta) -> None:
        self.now += time
        await self.loop.sweep()

    async def all(self) -> list[dict[str, Any]]:
        """Return all backups, oldest first."""
        rows: list[dict[str, Any]] = (await self.client.get("/v1/backups")).json()
        return rows[::-1]

    async def alarms(self) -> list[str]:
        async with self.console.store.read() as session:
            databases = await bdbs.list_all(session)
            return [each.type for each in await read_backup_alarms(session, databases, datetime.now(UTC))]


@pytest.fixture
async def scheduled(client: httpx.AsyncClient, console: Console, agents: FakeAgents) -> ScheduledBackups:
    bdb_uid = await create_active_database(console)
    await add_location(client)
    return ScheduledBackups(client, console, agents, bdb_uid)


async def test_a_failed_scheduled_backup_is_resumed_without_an_alarm(scheduled: ScheduledBackups) -> None:
    await scheduled.start()
    async with running(scheduled.console):
        await fail_one_pair(scheduled.agents, scheduled.bdb_uid)
        backup = await wait_for_backup(scheduled.console, 1, "failed")
    [state] = (await scheduled.client.get("/v1/backup_schedules")).json()
    assert state["retry_at"] == backup["retry_at"] is not None
    assert await scheduled.alarms() == []
    event = (await events_of_bdb(scheduled.console, scheduled.bdb_uid))[-1]
    assert (event.type, event.severity) == ("backup_failed", "WARNING")
    assert "It is retried at " in event.description
    await scheduled.pass_time(timedelta(minutes=2))
    assert [each["status"] for each in await scheduled.all()] == ["failed"]
    await scheduled.pass_time(timedelta(minutes=10))
    before = len(started(scheduled.agents, "snapshot"))
    complete_all(scheduled.agents)
    async with running(scheduled.console):
        await wait_for_backup(scheduled.console, 1, "succeeded")
    assert len(started(scheduled.agents, "snapshot")) == before + 1


async def test_retries_are_limited_and_then_raise_an_alarm(scheduled: ScheduledBackups) -> None:
    """No file is complete, so each retry is another backup."""
    scheduled.agents.transfer_refused = "The disk is full."
    await scheduled.start()
    for number in range(1, len(backup_retries.DELAYS) + 2):
        assert await scheduled.alarms() == [], "also while a retry runs"
        async with running(scheduled.console):
            backup = await wait_for_backup(scheduled.console, number, "failed")
        assert backup["runs"] == number
        await scheduled.pass_time(timedelta(hours=1))
    assert len(await scheduled.all()) == number
    assert backup["retry_at"] is None
    assert await scheduled.alarms() == ["alarm_backup_failed"]
    assert (await events_of_bdb(scheduled.console, scheduled.bdb_uid))[-1].severity == "ERROR"


async def test_a_retry_waits_for_other_actions_and_ends_with_the_schedule(scheduled: ScheduledBackups) -> None:
    scheduled.agents.transfer_refused = "The disk is full."
    await scheduled.start()
    async with running(scheduled.console):
        await wait_for_backup(scheduled.console, 1, "failed")
    assert (await scheduled.client.put(f"/v1/bdbs/{scheduled.bdb_uid}/flush")).status_code == 200
    await scheduled.pass_time(timedelta(hours=1))
    [state] = (await scheduled.client.get("/v1/backup_schedules")).json()
    assert "is running on" in state["waiting_for"] or "try again" in state["waiting_for"]
    await configure(scheduled.console, scheduled.bdb_uid, backup=False)
    await scheduled.loop.sweep()
    await scheduled.loop.sweep()
    assert [each["retry_at"] for each in await scheduled.all()] == [None]


@pytest.mark.parametrize(
    ("runs", "next_due", "expected"), [(1, 60, 5), (2, 60, 15), (3, 60, 45), (4, 60, None), (1, 5, None), (3, 40, None)]
)
def test_delays_grow_until_the_next_due_time(runs: int, next_due: int, expected: int | None) -> None:
    now = datetime(2026, 11, 30, tzinfo=UTC)
    found = backup_retries.retry_time(now, runs, now + timedelta(minutes=next_due))
    assert found == (now + timedelta(minutes=expected) if expected is not None else None)
    assert backup_retries.retry_time(now, 1, None) == now + timedelta(minutes=5)
