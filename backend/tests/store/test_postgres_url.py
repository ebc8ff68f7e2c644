"""Tests of PostgreSQL URLs with parameters of libpq, and of databases that cannot be used."""

import os
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import make_url

from shardboard.kit.bus import Bus
from shardboard.store import postgres_url
from shardboard.store.db import Store

BASE = "postgresql+asyncpg://ann:secret@db.example.org/console"
SERVER = os.environ.get("SHARDBOARD_TEST_POSTGRES_URL", "")
needs_server = pytest.mark.skipif(not SERVER, reason="needs SHARDBOARD_TEST_POSTGRES_URL (scripts/with-postgres)")


@pytest.mark.parametrize(
    ("query", "arguments", "kept"),
    [
        ("", {}, {}),
        ("?sslmode=require", {"dsn": "postgresql://?sslmode=require"}, {}),
        ("?application_name=a%20b&ssl=require", {"dsn": "postgresql://?application_name=a+b"}, {"ssl": "require"}),
        ("?connect_timeout=3", {"timeout": 3}, {}),
        ("?connect_timeout=0", {"timeout": None}, {}),
        ("?channel_binding=prefer", {}, {}),
        ("?host=/run/postgresql", {}, {"host": "/run/postgresql"}),
    ],
)
def test_parameters_are_passed_to_the_driver(query: str, arguments: dict[str, Any], kept: dict[str, str]) -> None:
    url, parameters = postgres_url.split(make_url(BASE + query))
    assert parameters == {"timeout": 10, **arguments}
    assert dict(url.query) == kept
    assert url.set(query={}) == make_url(BASE)


@pytest.mark.parametrize("query", ["sslmod=require", "connect_timeout=x", "channel_binding=require"])
def test_unusable_parameters_are_reported(query: str) -> None:
    with pytest.raises(ValueError, match=r"^SHARDBOARD_DATABASE_URL: ") as failure:
        Store(f"{BASE}?{query}", Bus())
    assert "secret" not in str(failure.value)


async def check(url: str) -> str:
    """Return the message of a store that cannot be used; empty if it can."""
    store = Store(url, Bus())
    try:
        await store.check()
    except ValueError as error:
        return str(error)
    finally:
        await store.close()
    return ""


async def test_unreachable_server_is_reported_in_one_line() -> None:
    message = await check("postgresql+asyncpg://ann:secret@127.0.0.1:1/console?sslmode=disable")
    assert message.startswith("The store postgresql+asyncpg://ann:***@127.0.0.1:1/console cannot be used: ")
    assert message.endswith("Check SHARDBOARD_DATABASE_URL.")
    assert "\n" not in message


@pytest.mark.parametrize("query", ["sslmode=wrong", "sslmode=verify-full&sslrootcert=/nonexistent"])
async def test_invalid_tls_parameters_are_reported(query: str) -> None:
    message = await check(f"{BASE}?{query}")
    assert "cannot be used" in message
    assert "secret" not in message


async def test_unusable_sqlite_file_is_reported(tmp_path: Path) -> None:
    message = await check(f"sqlite+aiosqlite:///{tmp_path}/missing/console.db")
    assert "unable to open database file" in message
    (tmp_path / "console.db").write_bytes(b"x" * 5000)
    assert "file is not a database" in await check(f"sqlite+aiosqlite:///{tmp_path}/console.db")


@needs_server
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"database": "unknown"}, 'database "unknown" does not exist'),
        ({"username": "unknown"}, "unknown"),
        ({"password": "wrong"}, "password authentication failed"),
    ],
)
async def test_server_that_refuses_the_login_is_reported(changes: dict[str, str], reason: str) -> None:
    url = make_url(SERVER).set(drivername="postgresql+asyncpg", **changes)
    message = await check(url.render_as_string(hide_password=False))
    assert reason in message
    assert "\n" not in message


@needs_server
@pytest.mark.parametrize(("mode", "expected"), [("prefer", ""), ("disable", ""), ("require", "rejected SSL upgrade")])
async def test_sslmode_is_applied(mode: str, expected: str) -> None:
    url = make_url(SERVER).set(drivername="postgresql+asyncpg", query={"sslmode": mode, "application_name": "x"})
    assert expected in await check(url.render_as_string(hide_password=False))
