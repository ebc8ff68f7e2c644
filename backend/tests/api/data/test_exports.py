"""Tests of exports and imports, of the fields of databases about them, and of who may request them."""

import httpx
import pytest
from backend.tests.support.database_scope import FOREIGN, OWN, browser_client, create_role, create_user, databases
from sqlalchemy import update

from shardboard.console import Console
from shardboard.state.cluster.actions import Action
from shardboard.state.data.backups import Backup
from shardboard.state.data.restores import Restore
from shardboard.state.databases.bdbs import Bdb

__all__ = ["databases"]
pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("databases")]
FOLDER = {"type": "mount_point", "path": "/srv/exports"}


async def fields(client: httpx.AsyncClient, kind: str) -> list[object]:
    bdb = (await client.get(f"/v1/bdbs/{OWN}")).json()
    return [bdb[f"{kind}_{name}"] for name in ("status", "progress", "failure_reason")]


@pytest.fixture(autouse=True)
async def idle(console: Console, databases: None) -> None:
    """End the actions that created the databases."""
    async with console.store.begin() as session:
        await session.execute(update(Action).values(status="completed"))


async def test_fields_show_the_last_export(client: httpx.AsyncClient, console: Console) -> None:
    assert await fields(client, "export") == ["", 0, ""]
    reply = await client.post(f"/v1/bdbs/{OWN}/actions/export", json={"export_location": FOLDER})
    assert reply.status_code == 200, reply.text
    assert await fields(client, "export") == ["exporting", 0, ""]
    assert (await client.put(f"/v1/bdbs/{OWN}/actions/export_reset_status")).status_code == 409
    async with console.store.begin() as session:
        row = await session.get_one(Backup, reply.json()["backup_uid"])
        row.status, row.error_code, row.finished_at = "failed", "no-permission", row.created_at
    assert await fields(client, "export") == ["failed", 100, "no-permission"]
    assert (await client.put(f"/v1/bdbs/{OWN}/actions/export_reset_status")).json() == {}
    assert await fields(client, "export") == ["", 0, ""]
    assert await fields(client, "backup") == ["succeeded", 100, ""]
    bdb = (await client.get(f"/v1/bdbs/{OWN}")).json()
    assert bdb["last_backup_time"].endswith("Z")
    assert "last_export_time" not in bdb


async def test_fields_show_the_last_import(client: httpx.AsyncClient, console: Console) -> None:
    stored = {"dataset_import_sources": [{**FOLDER, "filename": "dump.rdb"}]}
    assert (await client.post(f"/v1/bdbs/{OWN}/actions/import")).json()["error_code"] == "invalid_import_source"
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, OWN)
        bdb.config = {**bdb.config, **stored}
    reply = await client.post(f"/v1/bdbs/{OWN}/actions/import")
    assert reply.status_code == 200, reply.text
    assert await fields(client, "import") == ["importing", 0, ""]
    assert (await client.get(f"/v1/bdbs/{OWN}")).json()["status"] == "import-pending"
    async with console.store.begin() as session:
        row = await session.get_one(Restore, reply.json()["restore_uid"])
        assert [each["path"] for each in row.sources[0]["files"]] == ["dump.rdb"]
        row.status, row.error_code, row.finished_at = "failed", "stopped", row.created_at
    assert await fields(client, "import") == ["failed", 100, "general-error"]


async def test_invalid_requests_are_rejected(client: httpx.AsyncClient) -> None:
    for path, body, code in (
        ("export", {"export_location": {"type": "url", "url": "https://example.org"}}, "invalid_backup_location"),
        ("export", {"export_location": {"type": "tape"}}, "invalid_backup_location"),
        ("import", {"dataset_import_sources": [{"type": "s3", "bucket_name": "b"}]}, "invalid_import_source"),
        ("import", {"dataset_import_sources": [{**FOLDER, "filename": "../x.rdb"}]}, "invalid_import_source"),
        ("restore", {"backup_uid": 999}, "backup_not_found"),
        ("restore", {"backup_uid": OWN}, "backup_not_usable"),
        ("backup", {}, "missing_backup_location"),
    ):
        reply = await client.post(f"/v1/bdbs/{OWN}/actions/{path}", json=body)
        assert (reply.status_code in (404, 406), reply.json()["error_code"]) == (True, code), reply.text


async def test_users_of_some_databases_cannot_import_with_credentials_of_nodes(
    client: httpx.AsyncClient, console: Console
) -> None:
    limited = await create_user(client, "limited", role_uids=[await create_role(client)])
    s3 = {"type": "s3", "bucket_name": "b", "filename": "a.rdb"}
    async with browser_client(console) as browser:

        async def status(action: str, body: dict[str, object]) -> int:
            reply = await browser.post(f"/v1/bdbs/{OWN}/actions/{action}", json=body, headers=limited)
            return reply.status_code

        without_id = {**s3, "secret_access_key": "own"}
        for source in ({**FOLDER, "filename": "a.rdb"}, s3, without_id, {**s3, "type": "gs"}):
            assert await status("import", {"dataset_import_sources": [source]}) == 403
        assert await status("restore", {"backup_uid": FOREIGN}) == 403, "the backup belongs to another database"
        assert await status("import", {"dataset_import_sources": [{**without_id, "access_key_id": "id"}]}) == 200


async def test_only_administrators_use_credentials_of_nodes(client: httpx.AsyncClient, console: Console) -> None:
    member = await create_user(client, "member", role="cluster_member")
    google = {"type": "gs", "bucket_name": "b", "endpoint": "https://example.org"}
    async with browser_client(console) as browser:
        for method, path, body in (
            ("POST", f"/v1/bdbs/{OWN}/actions/export", {"export_location": google}),
            ("POST", f"/v1/bdbs/{OWN}/actions/import", {"dataset_import_sources": [{**google, "filename": "a.rdb"}]}),
            ("PUT", f"/v1/bdbs/{OWN}", {"backup_location": google}),
            ("POST", "/v1/bdbs", {"name": "new", "memory_size": 10**8, "backup_location": google}),
        ):
            reply = await browser.request(method, path, json=body, headers=member)
            assert (reply.status_code, reply.json()["error_code"]) == (403, "unauthorized_action"), (path, reply.text)
        assert (await client.put(f"/v1/bdbs/{OWN}", json={"backup_location": google})).status_code == 200


async def test_sources_of_imports_are_returned_without_secrets(client: httpx.AsyncClient, console: Console) -> None:
    source = {"type": "ftp", "url": "ftp://user:hidden@host/a.rdb"}
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, OWN)
        bdb.config = {**bdb.config, "dataset_import_sources": [source]}
    shown = (await client.get(f"/v1/bdbs/{OWN}")).json()["dataset_import_sources"]
    assert shown == [{"type": "ftp", "url": "ftp://user@host/a.rdb"}]


@pytest.mark.parametrize("pattern", ["", "a\0", "a" * 1_025])
async def test_patterns_that_cannot_be_used_are_rejected(client: httpx.AsyncClient, pattern: str) -> None:
    body = {"backup_uid": OWN, "key_patterns": [pattern]}
    reply = await client.post(f"/v1/bdbs/{OWN}/actions/restore", json=body)
    assert reply.status_code == 400, reply.text
    assert reply.json()["error_code"] != "backup_not_usable", reply.text
