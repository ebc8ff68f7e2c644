"""Tests of encrypted columns: what the store really contains, also in stores of earlier releases."""

import json
from typing import Any

import httpx
import pytest
from backend.tests.support import active_database
from sqlalchemy import select, text
from sqlalchemy.exc import StatementError

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.kit.bus import Bus
from shardboard.services.access.authorization import first_start
from shardboard.services.cluster import support_bundle
from shardboard.services.cluster.encryption import encrypt_outdated
from shardboard.settings import Settings
from shardboard.state.access.users import User
from shardboard.state.alerting import events, webhooks
from shardboard.state.cluster import cluster
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs
from shardboard.store.db import Base, Store
from shardboard.store.encrypted_columns import columns
from shardboard.store.store_key import PREFIX, StoreKeyError, StoreKeys, new_key

pytestmark = pytest.mark.store
OLD, NEW = new_key(), new_key()


async def stored(store: Store) -> dict[str, list[Any]]:
    """Return the stored values of encrypted columns by column, as a copy of the store reveals them."""
    values: dict[str, list[Any]] = {}
    async with store.read() as session:
        for table, encrypted_columns in columns(Base.metadata).items():
            for column in encrypted_columns:
                rows = await session.execute(text(f"SELECT {column.name} FROM {table.name}"))  # noqa: S608 - no input
                values[str(column)] = [value for (value,) in rows if value is not None]
    return values


async def everything(store: Store) -> str:
    """Return every value of every table."""
    rows = []
    async with store.read() as session:
        for table in Base.metadata.sorted_tables:
            rows += [str(tuple(row)) for row in await session.execute(text(f"SELECT * FROM {table.name}"))]  # noqa: S608
    return "\n".join(rows)


def test_encrypted_columns_are_bound_to_their_names() -> None:
    types_by_column = {
        str(column): column.type for encrypted in columns(Base.metadata).values() for column in encrypted
    }
    assert {name: kind.column for name, kind in types_by_column.items()} == {name: name for name in types_by_column}  # type: ignore[attr-defined]
    assert {
        "backup_locations.location",
        "backups.location",
        "backup_locations.identities",
        "backup_manifests.data",
        "recordings.location",
        "restores.sources",
        "transfers.result",
        "bdbs.admin_password",
        "bdbs.next_admin_password",
        "bdbs.shard_certificates",
        "bdbs.config",
        "cluster.jwt_secret",
        "cluster.audit_key",
        "cluster.ldap",
        "cluster.oidc",
        "console_certificates.ca",
        "console_certificates.client",
        "console_certificates.former_ca",
        "console_certificates.installed",
        "console_certificates.next_ca",
        "console_certificates.requested_ca",
        "idempotent_replies.reply",
        "users.totp_secret",
        "users.data_hash",
        "users.other_passwords",
        "webhooks.secret",
        "webhooks.url",
    } == set(types_by_column)


async def test_copy_of_the_store_reveals_no_secrets(
    console: Console, agents: FakeAgents, client: httpx.AsyncClient, nodes: list[Node]
) -> None:
    hook = {"name": "chat", "url": "https://hooks.example.org/of-the-chat", "secret": "for-signing"}
    assert (await client.post("/v1/webhooks", json=hook)).status_code == 200
    bucket = {"type": "s3", "bucket_name": "b", "secret_access_key": "of-the-backups"}
    assert (await client.post("/v1/backup_locations", json={"name": "b", "location": bucket})).status_code == 200
    await active_database.create_active_database(console, agents)
    location = {"type": "s3", "bucket_name": "b", "access_key_id": "AKIAEXAMPLE", "secret_access_key": "of-the-bucket"}
    async with console.store.begin() as session:
        bdb = await bdbs.by_uid(session, 1)
        user = (await session.execute(select(User))).scalars().first()
        assert bdb is not None
        assert user is not None
        bdb.config = {**bdb.config, "authentication_redis_pass": "of-its-clients", "backup_location": location}
        bdb.next_admin_password = "the-next-one"
        bdb.shard_certificates = {"key": "of-its-shards"}
        user.totp_secret = "GEZDGNBVGY3TQOJQ"
    async with console.store.read() as session:
        secrets = await support_bundle.secrets(session)
    assert "of-the-backups" in secrets
    secrets |= {"of-its-clients", "of-the-bucket", "the-next-one", "of-its-shards", "GEZDGNBVGY3TQOJQ", "for-signing"}
    assert len(secrets) >= 9
    copied = await everything(console.store)
    assert [secret for secret in secrets if secret in copied] == []
    assert PREFIX in copied


