"""Tests of verifications with fake agents and a restore whose result the tests choose."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from backend.tests.reconcilers.loop_helpers import Gate, GatedStore, create_active_database, events_of_bdb, get_bdb
from backend.tests.support import stored_backups
from backend.tests.support.real_shards import wait_until
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.data_parameters import RestoreParameters
from shardboard.actions.verifications import VerificationParameters, queue_verification
from shardboard.console import Console
from shardboard.domain.cluster.actions import ActionName
from shardboard.driver.fake_agents import FakeAgents
from shardboard.errors import Conflict
from shardboard.kit import age_keys
from shardboard.reconcilers.data.temporary_databases import TemporaryDatabaseLoop
from shardboard.reconcilers.data.verifications.scheduled_verifications import ScheduledVerificationLoop
from shardboard.reconcilers.data.verifications.verifications import VerifyBackup
from shardboard.reconcilers.databases import bdbs as bdb_steppers
from shardboard.reconcilers.databases.endpoints import Endpoints
from shardboard.reconcilers.loop import ActionLoop, Outcome
from shardboard.reconcilers.placement.shard_removal import RemovalLoop
from shardboard.services.loop_requests import LoopRequests
from shardboard.state.cluster import actions
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster.actions import Action
from shardboard.state.cluster.nodes import Node
from shardboard.state.data import backups, transfers
from shardboard.state.data.backups import Backup
from shardboard.state.data.locations import BackupLocation
from shardboard.state.data.restores import Restore
from shardboard.state.databases import bdbs
from shardboard.state.databases.bdbs import Bdb
from shardboard.store.db import Store

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
MATCH = {"status": "succeeded", "restored": 3, "mismatched_slots": 0, "bytes": 100, "raw_bytes": 1000}


class FakeRestore:
    """Ends each restore with the chosen result."""

    def __init__(self, **result: Any) -> None:
        self.result = {"expired": 0, "unsupported": {}, "detail": "", **result}
        self.is_running = False

    async def step(self, action: Action) -> Outcome:
        if action.cancelled_by:
            return Outcome(cancelled=True)
        return Outcome(retry_in=0.01) if self.is_running else Outcome(finished=True)

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        await self._end(session, action, **self.result)

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        await self._end(session, action, status="cancelled", detail=reason)

    async def _end(self, session: AsyncSession, action: Action, **fields: Any) -> None:
        restore = await session.get_one(Restore, RestoreParameters.parse(action).restore_uid)
        for name, value in {**fields, "finished_at": datetime.now(UTC)}.items():
            setattr(restore, name, value)
        bdb = await session.get_one(Bdb, action.object_uid)
        bdb.status, bdb.action_uid = "active", None


@asynccontextmanager
async def running(console: Console, restore: FakeRestore, store: Store | None = None) -> AsyncIterator[None]:
    """Run the loops that verify backups. At the end, they stop as in a killed console."""
    store, bus, agents, requests = store or console.store, console.bus, console.agents, LoopRequests()
    steppers = {
        **bdb_steppers.steppers(store, agents, Endpoints(store, bus, agents)),
        ActionName.VERIFY_BACKUP: VerifyBackup(store, agents, requests),
        ActionName.RESTORE_BDB: restore,
    }
    loop = ActionLoop(store, bus, steppers, "test")
    runs = (
        loop.run,
        TemporaryDatabaseLoop(store, bus, requests).run,
        RemovalLoop(store, bus, agents, Endpoints(store, bus, agents).update).run,
    )
    tasks = [asyncio.create_task(run()) for run in runs]
    try:
        yield
    finally:
        open_tasks = list(loop._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *open_tasks, return_exceptions=True)


async def temporary(console: Console) -> list[Bdb]:
    async with console.store.read() as session:
        return list(await bdbs.list_temporary(session))


async def get_action(console: Console, uid: str) -> Action:
    async with console.store.read() as session:
        return await session.get_one(Action, uid)


async def get_backup(console: Console, uid: int) -> Backup:
    async with console.store.read() as session:
        backup = await backups.by_uid(session, uid)
    assert backup is not None
    return backup


async def request(console: Console, backup_uid: int) -> str:
    async with console.store.begin() as session:
        await clusters.load_for_update(session)
        backup = await session.get_one(Backup, backup_uid)
        return (await queue_verification(session, backup, "ann")).uid


async def wait_until_ended(console: Console, action_uid: str) -> Action:
    """Wait until the action has ended and its temporary database is deleted."""

    async def has_ended() -> bool:
        return (await get_action(console, action_uid)).finished_at is not None and not await temporary(console)

    await wait_until(has_ended)
    return await get_action(console, action_uid)


async def wait_for_restore(console: Console) -> Bdb:
    """Wait until the restore into the temporary database is running. Return the database."""

    async def is_restored() -> bool:
        return any(each.status == "import-pending" for each in await temporary(console))

    await wait_until(is_restored)
    return (await temporary(console))[0]


@pytest.fixture
async def bdb_uid(console: Console, agents: FakeAgents, nodes: list[Node]) -> int:
    return await create_active_database(console)


@pytest.fixture
async def backup_uid(console: Console, bdb_uid: int) -> int:
    return await stored_backups.add_backup(console, bdb_uid, NOW)


@pytest.fixture
def stored_keys(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each primary of a temporary database has one key."""
    answer = console.agents.command

    async def command(node: Any, commands: Any) -> Any:
        results = await answer(node, commands)
        sizes = {each.uid for each in commands if each.argv == ["DBSIZE"]}
        return [each.model_copy(update={"ok": True, "reply": "1"}) if each.uid in sizes else each for each in results]

    monkeypatch.setattr(console.agents, "command", command)


