"""Tests of the keys of backups: those of locations, and the private keys that restores need."""

import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from backend.tests.support import active_database, stored_backups
from backend.tests.support.active_database import BDB
from backend.tests.support.database_scope import browser_client, create_user

from shardboard.actions.verifications import VerificationParameters
from shardboard.console import Console
from shardboard.domain.data.manifest import Manifest, ManifestFile, parse
from shardboard.driver.fake_agents import FakeAgents
from shardboard.kit import age_keys
from shardboard.state.cluster.actions import Action
from shardboard.state.cluster.nodes import Node
from shardboard.state.data import backups, manifest_text, restores
from shardboard.state.data.locations import BackupLocation

pytestmark = pytest.mark.store_in_all
FOLDER = {"type": "mount_point", "path": "/backups"}
IDENTITY, OTHER = age_keys.generate_identity(), age_keys.generate_identity()
RECIPIENT, OTHER_RECIPIENT = age_keys.recipient_of(IDENTITY), age_keys.recipient_of(OTHER)
CREATED = datetime(2026, 11, 30, tzinfo=UTC)


async def create(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    reply = await client.post("/v1/backup_locations", json={"name": "store", "location": FOLDER, **fields})
    assert reply.status_code == 200, reply.text
    created: dict[str, Any] = reply.json()
    return created


async def change(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    reply = await client.put("/v1/backup_locations/1", json=fields)
    changed: dict[str, Any] = reply.json()
    return changed


async def stored_identities(console: Console) -> list[str] | None:
    async with console.store.read() as session:
        return (await session.get_one(BackupLocation, 1)).identities


async def test_private_keys_are_stored_but_not_returned(client: httpx.AsyncClient, console: Console) -> None:
    created = await create(client, recipients=[RECIPIENT, RECIPIENT], identities=f"# key\n{IDENTITY}\n")
    assert (created["is_encrypted"], created["recipients"], created["stored_keys"]) == (True, [RECIPIENT], [RECIPIENT])
    assert IDENTITY not in json.dumps(created)
    viewer = await create_user(client, "viewer", role="cluster_viewer")
    async with browser_client(console) as browser:
        [shown] = (await browser.get("/v1/backup_locations", headers=viewer)).json()
    assert (shown["is_encrypted"], shown["recipients"], shown["stored_keys"]) == (True, [], [])


async def test_keys_are_replaced_without_losing_private_keys(client: httpx.AsyncClient, console: Console) -> None:
    await create(client, recipients=[RECIPIENT], identities=IDENTITY)
    changed = await change(client, recipients=[OTHER_RECIPIENT], identities=OTHER)
    assert (changed["recipients"], changed["stored_keys"]) == ([OTHER_RECIPIENT], [OTHER_RECIPIENT, RECIPIENT])
    assert (await change(client, name="vault"))["recipients"] == [OTHER_RECIPIENT]
    changed = await change(client, recipients=[], delete_identities=[OTHER_RECIPIENT])
    assert (changed["is_encrypted"], changed["stored_keys"]) == (False, [RECIPIENT])
    assert await stored_identities(console) == [IDENTITY]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"recipients": [IDENTITY]}, "Public key 1 is a private key"),
        ({"recipients": [RECIPIENT, "age1"]}, "Public key 2 is not an age public key"),
        ({"identities": RECIPIENT}, "is not an age private key"),
    ],
)
async def test_invalid_keys_are_rejected(client: httpx.AsyncClient, fields: dict[str, Any], message: str) -> None:
    reply = await client.post("/v1/backup_locations", json={"name": "store", "location": FOLDER, **fields})
    assert (reply.status_code, reply.json()["error_code"]) == (406, "invalid_backup_key")
    assert message in reply.json()["description"]
    assert IDENTITY not in reply.text


async def test_created_keys_belong_together_and_are_not_stored(client: httpx.AsyncClient) -> None:
    created = (await client.post("/v1/backup_locations/actions/create_key")).json()
    assert age_keys.recipient_of(created["identity"]) == created["recipient"]
    assert (await client.get("/v1/backup_locations")).json() == []


@pytest.fixture
async def encrypted_backup(console: Console, agents: FakeAgents, nodes: list[Node]) -> int:
    """An encrypted backup of an active database whose location stores no private key."""
    await active_database.create_active_database(console, agents)
    return await stored_backups.add_backup(console, BDB, CREATED, recipients=[RECIPIENT])


async def restore(client: httpx.AsyncClient, uid: int, identities: str = "") -> httpx.Response:
    return await client.post(f"/v1/bdbs/{BDB}/actions/restore", json={"backup_uid": uid, "identities": identities})


