"""Tests of downloads of backups."""

import hashlib
import io
import json
import tarfile
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from backend.tests.support import active_database, stored_backups
from backend.tests.support.active_database import BDB

from shardboard.console import Console
from shardboard.domain.data.manifest import Manifest, ManifestFile
from shardboard.driver.fake_agents import FakeAgents
from shardboard.kit import age, age_keys
from shardboard.state.cluster.nodes import Node
from shardboard.state.data import backups

CONTENTS = {"0-99.rdb.zst": b"first file", "100-16383.rdb.zst": b"x" * 1_000}


@pytest.fixture(autouse=True)
async def database(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    await active_database.create_active_database(console, agents)


@pytest.fixture
async def backup(console: Console, agents: FakeAgents) -> int:
    """A backup of two files."""
    now = datetime.now(UTC)
    uid = await stored_backups.add_backup(console, BDB, now)
    files = [
        ManifestFile(
            name, name.partition(".")[0], len(content), 0, hashlib.sha256(content).hexdigest(), 1, node_uid=number
        )
        for number, (name, content) in enumerate(CONTENTS.items(), start=1)
    ]
    async with console.store.begin() as session:
        manifest = Manifest(uid, {}, "9.1.2", now.isoformat(), now.isoformat(), files)
        await backups.save_manifest(session, uid, manifest.as_json())
    agents.files = {f"shop-1/then-1/{name}": content for name, content in CONTENTS.items()}
    return uid


async def events(client: httpx.AsyncClient) -> list[str]:
    """Return the messages about downloads."""
    found = (await client.get("/v1/logs")).json()
    return [each["description"] for each in found if each["type"] == "backup_downloaded"]


async def test_manifest_of_an_encrypted_backup_is_encrypted(
    client: httpx.AsyncClient, console: Console, backup: int
) -> None:
    identity = age_keys.generate_identity()
    async with console.store.begin() as session:
        stored = await backups.manifest(session, backup)
        manifest = {**(stored or {}), "recipients": [age_keys.recipient_of(identity)], "functions": ["secret_library"]}
        await backups.save_manifest(session, backup, manifest)
    reply = await client.get(f"/v1/backups/{backup}/files/manifest.json")
    assert reply.status_code == 200
    assert "secret_library" not in reply.text
    assert "slots" not in reply.json()
    private = json.loads(age.decrypt_text(reply.json()["private"], [identity]))
    assert private["functions"] == ["secret_library"]


async def test_file_is_sent_by_the_node_that_wrote_it(
    client: httpx.AsyncClient, agents: FakeAgents, backup: int
) -> None:
    reply = await client.get(f"/v1/backups/{backup}/files/100-16383.rdb.zst")
    assert (reply.status_code, reply.content) == (200, CONTENTS["100-16383.rdb.zst"])
    assert reply.headers["content-length"] == "1000"
    assert reply.headers["content-disposition"] == 'attachment; filename="shop-1-then-1-100-16383.rdb.zst"'
    assert agents.stream_nodes == [2]
    assert await events(client) == [f"100-16383.rdb.zst of backup {backup} of database shop was downloaded."]
    (line,) = (await client.get("/v1/audit?text=100-16383")).json()
    assert (line["outcome"], line["path"]) == ("done", f"/v1/backups/{backup}/files/100-16383.rdb.zst")
    manifest = await client.get(f"/v1/backups/{backup}/files/manifest.json")
    assert [each["name"] for each in manifest.json()["files"]] == list(CONTENTS)


async def test_archive_contains_the_files_and_the_manifest(client: httpx.AsyncClient, backup: int) -> None:
    reply = await client.get(f"/v1/backups/{backup}/archive")
    assert (reply.status_code, int(reply.headers["content-length"])) == (200, len(reply.content)), reply.text
    with tarfile.open(fileobj=io.BytesIO(reply.content)) as archive:
        names = archive.getnames()
        assert names == [f"shop-1-then-1/{name}" for name in ("manifest.json", *CONTENTS)]
        found: list[Any] = [archive.extractfile(name) for name in names]
        manifest, *files = [each.read() for each in found]
    assert files == list(CONTENTS.values())
    assert json.loads(manifest)["backup_uid"] == backup
    assert await events(client) == [f"The archive of backup {backup} of database shop was downloaded."]


async def test_another_node_is_tried(client: httpx.AsyncClient, agents: FakeAgents, backup: int) -> None:
    agents.file_errors = {1: "The folder is not mounted."}
    reply = await client.get(f"/v1/backups/{backup}/files/0-99.rdb.zst")
    assert (reply.status_code, reply.content, agents.stream_nodes) == (200, b"first file", [1, 2])


async def test_failed_download_has_a_reason(client: httpx.AsyncClient, agents: FakeAgents, backup: int) -> None:
    agents.files.clear()
    for path in ("files/0-99.rdb.zst", "archive"):
        reply = await client.get(f"/v1/backups/{backup}/{path}")
        assert (reply.status_code, reply.json()["error_code"]) == (503, "location_failed")
        assert reply.json()["description"].endswith("No such file or directory: shop-1/then-1/0-99.rdb.zst")
    assert await events(client) == []


async def test_interrupted_archive_is_not_complete(
    client: httpx.AsyncClient, agents: FakeAgents, backup: int, caplog: pytest.LogCaptureFixture
) -> None:
    del agents.files["shop-1/then-1/100-16383.rdb.zst"]
    with pytest.raises(AssertionError):  # of the transport, about the incomplete response
        await client.get(f"/v1/backups/{backup}/archive")
    assert "No such file or directory: shop-1/then-1/100-16383.rdb.zst" in caplog.text


@pytest.mark.parametrize("name", ["missing.rdb", "..%2Fmanifest.json", "0-99.rdb"])
async def test_unknown_files_are_not_found(client: httpx.AsyncClient, backup: int, name: str) -> None:
    assert (await client.get(f"/v1/backups/{backup}/files/{name}")).status_code == 404


async def test_unusable_backups_are_rejected(client: httpx.AsyncClient, console: Console) -> None:
    uid = await stored_backups.add_backup(console, BDB, datetime.now(UTC), status="failed")
    reply = await client.get(f"/v1/backups/{uid}/archive")
    assert (reply.status_code, reply.json()["error_code"]) == (409, "backup_not_usable")


async def test_number_of_streams_is_limited(
    console: Console, client: httpx.AsyncClient, agents: FakeAgents, backup: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shardboard.collectors.data.location_files.MAX_STREAMS", 0)
    reply = await client.get(f"/v1/backups/{backup}/archive")
    assert (reply.status_code, reply.json()["error_code"]) == (503, "busy")
