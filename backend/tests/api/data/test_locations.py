"""Tests of storage locations: their secrets, changes, tests by a node, and locations in use."""

import json

import httpx
import pytest
from backend.tests.support.database_scope import browser_client, create_user

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.data import transfers
from shardboard.state.data.backups import Backup
from shardboard.state.data.locations import BackupLocation

pytestmark = pytest.mark.store_in_all
S3 = {"type": "s3", "bucket_name": "b", "access_key_id": "id", "secret_access_key": "secret-word"}
SFTP = {"type": "sftp", "sftp_url": "sftp://user:secret-word@example.org/path"}


async def create(client: httpx.AsyncClient, name: str = "store", location: dict[str, str] = S3) -> httpx.Response:
    return await client.post("/v1/backup_locations", json={"name": name, "location": location})


async def stored(console: Console, uid: int = 1) -> dict[str, str]:
    async with console.store.read() as session:
        location: dict[str, str] = (await session.get_one(BackupLocation, uid)).location
        return location


async def test_secrets_are_stored_but_not_returned(client: httpx.AsyncClient, console: Console) -> None:
    created = await create(client)
    expected = {"type": "s3", "bucket_name": "b", "access_key_id": "id", "path_style": False}
    assert created.json()["location"] == expected, created.text
    replies = [await client.get("/v1/backup_locations"), await client.get("/v1/backup_locations/1"), created]
    assert all("secret-word" not in reply.text for reply in replies)
    changed = await client.put("/v1/backup_locations/1", json={"location": {"type": "s3", "bucket_name": "c"}})
    assert changed.json()["location"]["bucket_name"] == "c"
    assert (await stored(console))["secret_access_key"] == "secret-word", "a secret that is not sent is kept"
    moved = await client.put("/v1/backup_locations/1", json={"location": {"type": "mount_point", "path": "/srv"}})
    assert moved.json()["location"] == {"type": "mount_point", "path": "/srv"}
    assert "secret_access_key" not in await stored(console)


async def test_passwords_in_urls_are_not_returned_and_kept(client: httpx.AsyncClient, console: Console) -> None:
    shown = (await create(client, location=SFTP)).json()["location"]
    assert shown["sftp_url"] == "sftp://user@example.org/path"
    assert (await client.put("/v1/backup_locations/1", json={"location": shown})).status_code == 200
    assert (await stored(console))["sftp_url"] == SFTP["sftp_url"]


async def test_only_administrators_see_more_than_names_and_types(client: httpx.AsyncClient, console: Console) -> None:
    await create(client)
    viewer = await create_user(client, "viewer", role="cluster_viewer")
    async with browser_client(console) as browser:
        reply = await browser.get("/v1/backup_locations", headers=viewer)
        assert [(each["name"], each["location"]) for each in reply.json()] == [("store", {"type": "s3"})]
        for path, body in (("", {"name": "other", "location": S3}), ("/1/actions/test", None)):
            reply = await browser.post(f"/v1/backup_locations{path}", json=body, headers=viewer)
            assert reply.status_code == 403


@pytest.mark.parametrize(
    ("location", "error"),
    [
        ({"type": "mount_point", "path": "srv"}, "absolute"),
        ({"type": "mount_point", "path": "/srv/../etc"}, "`..`"),
        ({"type": "s3", "bucket_name": "b", "subdir": "../other"}, "`..`"),
        ({"type": "url", "url": "https://example.org/dump.rdb"}, "can only be read"),
    ],
)
async def test_locations_that_cannot_be_used_are_rejected(
    client: httpx.AsyncClient, location: dict[str, str], error: str
) -> None:
    reply = await create(client, location=location)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "invalid_backup_location")
    assert error in reply.json()["description"]


async def test_names_are_unique(client: httpx.AsyncClient) -> None:
    await create(client)
    assert (await create(client)).json()["error_code"] == "name_exists"
    await create(client, "other")
    assert (await client.put("/v1/backup_locations/2", json={"name": "store"})).status_code == 409
    assert (await client.put("/v1/backup_locations/2", json={"name": "other"})).status_code == 200


@pytest.mark.usefixtures("nodes")
async def test_a_node_tests_a_location(client: httpx.AsyncClient, console: Console, agents: FakeAgents) -> None:
    checks = [{"name": "write", "ok": True, "error": ""}, {"name": "read", "ok": False, "error": "no permission"}]
    agents.transfer_results["check_location"] = {"checks": checks}
    reply = await client.post("/v1/backup_locations/actions/test", json={"location": S3, "node_uid": 2})
    assert reply.json() == {"node_uid": 2, "checks": checks}
    async with console.store.read() as session:
        [row] = await transfers.list_stored_on_nodes(session)
        assert row.finished_at is not None, "the clean-up loop removes it from its node"
    await create(client)
    assert (await client.post("/v1/backup_locations/1/actions/test")).json()["checks"] == checks
    agents.unreachable.add(1)
    reply = await client.post("/v1/backup_locations/1/actions/test")
    assert (reply.status_code, reply.json()["error_code"]) == (503, "node_not_connected")
    reply = await client.post("/v1/backup_locations/actions/test", json={"location": S3, "node_uid": 9})
    assert reply.status_code == 404