@pytest.mark.usefixtures("stored_keys")
async def test_a_verified_backup_shows_the_result_and_leaves_no_database(
    console: Console, bdb_uid: int, backup_uid: int
) -> None:
    restore = FakeRestore(**MATCH)
    restore.is_running = True
    uid = await request(console, backup_uid)
    async with running(console, restore):
        bdb = await wait_for_restore(console)
        restore.is_running = False
        action = await wait_until_ended(console, uid)
    assert (bdb.name, bdb.shards_count, bdb.replication, bdb.memory_size) == (
        f"verification-of-backup-{backup_uid}",
        3,
        False,
        3 * 10**8,
    )
    assert bdb.traffic_stopped
    assert bdb.config["internal"] is True
    assert bdb.config["eviction_policy"] == "noeviction"
    assert len(bdb.passwords[0]) > 30
    assert (action.status, action.error) == ("completed", "")
    verified = (await get_backup(console, backup_uid)).verified
    assert verified is not None
    assert (verified["ok"], verified["keys"], verified["detail"]) == (True, 3, "3 keys matched the manifest.")
    descriptions = [each.description for each in await events_of_bdb(console, bdb_uid)]
    subject = f"The verification of backup {backup_uid} of database shop"
    assert descriptions[-2:] == [f"{subject} started.", f"{subject} succeeded. 3 keys matched the manifest."]
    original = await get_bdb(console, bdb_uid)
    assert original is not None
    assert original.status == "active"


@pytest.mark.usefixtures("stored_keys")
@pytest.mark.parametrize(
    ("result", "detail"),
    [
        ({**MATCH, "mismatched_slots": 2}, "The keys of 2 slots differ from the manifest."),
        ({**MATCH, "restored": 2}, "The backup has 3 keys; 2 were restored and 0 had expired."),
        (
            {"status": "failed", "restored": 1, "detail": "File 0-16383.rdb.zst is damaged."},
            "The backup could not be restored. File 0-16383.rdb.zst is damaged.",
        ),
    ],
)
async def test_a_failed_verification_is_recorded_and_leaves_no_database(
    console: Console, backup_uid: int, result: dict[str, Any], detail: str
) -> None:
    uid = await request(console, backup_uid)
    async with running(console, FakeRestore(**result)):
        action = await wait_until_ended(console, uid)
    assert (action.status, action.error) == ("failed", detail)
    verified = (await get_backup(console, backup_uid)).verified
    assert verified is not None
    assert (verified["ok"], verified["detail"], verified["keys"]) == (False, detail, result["restored"])


async def test_without_memory_for_the_temporary_database_the_verification_fails(
    console: Console, backup_uid: int
) -> None:
    async with console.store.begin() as session:
        backup = await session.get_one(Backup, backup_uid)
        backup.bdb = {**backup.bdb, "memory_size": 2**45}
    uid = await request(console, backup_uid)
    async with running(console, FakeRestore(**MATCH)):
        action = await wait_until_ended(console, uid)
    assert action.status == "failed"
    verified = (await get_backup(console, backup_uid)).verified
    assert verified is not None
    assert not verified["ok"]
    assert verified["detail"].startswith("The temporary database could not be created. The nodes have no capacity")


async def test_a_cancelled_verification_cancels_the_restore_and_keeps_the_last_result(
    console: Console, backup_uid: int
) -> None:
    restore = FakeRestore(**MATCH)
    restore.is_running = True
    uid = await request(console, backup_uid)
    async with running(console, restore):
        await wait_for_restore(console)
        async with console.store.begin() as session:
            (await session.get_one(Action, uid)).cancelled_by = "ann"
        action = await wait_until_ended(console, uid)
    assert action.status == "cancelled"
    assert (await get_backup(console, backup_uid)).verified is None


@pytest.mark.usefixtures("stored_keys")
@pytest.mark.parametrize("step", [3, 8, 13, 18])
async def test_a_console_killed_at_any_step_continues_and_leaves_no_database(
    console: Console, backup_uid: int, step: int
) -> None:
    uid = await request(console, backup_uid)
    gate = Gate(step)
    async with running(console, FakeRestore(**MATCH), GatedStore(console.store, gate)), asyncio.timeout(60):
        await gate.reached.wait()
    async with running(console, FakeRestore(**MATCH)):
        action = await wait_until_ended(console, uid)
    assert action.status == "completed"
    async with console.store.read() as session:
        assert len(await bdbs.list_all(session)) == 1


