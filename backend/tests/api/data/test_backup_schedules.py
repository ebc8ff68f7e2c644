"""Tests of schedules, locations and retention of databases over HTTP, and of the list of schedules."""

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from backend.tests.api.databases.test_bdbs import activate
from backend.tests.support import stored_backups

from shardboard.console import Console
from shardboard.reconcilers.data.backup_schedules import BackupScheduleLoop
from shardboard.services.loop_requests import LoopRequests
from shardboard.state.data.recordings import Recording
from shardboard.state.databases import bdbs

pytestmark = pytest.mark.usefixtures("nodes")
S3 = {"type": "s3", "bucket_name": "vault", "access_key_id": "AK", "secret_access_key": "hidden"}


async def send(
    client: httpx.AsyncClient, method: str, path: str, body: dict[str, Any] | None = None, *, expected: int = 200
) -> Any:
    reply = await client.request(method, f"/v1{path}", json=body)
    assert reply.status_code == expected, reply.text
    return reply.json()


async def create(client: httpx.AsyncClient, console: Console, **fields: Any) -> Any:
    bdb = await send(client, "POST", "/bdbs", {"name": "shop", "memory_size": 10**8, **fields})
    await activate(console, bdb["uid"])
    return bdb


async def stored_location(console: Console) -> Any:
    async with console.store.read() as session:
        bdb = await bdbs.by_uid(session, 1)
    assert bdb is not None
    return bdb.config["backup_location"]


async def test_a_database_is_created_with_a_schedule_and_retention(client: httpx.AsyncClient, console: Console) -> None:
    location_uid = await stored_backups.add_location(console)
    bdb = await create(
        client,
        console,
        backup=True,
        backup_location_uid=location_uid,
        backup_schedule={"cron": "30 2 * * *", "time_zone": "Europe/Berlin"},
        backup_retention={"daily": 7, "weekly": 4},
    )
    assert bdb["backup"] is True
    assert bdb["backup_schedule"] == {
        "cron": "30 2 * * *",
        "time_zone": "Europe/Berlin",
        "window_minutes": 60,
        "verify": False,
        "record_changes": False,
        "record_segment_seconds": 30,
    }
    assert bdb["backup_retention"]["daily"] == 7
    assert bdb["backup_retention"]["include_manual"] is False
    [location] = await send(client, "GET", "/backup_locations")
    assert location["used_by"] == [1]


async def test_the_schedule_can_be_changed(client: httpx.AsyncClient, console: Console) -> None:
    await create(client, console)
    changes = {"backup": True, "backup_interval": 3600, "backup_interval_offset": 60, "backup_history": 5}
    bdb = await send(client, "PUT", "/bdbs/1", {**changes, "backup_location": S3})
    assert {name: bdb[name] for name in changes} == changes
    assert bdb["status"] == "active-change-pending"


async def test_secrets_of_the_location_are_kept_but_not_returned(client: httpx.AsyncClient, console: Console) -> None:
    bdb = await create(client, console, backup=True, backup_interval=3600, backup_location=S3)
    assert "hidden" not in str(bdb)
    assert bdb["backup_location"] == {"type": "s3", "bucket_name": "vault", "access_key_id": "AK", "path_style": False}
    assert (await stored_location(console))["secret_access_key"] == "hidden"
    unchanged = await send(client, "PUT", "/bdbs/1", bdb)
    assert unchanged["status"] == "active", "the object that was returned is not a change"
    await send(client, "PUT", "/bdbs/1", {"backup_location": {**bdb["backup_location"], "subdir": "a"}})
    stored = await stored_location(console)
    assert (stored["secret_access_key"], stored["subdir"]) == ("hidden", "a")


async def test_ftp_locations_have_the_format_of_the_redis_enterprise_rest_api(
    client: httpx.AsyncClient, console: Console
) -> None:
    url = {"type": "url", "url": "ftp://ann:hidden@files.example.com/backups"}
    bdb = await create(client, console, backup=True, backup_interval=3600, backup_location=url)
    assert bdb["backup_location"] == {"type": "ftp", "url": "ftp://ann@files.example.com/backups"}
    await send(client, "PUT", "/bdbs/1", {**bdb, "backup_interval": 7200})
    assert (await stored_location(console))["url"] == url["url"]


