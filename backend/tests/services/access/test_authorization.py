"""Tests of the first administrator."""

import logging
from pathlib import Path

import pytest
from pydantic import SecretStr

from shardboard.errors import NotAcceptable
from shardboard.services.access import passwords
from shardboard.services.access.authorization import first_start, list_all, set_admin
from shardboard.settings import Settings
from shardboard.state.access import users
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster
from shardboard.store.db import Store

pytestmark = pytest.mark.store

CONFIGURED_PASSWORD = "correct horse battery"


def with_password(settings: Settings, password: str | None) -> Settings:
    return settings.model_copy(update={"admin_password": SecretStr(password) if password else None})


async def start(store: Store, settings: Settings) -> str | None:
    async with store.begin() as session:
        return await first_start(session, settings)


async def test_password_is_generated_once(store: Store, settings: Settings) -> None:
    settings = with_password(settings, None)
    generated = await start(store, settings)
    assert generated is not None
    assert len(generated) >= 20
    assert await start(store, settings) is None
    async with store.read() as session:
        (admin,) = await list_all(session)
        cluster_row = await cluster.load(session)
    assert (admin.email, admin.role) == (settings.admin_user, "admin")
    assert await passwords.find_matching_hash(generated, [admin.password_hash])
    assert generated not in admin.password_hash
    assert (cluster_row.name, cluster_row.bootstrap_state) == ("shardboard.local", "idle")
    assert len(cluster_row.jwt_secret) >= 64


async def test_configured_password_is_used_and_not_returned(store: Store, settings: Settings) -> None:
    assert await start(store, with_password(settings, CONFIGURED_PASSWORD)) is None
    async with store.read() as session:
        (admin,) = await list_all(session)
        assert (await cluster.load(session)).bootstrap_state == "completed"
    assert await passwords.find_matching_hash(CONFIGURED_PASSWORD, [admin.password_hash])


async def test_cluster_name_is_used_only_at_the_first_start(store: Store, settings: Settings) -> None:
    for invalid in ("", "two words", "a" * 65):
        with pytest.raises(NotAcceptable, match="SHARDBOARD_CLUSTER_NAME must be a host name"):
            await start(store, settings.model_copy(update={"cluster_name": invalid}))
    for name in ("prod.example.org", "other.example.org"):
        await start(store, settings.model_copy(update={"cluster_name": name}))
        async with store.read() as session:
            assert (await cluster.load(session)).name == "prod.example.org"


async def test_password_file_can_be_deleted_after_the_first_start(
    store: Store, settings: Settings, tmp_path: Path
) -> None:
    file = tmp_path / "password"
    settings = with_password(settings, None).model_copy(update={"admin_password_file": file})
    with pytest.raises(NotAcceptable, match="cannot be read"):
        await start(store, settings)
    file.write_text(CONFIGURED_PASSWORD)
    assert await start(store, settings) is None
    file.unlink()
    assert await start(store, settings) is None
    async with store.read() as session:
        (admin,) = await list_all(session)
    assert await passwords.find_matching_hash(CONFIGURED_PASSWORD, [admin.password_hash])


async def test_changed_password_setting_is_ignored_with_a_warning(
    store: Store, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    await start(store, with_password(settings, CONFIGURED_PASSWORD))
    with caplog.at_level(logging.WARNING):
        assert await start(store, with_password(settings, CONFIGURED_PASSWORD)) is None
        assert caplog.text == ""
        assert await start(store, with_password(settings, "another password")) is None
    assert "first start only" in caplog.text
    assert "another password" not in caplog.text
    async with store.read() as session:
        (admin,) = await list_all(session)
    assert await passwords.find_matching_hash(CONFIGURED_PASSWORD, [admin.password_hash])


@pytest.mark.parametrize("password", ["short", "x" * 257])
async def test_password_of_invalid_length_is_rejected(store: Store, settings: Settings, password: str) -> None:
    with pytest.raises(NotAcceptable) as refusal:
        await start(store, with_password(settings, password))
    assert refusal.value.code == "password_not_complex"
    async with store.read() as session:
        assert await users.count(session) == 0


async def test_set_admin_changes_an_existing_user(store: Store, settings: Settings) -> None:
    await start(store, with_password(settings, CONFIGURED_PASSWORD))
    async with store.begin() as session:
        user = await set_admin(session, settings.admin_user, "a new password")
    assert await passwords.find_matching_hash("a new password", [user.password_hash])
    async with store.read() as session:
        assert await users.count(session) == 1
        types = [event.type for event in await events.page(session, newest_first=False)]
    assert types == ["user_created", "user_updated"]


@pytest.mark.parametrize("name", ["", "a\nb", "nul\x00", "x" * 255])
async def test_user_name_with_invalid_characters_is_rejected(store: Store, name: str) -> None:
    async with store.begin() as session:
        with pytest.raises(NotAcceptable):
            await set_admin(session, name, CONFIGURED_PASSWORD)