async def test_a_backup_is_verified_once_at_a_time(console: Console, backup_uid: int) -> None:
    await request(console, backup_uid)
    with pytest.raises(Conflict, match="is being verified"):
        await request(console, backup_uid)


async def schedule_verifications(console: Console, bdb_uid: int) -> None:
    schedule = {"cron": "0 2 * * *", "time_zone": "UTC", "window_minutes": 60, "verify": True}
    location = stored_backups.LOCATION
    await stored_backups.configure(console, bdb_uid, backup=True, backup_schedule=schedule, backup_location=location)


async def test_new_scheduled_backups_are_verified_one_after_the_other(console: Console, bdb_uid: int) -> None:
    other_uid = await create_active_database(console, "other")
    for uid in (bdb_uid, other_uid):
        await schedule_verifications(console, uid)
    old = await stored_backups.add_backup(console, bdb_uid, NOW)
    newest = await stored_backups.add_backup(console, bdb_uid, NOW.replace(hour=13))
    other = await stored_backups.add_backup(console, other_uid, NOW.replace(hour=14))
    loop = ScheduledVerificationLoop(console.store, console.bus)
    verified = []
    for _ in range(4):
        await loop.sweep()
        await loop.sweep()
        async with console.store.begin() as session:
            found = await actions.list_for_object(session, "backup")
            opened = [each for each in found if each.finished_at is None]
            verified += [each.object_uid for each in opened]
            for each in opened:
                each.status, each.finished_at = "cancelled", datetime.now(UTC)
    assert verified == [newest, other]
    assert old not in verified


SHA256 = "a" * 64


@pytest.fixture
async def sealed_uid(console: Console, bdb_uid: int) -> int:
    """An encrypted scheduled backup whose private key is not stored."""
    await schedule_verifications(console, bdb_uid)
    recipients = [age_keys.recipient_of(age_keys.generate_identity())]
    return await stored_backups.add_backup(
        console, bdb_uid, NOW, recipients=recipients, manifest_sha256=SHA256, path="shop"
    )


def checks(agents: FakeAgents) -> list[Any]:
    requests: list[Any] = [each.transfer for _, each in agents.started_transfers.values()]
    return [each for each in requests if each.kind == "check_files"]


async def test_without_a_private_key_scheduled_verifications_compare_checksums(
    console: Console, agents: FakeAgents, sealed_uid: int
) -> None:
    agents.transfer_results["check_files"] = {}
    await ScheduledVerificationLoop(console.store, console.bus).sweep()
    async with console.store.read() as session:
        [action] = await actions.list_for_object(session, "backup")
    assert action.description == f"Verify the checksums of backup {sealed_uid} of database shop"
    async with running(console, FakeRestore()):
        assert (await wait_until_ended(console, action.uid)).status == "completed"
    [check] = checks(agents)
    assert check.only_checksums
    assert check.identities == []
    assert check.sha256 == {"shop/0-16383.rdb.zst": "0" * 64, "shop/manifest.json": SHA256}
    verified = (await get_backup(console, sealed_uid)).verified
    assert verified is not None
    assert (verified["ok"], verified["method"], verified["keys"]) == (True, "checksums", 0)


async def test_a_changed_file_of_an_encrypted_backup_is_reported_once(
    console: Console, agents: FakeAgents, sealed_uid: int
) -> None:
    uid = await request(console, sealed_uid)
    async with running(console, FakeRestore()):
        await wait_until(lambda: bool(checks(agents)))
        [identity] = agents.started_transfers
        agents.end_transfer(identity, error="The content of a file has changed.", error_code="file-corrupted")
        action = await wait_until_ended(console, uid)
    assert action.status == "failed"
    assert len(checks(agents)) == 1, "other nodes would report the same"
    verified = (await get_backup(console, sealed_uid)).verified
    assert verified is not None
    assert (verified["ok"], verified["method"]) == (False, "checksums")
    assert "cannot verify the files. The content of a file has changed." in verified["detail"]


async def test_a_canceled_comparison_of_checksums_ends_its_transfer(
    console: Console, agents: FakeAgents, sealed_uid: int
) -> None:
    uid = await request(console, sealed_uid)
    async with running(console, FakeRestore()):
        await wait_until(lambda: bool(checks(agents)))
        async with console.store.begin() as session:
            (await session.get_one(Action, uid)).cancelled_by = "ann"
        assert (await wait_until_ended(console, uid)).status == "cancelled"
    assert (await get_backup(console, sealed_uid)).verified is None
    async with console.store.read() as session:
        assert [each.status for each in await transfers.list_stored_on_nodes(session)] == ["abandoned"]


async def test_a_stored_private_key_is_used_for_a_restore(console: Console, bdb_uid: int) -> None:
    identity = age_keys.generate_identity()
    location_uid = await stored_backups.add_location(console)
    async with console.store.begin() as session:
        (await session.get_one(BackupLocation, location_uid)).identities = [identity]
    uid = await stored_backups.add_backup(console, bdb_uid, NOW, recipients=[age_keys.recipient_of(identity)])
    action = await get_action(console, await request(console, uid))
    assert not VerificationParameters.parse(action).only_checksums
