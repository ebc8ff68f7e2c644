"""Tests of opening consoles on one store: a new console needs only the store and its key. With anything else, nothing changes."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from cryptography import x509
from pydantic import SecretStr
from sqlalchemy import text

from shardboard.app import open_console
from shardboard.kit.bus import Bus
from shardboard.pki.tls import signing_key_of
from shardboard.settings import Settings
from shardboard.store.db import Base, Store
from shardboard.store.store_key import StoreKeys, new_key

pytestmark = pytest.mark.store

KEY = new_key()


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"store_key": SecretStr(KEY)})


def another(settings: Settings, **changes: object) -> Settings:
    """Return the settings of a console on another machine: this process keeps the lock of a state directory until it ends."""
    return settings.model_copy(update={"state_dir": settings.state_dir / uuid4().hex, **changes})


async def fingerprint(settings: Settings) -> str:
    async with open_console(settings) as (console, _):
        server = x509.load_pem_x509_certificate(console.ca.server_file.read_bytes())
        assert signing_key_of(server) == console.ca.current.key_id
        assert console.ca.client_ssl_context()
        return console.ca.ca_fingerprint()


async def contents(settings: Settings) -> dict[str, Any]:
    """Return all rows as they are stored, and the revision of the schema."""
    store = Store(settings.store_url, Bus())
    async with store.read() as session:
        tables = ["alembic_version", *(table.name for table in Base.metadata.sorted_tables)]
        rows = {name: (await session.execute(text(f"SELECT * FROM {name}"))).all() for name in tables}  # noqa: S608
    await store.close()
    return rows


async def test_new_console_needs_only_the_store_and_its_key(settings: Settings) -> None:
    second = another(settings)
    assert await fingerprint(another(settings)) == await fingerprint(second)
    assert {path.name for path in second.state_dir.rglob("*") if path.is_file()} == {"instance", "ca.pem", "server.pem"}


@pytest.mark.parametrize(
    ("key", "message"),
    [(None, "There is no store key in "), (new_key(), "is encrypted with the key ")],
    ids=["missing", "wrong"],
)
async def test_console_without_the_key_changes_nothing(settings: Settings, key: str | None, message: str) -> None:
    await fingerprint(another(settings))
    before = await contents(settings)
    other = another(settings, store_key=SecretStr(key) if key else None)
    with pytest.raises(ValueError, match=message) as error:
        await fingerprint(other)
    assert StoreKeys([KEY]).first in str(error.value), "the name of the key that is needed"
    assert "Copy that key from the machine of another console" in str(error.value)
    assert await contents(settings) == before
    assert not (other.state_dir / "store.key").exists()


async def test_store_of_a_newer_release_is_not_changed(settings: Settings) -> None:
    await fingerprint(another(settings))
    store = Store(settings.store_url, Bus())
    async with store.begin() as session:
        await session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    before = await contents(settings)
    with pytest.raises(ValueError, match=r"A newer release uses this store.* 9999.*Install the newer release"):
        await fingerprint(another(settings))
    assert await contents(settings) == before
    async with store.begin() as session:
        newest = max(path.name[:4] for path in (Path(__file__).parents[2] / "migrations" / "versions").glob("0*.py"))
        await session.execute(text("UPDATE alembic_version SET version_num = :newest"), {"newest": newest})
    await store.close()
