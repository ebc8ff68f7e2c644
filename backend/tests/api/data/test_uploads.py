"""Tests of files that are uploaded for imports."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from backend.tests.support import active_database, stored_backups
from backend.tests.support.active_database import BDB
from backend.tests.support.real_shards import wait_until
from sqlalchemy import update

from shardboard.collectors.data.upload_cleanup import UploadCleanup
from shardboard.console import Console
from shardboard.domain.data.uploads import LIFETIME, SILENCE
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.cluster.nodes import Node
from shardboard.state.data.restores import Restore
from shardboard.state.data.uploads import Upload

CONTENT = b"REDIS0011" + bytes(2_000_000)
PATH = f"/v1/bdbs/{BDB}/uploads"


@pytest.fixture(autouse=True)
async def database(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    await active_database.create_active_database(console, agents)
    agents.transfer_results["delete_files"] = {}


@pytest.fixture(autouse=True)
async def location(console: Console, database: None) -> int:
    return await stored_backups.add_location(console)


async def create(client: httpx.AsyncClient, size: int = len(CONTENT), **fields: Any) -> int:
    reply = await client.post(PATH, json={"name": "dump.rdb", "bytes": size, **fields})
    assert reply.status_code == 200, reply.text
    uid: int = reply.json()["uid"]
    return uid


async def send(client: httpx.AsyncClient, uid: int, content: bytes = CONTENT) -> httpx.Response:
    return await client.put(f"{PATH}/{uid}/content", content=content)


async def state_of(client: httpx.AsyncClient, uid: int) -> tuple[str, str]:
    reply = (await client.get(f"{PATH}/{uid}")).json()
    return reply["status"], reply["detail"]


def cleanup(console: Console) -> UploadCleanup:
    return UploadCleanup(console.store, console.locations)


async def test_uploaded_file_is_imported_and_then_deleted(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    uid = await create(client)
    assert await state_of(client, uid) == ("waiting", "")
    reply = await send(client, uid)
    assert (reply.status_code, reply.json()["status"]) == (200, "ready"), reply.text
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    assert reply.json()["sha256"] == sha256
    ((path, content),) = agents.files.items()
    assert content == CONTENT
    started = await client.post(
        f"/v1/bdbs/{BDB}/actions/import", json={"dataset_import_sources": [{"type": "upload", "upload_uid": uid}]}
    )
    assert started.status_code == 200, started.text
    async with console.store.begin() as session:
        restore = await session.get_one(Restore, started.json()["restore_uid"])
        assert restore.source == "Uploaded file dump.rdb"
        assert restore.sources[0]["files"] == [{"path": path, "sha256": sha256, "slots": ""}]
    assert (await client.delete(f"{PATH}/{uid}")).json()["error_code"] == "upload_in_use"
    await cleanup(console).sweep()
    assert (await state_of(client, uid))[0] == "ready"
    async with console.store.begin() as session:
        restore = await session.get_one(Restore, restore.uid)
        restore.status, restore.finished_at = "succeeded", datetime.now(UTC)
    await cleanup(console).sweep()
    assert (await client.get(PATH)).json() == []
    assert [
        request.transfer.paths  # type: ignore[union-attr]
        for _, request in agents.started_transfers.values()
        if request.transfer.kind == "delete_files"
    ] == [[path]]


async def test_inspection_uses_an_upload_without_its_deletion(client: httpx.AsyncClient, console: Console) -> None:
    uid = await create(client)
    assert (await send(client, uid)).status_code == 200
    sources = {"dataset_import_sources": [{"type": "upload", "upload_uid": uid}]}
    inspection = (await client.post(f"/v1/bdbs/{BDB}/actions/inspect", json=sources)).json()["restore_uid"]
    assert (await client.delete(f"{PATH}/{uid}")).json()["error_code"] == "upload_in_use"
    async with console.store.begin() as session:
        row = await session.get_one(Restore, inspection)
        row.status, row.finished_at = "succeeded", datetime.now(UTC)
        row.report = {
            "forecast": "possible",
            "keys": 1,
            "problems": [],
            "losses": [],
            "needed_bytes": 0,
            "lost_keys": 0,
        }
    await cleanup(console).sweep()
    assert (await state_of(client, uid))[0] == "ready"
    other = await create(client)
    assert (await send(client, other)).status_code == 200
    same_name = {"dataset_import_sources": [{"type": "upload", "upload_uid": other}], "inspection_uid": inspection}
    refused = await client.post(f"/v1/bdbs/{BDB}/actions/import", json=same_name)
    assert refused.json()["error_code"] == "inspection_not_usable"
    started = await client.post(f"/v1/bdbs/{BDB}/actions/import", json={**sources, "inspection_uid": inspection})
    assert started.status_code == 200, started.text
    # Another inspection does not hide that an import uses the file.
    assert (await client.post(f"/v1/bdbs/{BDB}/actions/inspect", json=sources)).status_code == 200
    async with console.store.begin() as session:
        restore = await session.get_one(Restore, started.json()["restore_uid"])
        restore.status, restore.finished_at = "succeeded_with_losses", datetime.now(UTC)
    await cleanup(console).sweep()
    assert [each["uid"] for each in (await client.get(PATH)).json()] == [other]


async def test_encrypted_files_are_accepted(client: httpx.AsyncClient, agents: FakeAgents) -> None:
    content = b"age-encryption.org/v1\n-> X25519 "
    uid = await create(client, len(content))
    assert (await send(client, uid, content)).status_code == 200
    assert list(agents.files.values()) == [content]


@pytest.mark.parametrize("content", [b"PK\x03\x04 archive", b"RED", b"<html></html>"])
async def test_other_files_are_rejected(client: httpx.AsyncClient, agents: FakeAgents, content: bytes) -> None:
    uid = await create(client, len(content))
    reply = await send(client, uid, content)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "not_an_rdb_file")
    assert await state_of(client, uid) == ("failed", reply.json()["description"])
    assert agents.files == {}


async def test_size_is_limited(client: httpx.AsyncClient, console: Console) -> None:
    assert (await client.put("/v1/cluster/policy", json={"max_upload_size": 100})).status_code == 200
    await create(client, 60)
    reply = await client.post(PATH, json={"name": "b.rdb", "bytes": 41})
    assert (reply.status_code, reply.json()["error_code"], reply.json()["field"]) == (406, "upload_too_large", "bytes")
    await create(client, 40)


async def test_content_has_the_announced_size(client: httpx.AsyncClient) -> None:
    uid = await create(client, 10)
    reply = await send(client, uid, b"REDIS001100")
    assert (reply.status_code, reply.json()["error_code"]) == (406, "wrong_upload_size")

    async def chunks() -> AsyncIterator[bytes]:
        yield b"REDIS"

    reply = await client.put(f"{PATH}/{uid}/content", content=chunks())
    assert (reply.status_code, reply.json()["error_code"]) == (406, "wrong_upload_size")


async def test_failed_upload_is_repeated(client: httpx.AsyncClient, agents: FakeAgents) -> None:
    uid = await create(client)
    agents.file_errors = {1: "The disk or quota is full: upload.rdb."}
    reply = await send(client, uid)
    assert (reply.status_code, reply.json()["error_code"]) == (503, "location_failed")
    assert await state_of(client, uid) == ("failed", reply.json()["description"])
    source = {"type": "upload", "upload_uid": uid}
    started = await client.post(f"/v1/bdbs/{BDB}/actions/import", json={"dataset_import_sources": [source]})
    assert started.json()["error_code"] == "upload_not_ready"
    agents.file_errors = {}
    assert (await send(client, uid)).status_code == 200
    assert (await send(client, uid)).json()["error_code"] == "upload_not_waiting"


async def test_cancelled_upload_fails(client: httpx.AsyncClient, console: Console) -> None:
    uid = await create(client)
    reached = asyncio.Event()

    async def parts() -> AsyncIterator[bytes]:
        yield CONTENT[:10]
        reached.set()
        await asyncio.Event().wait()

    headers = {"Content-Length": str(len(CONTENT))}
    task = asyncio.create_task(client.put(f"{PATH}/{uid}/content", content=parts(), headers=headers))
    await reached.wait()
    assert (await client.delete(f"{PATH}/{uid}")).json()["error_code"] == "upload_running"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    async def has_ended() -> bool:
        return (await state_of(client, uid))[0] != "receiving"

    await wait_until(has_ended)
    assert await state_of(client, uid) == ("failed", "The upload was interrupted.")
    assert (await client.delete(f"{PATH}/{uid}")).status_code == 200
    await cleanup(console).sweep()
    assert (await client.get(PATH)).json() == []


@pytest.mark.parametrize(("status", "age"), [("receiving", SILENCE), ("ready", LIFETIME)])
async def test_old_uploads_are_deleted(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, status: str, age: timedelta
) -> None:
    uid = await create(client)
    moment = datetime.now(UTC) - age
    for offset in (timedelta(seconds=-5), timedelta(seconds=5)):
        async with console.store.begin() as session:
            await session.execute(update(Upload).values(status=status, active_at=moment - offset))
        await cleanup(console).sweep()
        if offset < timedelta(0):
            assert (await state_of(client, uid))[0] == status
    if status == "receiving":
        assert await state_of(client, uid) == ("failed", "The upload was interrupted.")
    else:
        assert (await client.get(f"{PATH}/{uid}")).status_code == 404


async def test_deletion_is_repeated(client: httpx.AsyncClient, console: Console, agents: FakeAgents) -> None:
    uid = await create(client)
    agents.transfer_refused = "The bucket does not respond."
    assert (await client.delete(f"{PATH}/{uid}")).status_code == 200
    await cleanup(console).sweep()
    assert [each["status"] for each in (await client.get(PATH)).json()] == ["deleting"]
    agents.transfer_refused = ""
    await cleanup(console).sweep()
    assert (await client.get(PATH)).json() == []


async def test_uploads_of_deleted_databases_are_deleted(client: httpx.AsyncClient, console: Console) -> None:
    await create(client)
    async with console.store.begin() as session:
        await session.execute(update(Upload).values(bdb_uid=99))
    await cleanup(console).sweep()
    async with console.store.read() as session:
        assert await session.get(Upload, 1) is None


async def test_unknown_uploads_are_rejected(client: httpx.AsyncClient, location: int) -> None:
    uid = await create(client)
    assert (await client.get(f"{PATH}/{uid + 1}")).status_code == 404
    assert (await client.get(f"/v1/bdbs/{BDB + 1}/uploads/{uid}")).status_code == 404
    for wrong in (uid + 1, "1", True, None):
        source = {"type": "upload", "upload_uid": wrong}
        reply = await client.post(f"/v1/bdbs/{BDB}/actions/import", json={"dataset_import_sources": [source]})
        assert reply.json()["error_code"] in ("upload_not_found", "invalid_import_source")
    assert (await client.delete(f"/v1/backup_locations/{location}")).json()["error_code"] == "location_in_use"


async def test_upload_needs_a_location(client: httpx.AsyncClient, location: int) -> None:
    assert (await client.delete(f"/v1/backup_locations/{location}")).status_code == 200
    reply = await client.post(PATH, json={"name": "b.rdb", "bytes": 41})
    assert (reply.status_code, reply.json()["error_code"]) == (406, "missing_backup_location")


async def test_large_bodies_without_credentials_are_rejected(console: Console, client: httpx.AsyncClient) -> None:
    uid = await create(client)
    reply = await client.put(f"{PATH}/{uid}/content", content=CONTENT, auth=("nobody", "wrong"))
    assert reply.status_code == 401
    assert await state_of(client, uid) == ("waiting", "")
