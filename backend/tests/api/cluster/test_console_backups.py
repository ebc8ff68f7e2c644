"""Tests of backups of the console in storage locations: requests, the schedule, and the loop that executes them."""

import asyncio
import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from backend.tests.support import stored_backups

from shardboard.collectors.cluster.console_backups import ConsoleBackups
from shardboard.console import Console
from shardboard.domain.cluster.console_backups import FAILED_KEPT
from shardboard.driver.fake_agents import FakeAgents
from shardboard.kit import age_keys
from shardboard.services.cluster import console_backup_file
from shardboard.state.alerting import events
from shardboard.state.cluster import console_backups
from shardboard.state.cluster.nodes import Node
from shardboard.state.data.locations import BackupLocation
from shardboard.store.db import Store
from shardboard.store.store_key import StoreKeys

PATH = "/v1/console_backups"
SCHEDULE = f"{PATH}/schedule"
NIGHTLY = {"location_uid": 1, "cron": "30 2 * * *", "time_zone": "UTC", "keep": 2}
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
async def location(console: Console, agents: FakeAgents, nodes: list[Node]) -> int:
    agents.transfer_results["delete_files"] = {}
    return await stored_backups.add_location(console)


class Clock:
    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def loop(console: Console, clock: Clock, tmp_path: Path) -> ConsoleBackups:
    directory = tmp_path / "work"
    directory.mkdir()
    return ConsoleBackups(console.store, console.locations, console.location_files, directory, clock)


async def create(client: httpx.AsyncClient, **body: Any) -> dict[str, Any]:
    reply = await client.post(PATH, json=body)
    assert reply.status_code == 200, reply.text
    row: dict[str, Any] = reply.json()
    return row


async def statuses(client: httpx.AsyncClient) -> list[str]:
    return [row["status"] for row in (await client.get(PATH)).json()]


async def open_alarms(console: Console) -> list[str]:
    async with console.store.read() as session:
        return [event.description for event in await events.list_open_spans(session, events.CONSOLE_BACKUP)]


async def restored(console: Console, content: bytes, directory: Path, *identities: str) -> Store:
    """Return the store of a backup, prepared for another console."""
    file = directory / "file.age"
    file.write_bytes(content)
    work = directory / "restored"
    work.mkdir()
    unpacked = console_backup_file.read(file, work, identities, None)
    keys = console.store.keys if unpacked.store_key is None else StoreKeys(unpacked.store_key.split())
    assert keys is not None
    store = Store(f"sqlite+aiosqlite:///{unpacked.store}", console.bus, keys)
    await console_backup_file.prepare(unpacked, store, keys, "test")
    return store


