"""Tests of the loop that applies the retention rules."""

from datetime import UTC, datetime, timedelta

import pytest
from backend.tests.support import active_database, stored_backups
from backend.tests.support.active_database import BDB

from shardboard.console import Console
from shardboard.domain.data.retention import Rules
from shardboard.driver.fake_agents import FakeAgents
from shardboard.reconcilers.data.backup_retention import BackupRetentionLoop
from shardboard.services.loop_requests import LoopRequests
from shardboard.state.cluster.nodes import Node
from shardboard.state.data.restores import Restore
from shardboard.state.databases.bdbs import Bdb

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
async def loop(console: Console, agents: FakeAgents, nodes: list[Node]) -> BackupRetentionLoop:
    await active_database.create_active_database(console, agents)
    async with console.store.begin() as session:
        (await session.get_one(Bdb, BDB)).created_at = NOW - 100 * DAY
    return BackupRetentionLoop(console.store, console.bus, LoopRequests(), clock=lambda: NOW)


async def set_rules(console: Console, **rules: int) -> None:
    await stored_backups.configure(console, BDB, backup_retention=vars(Rules(**rules)))


async def statuses(console: Console) -> dict[int, str]:
    return {row.uid: row.status for row in await stored_backups.all_backups(console)}


async def test_backups_beyond_the_rules_are_deleted(console: Console, loop: BackupRetentionLoop) -> None:
    old = await stored_backups.add_backup(console, BDB, NOW - 9 * DAY)
    manual = await stored_backups.add_backup(console, BDB, NOW - 8 * DAY, trigger="manual")
    export = await stored_backups.add_backup(console, BDB, NOW - 8 * DAY, kind="export")
    kept = await stored_backups.add_backup(console, BDB, NOW - 5 * DAY)
    running = await stored_backups.add_backup(console, BDB, NOW - DAY, status="running")
    await set_rules(console, daily=1, days=3)
    await loop.sweep()
    assert await statuses(console) == {
        old: "deleting",
        manual: "succeeded",
        export: "succeeded",
        kept: "succeeded",
        running: "running",
    }
    rows = {row.uid: (row.kept_because, row.kept_until) for row in await stored_backups.all_backups(console)}
    assert rows[kept] == ("newest,days,daily", datetime(2026, 11, 28, 12, tzinfo=UTC))
    assert rows[manual] == ("manual", None)
    assert rows[running] == ("unfinished", None)
    [deleting] = [row for row in await stored_backups.all_backups(console) if row.uid == old]
    assert deleting.files_to_delete[0].endswith("/manifest.json")
    async with console.store.read() as session:
        assert not await loop.is_due(session), "a repeated poll finds nothing to do"


async def test_without_rules_nothing_is_deleted(console: Console, loop: BackupRetentionLoop) -> None:
    uids = [await stored_backups.add_backup(console, BDB, NOW - age * DAY) for age in range(3)]
    await loop.sweep()
    assert await statuses(console) == dict.fromkeys(uids, "succeeded")
    assert {row.kept_because for row in await stored_backups.all_backups(console)} == {"no_rules"}


async def test_backup_history_limits_the_number_of_backups(console: Console, loop: BackupRetentionLoop) -> None:
    uids = [await stored_backups.add_backup(console, BDB, NOW - age * DAY) for age in (3, 2, 1)]
    await stored_backups.configure(console, BDB, backup_history=2)
    await loop.sweep()
    assert await statuses(console) == {uids[0]: "deleting", uids[1]: "succeeded", uids[2]: "succeeded"}


async def test_a_backup_is_not_deleted_while_it_is_restored(console: Console, loop: BackupRetentionLoop) -> None:
    old = await stored_backups.add_backup(console, BDB, NOW - 9 * DAY)
    await stored_backups.add_backup(console, BDB, NOW)
    await set_rules(console, count=1)
    async with console.store.begin() as session:
        restore = Restore(
            bdb_uid=BDB,
            bdb_name="shop",
            kind="restore",
            backup_uid=old,
            source="",
            sources=[],
            mode="replace",
            status="running",
            created_at=NOW,
            originator="ann",
            action_uid="",
        )
        session.add(restore)
    await loop.sweep()
    assert (await statuses(console))[old] == "succeeded"
    async with console.store.begin() as session:
        (await session.get_one(Restore, restore.uid)).status = "succeeded"
    await loop.sweep()
    assert (await statuses(console))[old] == "deleting"


async def test_backups_of_deleted_databases_are_kept(console: Console, loop: BackupRetentionLoop) -> None:
    uids = [await stored_backups.add_backup(console, BDB, NOW - age * DAY) for age in (2, 1)]
    await set_rules(console, count=1)
    async with console.store.begin() as session:
        await session.delete(await session.get_one(Bdb, BDB))
    await loop.sweep()
    assert await statuses(console) == dict.fromkeys(uids, "succeeded")


async def test_backups_of_a_deleted_database_with_the_same_uid_are_kept(
    console: Console, loop: BackupRetentionLoop
) -> None:
    uids = [await stored_backups.add_backup(console, BDB, NOW - age * DAY) for age in (103, 102, 2, 1)]
    await set_rules(console, count=1)
    await loop.sweep()
    assert await statuses(console) == dict(zip(uids, ("succeeded", "succeeded", "deleting", "succeeded"), strict=True))


async def test_the_newest_backup_without_damage_is_kept(console: Console, loop: BackupRetentionLoop) -> None:
    damaged = {"at": "", "ok": False, "detail": "", "seconds": 1.0, "keys": 0}
    uids = [
        await stored_backups.add_backup(console, BDB, NOW - age * DAY, verified=damaged if age < 3 else None)
        for age in (4, 3, 2, 1)
    ]
    await set_rules(console, count=1)
    await loop.sweep()
    assert await statuses(console) == dict(zip(uids, ["deleting", "succeeded", "deleting", "succeeded"], strict=True))