@pytest.mark.parametrize(
    ("identities", "code", "message"),
    [
        ("", "missing_backup_key", "its private key is not stored"),
        (OTHER, "wrong_backup_key", "does not belong to backup"),
        ("secret-word", "invalid_backup_key", "is not an age private key"),
    ],
    ids=["missing", "wrong", "invalid"],
)
async def test_restores_without_the_private_key_are_rejected(
    client: httpx.AsyncClient, encrypted_backup: int, identities: str, code: str, message: str
) -> None:
    reply = await restore(client, encrypted_backup, identities)
    assert (reply.status_code, reply.json()["error_code"]) == (406, code)
    assert message in reply.json()["description"]
    assert not identities or identities not in reply.text
    assert (await client.get(f"/v1/bdbs/{BDB}")).json()["status"] == "active"


@pytest.mark.parametrize("is_stored", [True, False])
async def test_restores_use_the_sent_or_stored_private_key(
    client: httpx.AsyncClient, console: Console, encrypted_backup: int, is_stored: bool
) -> None:
    if is_stored:
        await create(client, identities=f"{OTHER}\n{IDENTITY}")
    reply = await restore(client, encrypted_backup, "" if is_stored else f"{OTHER}\n{IDENTITY}")
    assert reply.status_code == 200, reply.text
    async with console.store.read() as session:
        row = await restores.by_uid(session, reply.json()["restore_uid"])
    assert row is not None
    assert [each["identities"] for each in row.sources] == [[IDENTITY]]
    assert IDENTITY not in (await client.get("/v1/restores")).text


async def test_verifications_without_a_stored_private_key_compare_checksums(
    client: httpx.AsyncClient, console: Console, encrypted_backup: int
) -> None:
    for is_stored in (False, True):
        if is_stored:
            await create(client, identities=IDENTITY)
        assert [each["is_decryptable"] for each in (await client.get("/v1/backups")).json()] == [is_stored]
        action_uid = (await client.post(f"/v1/backups/{encrypted_backup}/actions/verify")).json()["action_uid"]
        async with console.store.begin() as session:
            action = await session.get_one(Action, action_uid)
            action.status = "cancelled"
        assert VerificationParameters.parse(action).only_checksums is not is_stored


async def test_found_backups_are_decrypted_when_their_key_is_known(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, nodes: list[Node]
) -> None:
    await active_database.create_active_database(console, agents)
    file = ManifestFile("0-16383.rdb.zst.age", "0-16383", 100, 1000, "0" * 64, 3)
    bdb = {"name": "shop", "memory_size": 5}
    manifest = Manifest(70, bdb, "9.1.2", "", "", [file], [(1, 3, "f" * 16)], recipients=[RECIPIENT])
    text = manifest_text.text(manifest)
    assert '"memory_size"' not in text
    folders = ["shop-1/1", "shop-1/2"]
    agents.transfer_results |= {
        "list_files": {"files": [{"path": f"{folders[0]}/manifest.json"}]},
        "read_file": {"text": text},
    }
    await create(client)
    find = "/v1/backup_locations/1/actions/find_backups"
    assert (await client.post(find)).json()["added"] == [1]
    backup = (await client.get("/v1/backups/1")).json()
    assert (backup["is_encrypted"], backup["recipients"], backup["bdb_name"]) == (True, [RECIPIENT], "shop")
    await change(client, identities=IDENTITY)
    agents.transfer_results["list_files"] = {"files": [{"path": f"{folders[1]}/manifest.json"}]}
    assert (await client.post(find)).json()["added"] == [2]
    assert [(await decrypted_slots(console, uid)) for uid in (1, 2)] == [[], manifest.slots]
    assert (await restore(client, 1)).status_code == 200
    assert await decrypted_slots(console, 1) == manifest.slots, "the restore decrypted the manifest"
    async with console.store.read() as session:
        assert (await session.get_one(backups.Backup, 1)).bdb == bdb


async def decrypted_slots(console: Console, uid: int) -> list[tuple[int, int, str]]:
    async with console.store.read() as session:
        return list(parse(await backups.manifest(session, uid)).slots)


async def test_imports_accept_private_keys(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, nodes: list[Node]
) -> None:
    await active_database.create_active_database(console, agents)
    sources = [{"type": "mount_point", "path": "/backups/0-16383.rdb.zst.age"}]
    path, body = f"/v1/bdbs/{BDB}/actions/import", {"dataset_import_sources": sources}
    assert (await client.post(path, json={**body, "identities": "text"})).json()["error_code"] == "invalid_backup_key"
    reply = await client.post(path, json={**body, "identities": IDENTITY})
    async with console.store.read() as session:
        row = await restores.by_uid(session, reply.json()["restore_uid"])
    assert row is not None
    assert [each["identities"] for each in row.sources] == [[IDENTITY]]


async def test_exports_can_be_encrypted(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, nodes: list[Node]
) -> None:
    await active_database.create_active_database(console, agents)
    body = {"export_location": FOLDER, "recipients": [RECIPIENT]}
    uid = (await client.post(f"/v1/bdbs/{BDB}/actions/export", json=body)).json()["backup_uid"]
    assert (await client.get(f"/v1/backups/{uid}")).json()["recipients"] == [RECIPIENT]