async def test_backup_is_written_to_the_location_and_can_be_restored(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, loop: ConsoleBackups, tmp_path: Path
) -> None:
    row = await create(client)
    assert (row["status"], row["location_name"], row["is_scheduled"]) == ("waiting", "vault", False)
    await loop.sweep()
    row = (await client.get(f"{PATH}/{row['uid']}")).json()
    assert (row["status"], row["detail"]) == ("succeeded", "")
    ((path, content),) = agents.files.items()
    assert row["path"] == path
    assert (row["bytes"], row["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
    assert row["has_store_key"] is False
    assert list((tmp_path / "work").iterdir()) == []

    assert console.store.keys is not None
    store = await restored(console, content, tmp_path, *console.store.keys.identities)
    async with store.read() as session:
        # The store was copied while the backup was running.
        assert await console_backups.list_all(session) == []
        location = await session.get_one(BackupLocation, 1)
        assert location.location["type"]
    await store.close()


async def test_public_keys_of_the_location_encrypt_the_backup(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, loop: ConsoleBackups, tmp_path: Path
) -> None:
    identity = age_keys.generate_identity()
    async with console.store.begin() as session:
        (await session.get_one(BackupLocation, 1)).recipients = [age_keys.recipient_of(identity)]
    row = await create(client)
    await loop.sweep()
    assert (await client.get(f"{PATH}/{row['uid']}")).json()["has_store_key"] is True
    store = await restored(console, *agents.files.values(), tmp_path, identity)
    await store.close()


async def test_one_backup_at_a_time(client: httpx.AsyncClient, loop: ConsoleBackups) -> None:
    row = await create(client)
    for reply in (await client.post(PATH, json={}), await client.delete(f"{PATH}/{row['uid']}")):
        assert (reply.status_code, reply.json()["error_code"]) == (409, "console_backup_running")
    await loop.sweep()
    await create(client)


async def test_location_must_be_known(client: httpx.AsyncClient, console: Console) -> None:
    assert (await client.post(PATH, json={"location_uid": 9})).status_code == 404
    await stored_backups.add_location(console, name="second")
    reply = await client.post(PATH, json={})
    assert (reply.status_code, reply.json()["error_code"]) == (406, "missing_backup_location")
    assert (await client.put(SCHEDULE, json={**NIGHTLY, "location_uid": 2})).status_code == 200
    assert (await create(client))["location_name"] == "second"


async def test_failed_backup_raises_an_alarm_until_one_succeeds(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, loop: ConsoleBackups
) -> None:
    agents.file_errors[1] = "Permission denied"
    for _ in range(2):
        row = await create(client)
        await loop.sweep()
        row = (await client.get(f"{PATH}/{row['uid']}")).json()
        assert (row["status"], row["bytes"]) == ("failed", None)
        assert "Permission denied" in row["detail"]
    assert len(await open_alarms(console)) == 1
    agents.file_errors.clear()
    await create(client)
    await loop.sweep()
    assert await open_alarms(console) == []


async def test_backup_of_a_killed_console_is_failed_and_repeated(
    client: httpx.AsyncClient, console: Console, loop: ConsoleBackups, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = await create(client)
    started, ended = asyncio.Event(), asyncio.Event()

    async def receive(*_: object) -> dict[str, Any]:
        started.set()
        await ended.wait()
        return {}

    monkeypatch.setattr(console.location_files, "receive", receive)
    sweep = asyncio.create_task(loop.sweep())
    await started.wait()
    sweep.cancel()
    await asyncio.gather(sweep, return_exceptions=True)
    assert await statuses(client) == ["running"]
    monkeypatch.undo()
    await loop.sweep()
    row = (await client.get(f"{PATH}/{row['uid']}")).json()
    assert (row["status"], row["detail"]) == ("failed", "The console was stopped during the backup.")
    await create(client)
    await loop.sweep()
    assert await statuses(client) == ["succeeded", "failed"]


async def test_scheduled_backups_start_in_time_and_old_ones_are_deleted(
    client: httpx.AsyncClient, agents: FakeAgents, loop: ConsoleBackups, clock: Clock
) -> None:
    assert (await client.get(SCHEDULE)).status_code == 404
    reply = await client.put(SCHEDULE, json={**NIGHTLY, "cron": " 30  2 * * * "})
    assert reply.status_code == 200, reply.text
    due = datetime.fromisoformat(reply.json()["next_at"])
    assert (await client.get(SCHEDULE)).json() == {**NIGHTLY, "next_at": reply.json()["next_at"]}
    await create(client)
    await loop.sweep()  # manual backups are kept
    for day in range(4):
        clock.now = due + timedelta(days=day, seconds=-1)
        await loop.sweep()
        clock.now += timedelta(seconds=1)
        for _ in range(3):
            await loop.sweep()
    rows = (await client.get(PATH)).json()
    assert [(row["status"], row["is_scheduled"]) for row in rows] == [("succeeded", True)] * 2 + [("succeeded", False)]
    assert [row["uid"] for row in rows] == [5, 4, 1]
    clock.now = due + timedelta(days=10, hours=2)
    await loop.sweep()  # the console was stopped when these were due
    assert len((await client.get(PATH)).json()) == 3


async def test_failed_scheduled_backups_do_not_displace_successful_ones(
    client: httpx.AsyncClient, agents: FakeAgents, loop: ConsoleBackups, clock: Clock
) -> None:
    due = datetime.fromisoformat((await client.put(SCHEDULE, json=NIGHTLY)).json()["next_at"])
    for day in range(FAILED_KEPT + 4):
        clock.now = due + timedelta(days=day)
        await loop.sweep()
        agents.file_errors[1] = "Permission denied"
    agents.file_errors.clear()
    for _ in range(2):
        await loop.sweep()
    found = await statuses(client)
    assert found.count("succeeded") == 1
    assert found.count("failed") <= FAILED_KEPT + 1


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"cron": "30 2 * *"}, 406),
        ({"cron": "0 0 31 2 *"}, 406),
        ({"time_zone": "Mars/Olympus"}, 406),
        ({"location_uid": 9}, 404),
        ({"keep": 0}, 400),
        ({"cron": "x" * 101}, 400),
    ],
)
async def test_invalid_schedules_are_rejected(client: httpx.AsyncClient, change: dict[str, Any], status: int) -> None:
    reply = await client.put(SCHEDULE, json={**NIGHTLY, **change})
    assert reply.status_code == status, reply.text
    assert (await client.get(SCHEDULE)).status_code == 404


async def test_schedule_is_removed(client: httpx.AsyncClient) -> None:
    await client.put(SCHEDULE, json=NIGHTLY)
    assert (await client.delete(SCHEDULE)).status_code == 200
    assert (await client.delete(SCHEDULE)).json()["error_code"] == "no_console_backup_schedule"


