"""Tests of PostgreSQL URLs with parameters of libpq, and of databases that cannot be used."""

import os
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import make_url

from shardboard.kit.bus import Bus
from shardboard.store import postgres_url
from shardboard.store.db import Store
from shardboard.store.postgres_url import PostgresUrl, SocketLimits

BASE = "postgresql+asyncpg://ann:secret@db.example.org/console"
SERVER = os.environ.get("SHARDBOARD_TEST_POSTGRES_URL", "")
needs_server = pytest.mark.skipif(not SERVER, reason="needs SHARDBOARD_TEST_POSTGRES_URL (scripts/with-postgres)")


def parsed(query: str, base: str = BASE) -> PostgresUrl:
    return postgres_url.parse(make_url(base + query))


@pytest.mark.parametrize(
    ("query", "arguments"),
    [
        ("", {}),
        ("?sslmode=require", {"dsn": "postgresql://?sslmode=require"}),
        ("?sslmode=verify-full&ssl=disable", {"dsn": "postgresql://?sslmode=verify-full"}),
        ("?application_name=a%20b&ssl=require", {"dsn": "postgresql://?sslmode=require", "name": "a b"}),
        ("?options=-c%20jit%3Doff&fallback_application_name=a", {"name": "a", "options": "-c jit=off"}),
        ("?command_timeout=0&passfile=/x", {"command_timeout": None, "passfile": "/x"}),
        ("?target_session_attrs=primary&gssencmode=prefer", {"target_session_attrs": "primary"}),
        ("?channel_binding=prefer&client_encoding=utf8&load_balance_hosts=disable", {}),
    ],
)
def test_parameters_are_passed_to_the_driver(query: str, arguments: dict[str, Any]) -> None:
    expected = {"user": "ann", "password": "secret", "database": "console", "command_timeout": 60, **arguments}
    settings = {"application_name": expected.pop("name", None), "options": expected.pop("options", None)}
    expected["server_settings"] = {name: value for name, value in settings.items() if value}
    assert parsed(query).arguments == {name: value for name, value in expected.items() if value is not None}
    assert parsed(query).servers == [("db.example.org", None)]


@pytest.mark.parametrize(
    ("query", "servers"),
    [
        ("?host=/run/postgresql", [("/run/postgresql", None)]),
        ("?host=a,b&port=1,2", [("a", 1), ("b", 2)]),
        ("?host=a,b&port=7", [("a", 7), ("b", 7)]),
        ("?host=a:1&host=b", [("a", 1), ("b", None)]),
        ("?host=::1,::2&port=1,2", [("::1", 1), ("::2", 2)]),
        ("?port=7", [(None, 7)]),
    ],
)
def test_several_servers(query: str, servers: list[tuple[str | None, int | None]]) -> None:
    url = parsed(query, "postgresql+asyncpg://ann:secret@/console")
    assert url.servers == servers
    several = len(servers) > 1
    assert url.arguments.get("target_session_attrs") == ("read-write" if several else None)
    assert url.connect_seconds == (3 if several else 10)


@pytest.mark.parametrize(
    ("query", "seconds"), [("?connect_timeout=3", 3), ("?timeout=4", 4), ("?connect_timeout=0", None)]
)
def test_connect_timeout(query: str, seconds: int | None) -> None:
    assert parsed(query).connect_seconds == seconds


def test_limits_of_sockets() -> None:
    assert parsed("").socket == SocketLimits()
    assert parsed("?keepalives=0&keepalives_idle=7&tcp_user_timeout=900").socket == SocketLimits(
        keepalives=False, idle=7, user_timeout=900
    )


def test_password_is_not_described() -> None:
    url = parsed("?host=a,b&port=1,2")
    assert url.description == "postgresql://ann@a:1,b:2/console"
    assert "secret" not in repr(url)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("sslmod=require", "sslmod is not supported. Did you mean sslmode"),
        ("hostaddr=127.0.0.1", "hostaddr is not supported"),
        ("sslmode=wrong", "sslmode must be disable, allow, prefer, require, verify-ca or verify-full"),
        ("connect_timeout=x", "connect_timeout must be a number of seconds"),
        ("tcp_user_timeout=-1", "tcp_user_timeout must be a number"),
        ("channel_binding=require", "channel_binding must be prefer or disable"),
        ("target_session_attrs=standby", "the console needs a server that accepts writes"),
        ("sslmode=verify-full&sslrootcert=/nonexistent", "sslrootcert is not readable: No such file"),
        ("sslmode=require&sslrootcert=system", "sslrootcert=system requires sslmode=verify-full"),
        ("host=a,b&port=1,2,3", "host has 2 values, and port has 3"),
        ("sslmode=require&sslmode=disable", "sslmode is specified several times"),
        ("host=a,b&port=x,2", "port must be a number"),
    ],
)
def test_unusable_parameters_are_reported(query: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"^SHARDBOARD_DATABASE_URL: ") as failure:
        Store(f"{BASE}?{query}", Bus())
    assert message in str(failure.value)
    assert "secret" not in str(failure.value)


def test_other_drivers_are_rejected() -> None:
    with pytest.raises(ValueError, match=r"postgresql\+psycopg2 is not supported"):
        Store("postgresql+psycopg2://ann:secret@db/console", Bus())


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
    assert message.startswith("The store postgresql://ann@127.0.0.1:1/console cannot be used: ")
    assert message.endswith("Check SHARDBOARD_DATABASE_URL.")
    assert "\n" not in message


async def test_each_unreachable_server_is_reported() -> None:
    message = await check("postgresql+asyncpg://ann:secret@/console?host=127.0.0.1,127.0.0.1&port=1,2")
    assert "no server can be reached" in message
    assert "'127.0.0.1', 1" in message
    assert "'127.0.0.1', 2" in message
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
async def test_server_that_refuses_the_login_is_reported(changes: dict[str, Any], reason: str) -> None:
    url = make_url(SERVER).set(drivername="postgresql+asyncpg", **changes)
    message = await check(url.render_as_string(hide_password=False))
    assert reason in message
    assert "\n" not in message


@needs_server
@pytest.mark.parametrize(("mode", "expected"), [("prefer", ""), ("disable", ""), ("require", "rejected SSL upgrade")])
async def test_sslmode_is_applied(mode: str, expected: str) -> None:
    url = make_url(SERVER).set(drivername="postgresql+asyncpg", query={"sslmode": mode, "application_name": "x"})
    assert expected in await check(url.render_as_string(hide_password=False))