async def test_a_location_without_a_connected_node_is_not_tested(client: httpx.AsyncClient) -> None:
    await create(client)
    reply = await client.post("/v1/backup_locations/1/actions/test")
    assert (reply.status_code, reply.json()["error_code"]) == (406, "node_not_connected")


async def test_stored_credentials_are_not_sent_to_another_server(client: httpx.AsyncClient) -> None:
    await create(client)
    for change in (
        {"endpoint": "https://example.org"},
        {"proxy_url": "http://example.org"},
        {"ca_cert": "PEM"},
    ):
        location = {name: value for name, value in S3.items() if name != "secret_access_key"} | change
        reply = await client.put("/v1/backup_locations/1", json={"location": location})
        assert (reply.status_code, reply.json()["error_code"]) == (406, "missing_credentials"), reply.text
        reply = await client.put("/v1/backup_locations/1", json={"location": {**S3, **change}})
        assert reply.status_code == 200, reply.text
        assert (await client.put("/v1/backup_locations/1", json={"location": S3})).status_code == 200


@pytest.mark.parametrize(
    "location",
    [
        {"type": "ftp", "url": "ftp://user:hid/den@host/x"},
        {"type": "ftp", "url": "ftp://user:12/den@host/x"},
        {"type": "sftp", "sftp_url": "sftp://user:hid#den@host/x"},
        {"type": "sftp", "sftp_url": "sftp://user:hidden\u2100@host/x"},
        {"type": "ftp", "url": "ftp://[user:hidden@host/x"},
        {"type": "s3", "bucket_name": "b", "endpoint": "https://user:hidden@host"},
        {"type": "s3", "bucket_name": "b", "proxy_url": "http://user:hid/den@host"},
    ],
)
async def test_urls_whose_password_is_not_recognized_are_rejected(
    client: httpx.AsyncClient, location: dict[str, str]
) -> None:
    reply = await client.post("/v1/backup_locations", json={"name": "bad", "location": location})
    assert (reply.status_code, reply.json()["error_code"]) == (406, "invalid_backup_location"), reply.text
    assert "hid" not in reply.text


@pytest.mark.usefixtures("nodes")
async def test_backups_of_another_cluster_are_found(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    await create(client)
    entry = {
        "name": "0-16383.rdb.zst",
        "slots": [[0, 16383]],
        "bytes": 1,
        "raw_bytes": 2,
        "sha256": "a" * 64,
        "keys": 3,
    }
    manifest = {
        "format": 1,
        "backup_uid": 70,
        "bdb": {"uid": 1, "name": "shop"},
        "engine": "9.1.2",
        "started": "2026-11-30T12:00:00+00:00",
        "ended": "2026-11-30T12:01:00+00:00",
        "files": [entry],
        "slots": [],
    }
    folders = ["shop-1/20261130T120000Z-70", "shop-1/20261130T130000Z-71"]
    files = [{"path": f"{folder}/{name}"} for folder in folders for name in ("manifest.json", entry["name"])]
    agents.transfer_results |= {"list_files": {"files": files}, "read_file": {"text": json.dumps(manifest)}}
    path = "/v1/backup_locations/1/actions/find_backups"
    assert (await client.post(path)).json() == {"added": [1, 2], "invalid": [], "has_more": False}
    backup = (await client.get("/v1/backups/1")).json()
    assert (backup["bdb_uid"], backup["bdb_name"], backup["keys"], backup["status"]) == (0, "shop", 3, "succeeded")
    assert [each["status"] for each in backup["files"]] == ["succeeded"]
    assert (await client.post(path)).json()["added"] == [], "known backups are not added again"
    assert (await client.delete("/v1/backups/1?keep_files=true")).status_code == 200
    agents.transfer_results["read_file"] = {"text": json.dumps({**manifest, "files": [{**entry, "name": "../x"}]})}
    reply = (await client.post(path)).json()
    assert (reply["added"], len(reply["invalid"])) == ([], 1)
    assert "invalid file name" in reply["invalid"][0]["error"]
    assert (await client.delete("/v1/backups/2")).json()["status"] == "deleting"
    async with console.store.read() as session:
        row = await session.get_one(Backup, 2)
        assert row.files_to_delete == [f"{row.path}/manifest.json", f"{row.path}/{entry['name']}"]


async def test_uids_of_deleted_locations_are_not_used_again(client: httpx.AsyncClient) -> None:
    assert (await create(client)).json()["uid"] == 1
    assert (await client.delete("/v1/backup_locations/1")).status_code == 200
    assert (await create(client)).json()["uid"] == 2