@pytest.mark.parametrize(
    ("status", "code", "fields"),
    [
        (406, "missing_backup_location", {"backup_interval": 3600}),
        (406, "missing_backup_interval", {"backup_location": S3}),
        (404, "location_not_found", {"backup_interval": 3600, "backup_location_uid": 9}),
        (406, "invalid_backup_location", {"backup_interval": 3600, "backup_location": {"type": "tape"}}),
        (406, "invalid_backup_location", {"backup_interval": 3600, "backup_location": {**S3, "bucket_name": 5}}),
        (406, "invalid_backup_location", {"backup_location": {"type": "mount_point", "path": "relative"}}),
        (406, "invalid_backup_location", {"backup_location": {"type": "url", "url": "https://example.com/x.rdb"}}),
        (406, "invalid_backup_schedule", {"backup_location": S3, "backup_schedule": {"cron": "0 25 * * *"}}),
        (406, "invalid_backup_schedule", {"backup_location": S3, "backup_schedule": {"time_zone": "../x"}}),
        (406, "missing_backup_interval", {"backup_location": S3, "backup_schedule": {"crom": "0 2 * * *"}}),
        (
            406,
            "invalid_backup_schedule",
            {"backup_location": S3, "backup_interval": 3600, "backup_schedule": {"record_segment_seconds": 4}},
        ),
        (400, "bad_request", {"backup_location": S3, "backup_schedule": {"window_minutes": "5"}}),
        (400, "bad_request", {"backup_location": S3, "backup_retention": {"daily": True}}),
    ],
)
async def test_invalid_schedules_are_rejected(
    client: httpx.AsyncClient, status: int, code: str, fields: dict[str, Any]
) -> None:
    body = {"name": "shop", "memory_size": 10**8, "backup": True, **fields}
    reply = await send(client, "POST", "/bdbs", body, expected=status)
    assert reply["error_code"] == code
    assert "hidden" not in str(reply)
    assert await send(client, "GET", "/bdbs") == []


async def test_schedules_are_listed_with_the_newest_restore_point(client: httpx.AsyncClient, console: Console) -> None:
    await create(client, console, backup=True, backup_interval=3600, backup_location=S3)
    now = datetime(2026, 11, 30, 12, 20, tzinfo=UTC)
    await BackupScheduleLoop(console.store, console.bus, LoopRequests(), lambda: now).sweep()
    await stored_backups.add_backup(console, 1, now.replace(hour=11))
    await stored_backups.add_backup(console, 1, now.replace(hour=12), status="failed")
    assert await send(client, "GET", "/backup_schedules") == [
        {
            "bdb_uid": 1,
            "bdb_name": "shop",
            "schedule": "every 3600 s, offset 0 s",
            "next_at": "2026-11-30T13:00:00Z",
            "waiting_for": "",
            "retry_at": None,
            "last_backup_at": "2026-11-30T11:20:00Z",
            "recorded_until": None,
            "not_recorded": "",
        }
    ]


async def test_schedules_show_until_when_changes_are_recorded(client: httpx.AsyncClient, console: Console) -> None:
    await create(client, console, backup=True, backup_interval=3600, backup_location=S3)
    now = datetime(2026, 11, 30, 12, 20, tzinfo=UTC)
    await BackupScheduleLoop(console.store, console.bus, LoopRequests(), lambda: now).sweep()
    common = {"bdb_uid": 1, "slots": "", "folder": "", "segment_seconds": 30, "created_at": now}
    async with console.store.begin() as session:
        session.add(Recording(pair=0, recorded_until=now, **common))
        session.add(Recording(pair=1, recorded_until=now.replace(minute=19), detail="It is full.", **common))
        session.add(Recording(pair=1, recorded_until=now.replace(minute=1), ended_at=now, **common))
    [schedule] = await send(client, "GET", "/backup_schedules")
    assert (schedule["recorded_until"], schedule["not_recorded"]) == ("2026-11-30T12:19:00Z", "It is full.")


async def test_a_manual_backup_uses_the_location_of_the_schedule(client: httpx.AsyncClient, console: Console) -> None:
    await create(client, console, backup_location=S3)
    await send(client, "POST", "/bdbs/1/actions/backup")
    [backup] = await send(client, "GET", "/backups?bdb_uid=1")
    assert (backup["location_name"], backup["location_uid"]) == ("s3://vault", None)