async def test_backup_is_deleted_with_its_file(
    client: httpx.AsyncClient, agents: FakeAgents, loop: ConsoleBackups
) -> None:
    row = await create(client)
    await loop.sweep()
    assert (await client.delete(f"{PATH}/{row['uid']}")).status_code == 200
    assert (await client.get(f"{PATH}/{row['uid']}")).status_code == 404
    await loop.sweep()
    assert await statuses(client) == []
    assert [
        request.transfer.paths  # type: ignore[union-attr]
        for _, request in agents.started_transfers.values()
        if request.transfer.kind == "delete_files"
    ] == [list(agents.files)]


async def test_used_locations_are_not_deleted(client: httpx.AsyncClient, loop: ConsoleBackups) -> None:
    await client.put(SCHEDULE, json=NIGHTLY)
    reply = await client.delete("/v1/backup_locations/1")
    assert (reply.status_code, reply.json()["error_code"]) == (409, "location_in_use")
    assert "Change their schedule" in reply.json()["description"]
    await client.delete(SCHEDULE)
    row = await create(client)
    await loop.sweep()
    assert "contains 1 backup of the console" in (await client.delete("/v1/backup_locations/1")).json()["description"]
    await client.delete(f"{PATH}/{row['uid']}")
    await loop.sweep()
    assert (await client.delete("/v1/backup_locations/1")).status_code == 200


async def backed_up(client: httpx.AsyncClient, loop: ConsoleBackups) -> str:
    """Make a backup, and return its path in the API."""
    uid = (await create(client))["uid"]
    await loop.sweep()
    return f"{PATH}/{uid}"


async def verified(client: httpx.AsyncClient, loop: ConsoleBackups, path: str) -> dict[str, Any]:
    reply = await client.post(f"{path}/actions/verify")
    assert (reply.status_code, reply.json()["is_verifying"]) == (200, True), reply.text
    assert (await client.post(f"{path}/actions/verify")).json()["error_code"] == "busy"
    await loop.sweep()
    row = (await client.get(path)).json()
    assert row["is_verifying"] is False
    result: dict[str, Any] = row["verified"]
    return result


async def test_the_file_is_downloaded(client: httpx.AsyncClient, agents: FakeAgents, loop: ConsoleBackups) -> None:
    path = await backed_up(client, loop)
    ((name, content),) = agents.files.items()
    reply = await client.get(f"{path}/content")
    assert (reply.status_code, reply.content) == (200, content)
    assert reply.headers["content-disposition"] == f'attachment; filename="{name.rpartition("/")[2]}"'
    types = [each["type"] for each in (await client.get("/v1/logs")).json()]
    assert types.count("console_backup_downloaded") == 1
    agents.files.clear()
    assert (await client.get(f"{path}/content")).status_code == 503


@pytest.mark.parametrize("is_key_stored", [True, False])
async def test_a_backup_is_verified_with_the_private_keys_of_locations(
    client: httpx.AsyncClient, console: Console, loop: ConsoleBackups, tmp_path: Path, is_key_stored: bool
) -> None:
    identity = age_keys.generate_identity()
    async with console.store.begin() as session:
        row = await session.get_one(BackupLocation, 1)
        row.recipients, row.identities = [age_keys.recipient_of(identity)], [identity] if is_key_stored else None
    result = await verified(client, loop, await backed_up(client, loop))
    assert result["ok"] is is_key_stored
    assert ("tables with" if is_key_stored else "cannot be decrypted") in result["detail"]
    assert list((tmp_path / "work").iterdir()) == []


async def test_a_damaged_or_missing_file_is_reported(
    client: httpx.AsyncClient, agents: FakeAgents, loop: ConsoleBackups
) -> None:
    path = await backed_up(client, loop)
    assert (await verified(client, loop, path))["ok"], "the store key decrypts it"
    ((name, content),) = agents.files.items()
    agents.files[name] = content[:-1] + bytes([content[-1] ^ 1])
    result = await verified(client, loop, path)
    assert (result["ok"], result["detail"]) == (False, "The backup is incomplete or was changed.")
    agents.files.clear()
    assert "No such file" in (await verified(client, loop, path))["detail"]
    types = [each["type"] for each in (await client.get("/v1/logs")).json()]
    assert types.count("console_backup_verification_failed") == 2


async def test_only_complete_backups_are_verified_and_downloaded(client: httpx.AsyncClient) -> None:
    path = f"{PATH}/{(await create(client))['uid']}"
    for reply in (await client.post(f"{path}/actions/verify"), await client.get(f"{path}/content")):
        assert (reply.status_code, reply.json()["error_code"]) == (409, "backup_not_usable")