async def test_store_of_an_earlier_release_is_encrypted_and_read(settings: Settings, database_url: str) -> None:
    before = Store(database_url, Bus())
    async with before.begin() as session:
        await first_start(session, settings)
        secret = (await cluster.load(session)).jwt_secret
        user = (await session.execute(select(User))).scalars().one()
        user.other_passwords = [{"hash": "h", "data_hash": "d", "id": "i", "issued": 1}]
    assert secret in (await stored(before))["cluster.jwt_secret"]
    await before.close()

    keys = StoreKeys([OLD])
    after = Store(database_url, Bus(), keys)
    async with after.begin() as session:
        assert (await cluster.load(session)).jwt_secret == secret, "it can be read before it is encrypted"
        assert await encrypt_outdated(session, keys) == 4
        assert await encrypt_outdated(session, keys) == 0
    async with after.read() as session:
        assert (await cluster.load(session)).jwt_secret == secret
        user = (await session.execute(select(User))).scalars().one()
        assert (user.other_passwords[0]["data_hash"], user.totp_secret) == ("d", None)
        [event] = [each for each in await events.page(session, newest_first=True) if each.type == "store_encrypted"]
    assert event.description == f"4 secrets of the store were encrypted with the key {keys.first}."
    for column, values in (await stored(after)).items():
        for value in values:
            stored_text = value if isinstance(value, str) else json.dumps(value)
            assert stored_text.removeprefix('"').startswith(f"{PREFIX}{keys.first}:"), column
    await after.close()


async def test_new_key_replaces_the_previous_one(settings: Settings, database_url: str) -> None:
    old = StoreKeys([OLD])
    before = Store(database_url, Bus(), old)
    async with before.begin() as session:
        await first_start(session, settings)
        secret = (await cluster.load(session)).jwt_secret
    await before.close()

    both = StoreKeys([NEW, OLD])
    after = Store(database_url, Bus(), both)
    async with after.begin() as session:
        assert await encrypt_outdated(session, both) == 4
    assert old.first not in await everything(after)
    await after.close()

    new_store = Store(database_url, Bus(), StoreKeys([NEW]))
    async with new_store.read() as session:
        assert (await cluster.load(session)).jwt_secret == secret
    await new_store.close()


async def test_store_is_neither_read_nor_changed_without_its_key(settings: Settings, database_url: str) -> None:
    before = Store(database_url, Bus(), StoreKeys([OLD]))
    async with before.begin() as session:
        await first_start(session, settings)
    content = await everything(before)
    await before.close()

    other_keys = StoreKeys([NEW])
    after = Store(database_url, Bus(), other_keys)
    with pytest.raises(StoreKeyError, match=f"is encrypted with the store key {StoreKeys([OLD]).first}"):
        async with after.begin() as session:
            await encrypt_outdated(session, other_keys)
    with pytest.raises((StoreKeyError, StatementError), match="encrypted with the store key"):
        async with after.read() as session:
            await cluster.load(session)
    assert await everything(after) == content
    await after.close()


async def test_value_copied_into_another_column_cannot_be_read(console: Console, client: httpx.AsyncClient) -> None:
    """An attacker who can write to the store but not read it must not be able to make the console display or send one secret as
    another."""
    hook = {"name": "chat", "url": "https://hooks.example.org/a", "secret": "hush"}
    assert (await client.post("/v1/webhooks", json=hook)).status_code == 200
    async with console.store.begin() as session:
        await session.execute(text("UPDATE webhooks SET url = (SELECT jwt_secret FROM cluster)"))
    with pytest.raises(StoreKeyError, match=r"webhooks\.url cannot be decrypted"):
        async with console.store.read() as session:
            await webhooks.list_all(session)
