"""Tests of copies of SQLite stores to a real PostgreSQL."""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest
from backend.tests.conftest import STORE_KEY, USER
from sqlalchemy import text

from shardboard.kit.bus import Bus
from shardboard.services.access.authorization import first_start
from shardboard.settings import Settings
from shardboard.state.access import users
from shardboard.state.alerting import events
from shardboard.state.cluster.nodes import Node
from shardboard.state.metrics.metric_history import MetricFrame
from shardboard.store import raw_rows
from shardboard.store.db import Base, Store
from shardboard.store.sqlite_copy import copy_to_sqlite
from shardboard.store.store_copy import CopyError, Summary, copy_store
from shardboard.store.store_key import StoreKeys

SERVER = os.environ.get("SHARDBOARD_TEST_POSTGRES_URL", "")
pytestmark = [
    pytest.mark.store,
    pytest.mark.skipif(not SERVER, reason="needs SHARDBOARD_TEST_POSTGRES_URL (scripts/with-postgres)"),
]

KEY = 4242
"""Of the advisory lock."""
FRAMES = 1200


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("source")


@pytest.fixture
async def source(filled: Path, tmp_path: Path) -> str:
    """URL of a SQLite store with rows of many kinds."""
    file = filled / "console.db"
    if not file.exists():
        await fill(f"sqlite+aiosqlite:///{file}", filled)
    shutil.copyfile(file, tmp_path / "console.db")
    return f"sqlite+aiosqlite:///{tmp_path / 'console.db'}"


async def fill(url: str, directory: Path) -> None:
    store = Store(url, Bus(), StoreKeys([STORE_KEY]))
    await store.migrate()
    async with store.begin() as session:
        await first_start(session, Settings(state_dir=directory, admin_user=USER, admin_password="a long password"))
        session.add(
            Node(
                uid=7,
                addr="10.0.0.7",
                agent_port=9700,
                agent_status="connected",
                last_seen=datetime.now(UTC),
                joined_at=datetime.now(UTC),
                facts={"ß": [1.5, None, 1 << 60]},
            )
        )
        for number in range(20):
            events.record(session, "login", f"Event {number} with 'quotes'\nand ß.", details={"share": number / 3})
        session.add_all(
            MetricFrame(topic="nodes", step=1, t=1_900_000_000 + number, layout=1, uids=b"\0\xff", data=os.urandom(20))
            for number in range(FRAMES)
        )
        await session.flush()
        # The uids of deleted backups are never used again.
        await session.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES ('backups', 41)"))
        await session.execute(text("DELETE FROM events WHERE uid = 3"))
    await store.close()


@pytest.fixture
async def target() -> AsyncIterator[str]:
    """URL of an empty database."""
    name = f"copy_{uuid4().hex}"
    administrator = await asyncpg.connect(SERVER.replace("+asyncpg", ""))
    await administrator.execute(f"CREATE DATABASE {name}")
    yield f"{SERVER.rpartition('/')[0]}/{name}"
    await administrator.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await administrator.close()


class Killed(Exception):
    """Stands for the end of the process."""


async def copy(source: str, target: str, *, end_after: int = 0, console_id: str = "me") -> Summary:
    """Copy, and fail at the report with this number."""
    reports: list[tuple[str, str]] = []

    def report(activity: str, table: str, _done: int, _all: int) -> None:
        reports.append((activity, table))
        if len(reports) == end_after:
            raise Killed

    return await copy_store(source, target, console_id, KEY, report)


async def rows(url: str, table: str) -> list[str]:
    """Return all stored values of a table, as text and sorted."""
    store = Store(url, Bus())
    async with store.read() as session:
        values = (await session.execute(text(f"SELECT * FROM {table}"))).all()  # noqa: S608
    await store.close()
    return sorted(str(tuple(value)) for value in values)


async def test_console_continues_with_the_copy(source: str, target: str) -> None:
    summary = await copy(source, target)
    assert summary.tables == len(Base.metadata.sorted_tables)
    assert summary.rows > FRAMES
    store = Store(target, Bus(), StoreKeys([STORE_KEY]))
    await store.check()
    await store.migrate()
    async with store.begin() as session:
        node = await session.get(Node, 7)
        assert node is not None
        assert node.facts == {"ß": [1.5, None, 1 << 60]}
        assert await users.by_email(session, USER) is not None
        newest = await events.newest_uid(session)
        event = events.record(session, "login", "Later.", source="cluster")
        await session.flush()
        assert event.uid == newest + 1
        assert (await session.execute(text("SELECT nextval(pg_get_serial_sequence('backups', 'uid'))"))).scalar() == 42
    await store.close()


def file_names(directory: Path, pattern: str) -> list[str]:
    return [path.name for path in directory.glob(pattern)]


async def encrypted_values(url: str, table: str) -> list[str]:
    return [value for row in await rows(url, table) for value in re.findall(r"encrypted:1:[\w+/=:]+", row)]


async def test_secrets_stay_encrypted(source: str, target: str) -> None:
    await copy(source, target)
    for table in ("cluster", "users"):
        before = await encrypted_values(source, table)
        assert await encrypted_values(target, table) == before != []


async def test_source_is_not_used_again(source: str, target: str) -> None:
    await copy(source, target)
    store = Store(source, Bus())
    with pytest.raises(ValueError, match=r"was moved to postgresql://shardboard@.*Set SHARDBOARD_DATABASE_URL"):
        await store.check()
    await store.close()
    with pytest.raises(CopyError, match="already moved to"):
        await copy(source, target)


async def test_interrupted_copy_is_continued(source: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_rows, "BATCH_ROWS", 400)
    for end_after in (1, 2, 3, 4, 5, 8, 30):
        with pytest.raises(Killed):
            await copy(source, target, end_after=end_after)
    store = Store(target, Bus())
    with pytest.raises(ValueError, match=r"unfinished copy.*Run `shardboard migrate-store` again"):
        await store.check()
    with pytest.raises(ValueError, match="unfinished copy"):
        await store.migrate()
    await store.close()
    expected = await rows(source, "metric_frames")
    await copy(source, target)
    assert await rows(target, "metric_frames") == expected


async def test_copy_starts_again_if_its_source_has_changed(source: str, target: str) -> None:
    with pytest.raises(Killed):
        await copy(source, target, end_after=12)
    store = Store(source, Bus())
    async with store.begin() as session:
        await session.execute(text("UPDATE metric_frames SET data = x'00' WHERE t = 1900000000"))
        await session.execute(text("DELETE FROM metric_frames WHERE t = 1900000001"))
        events.record(session, "login", "Another event.", source="cluster")
    await store.close()
    await copy(source, target)
    for table in ("metric_frames", "events"):
        assert len(await rows(source, table)) == len(await rows(target, table))
    assert await rows(source, "metric_frames") == await rows(target, "metric_frames")


async def test_unsuitable_targets_are_rejected(source: str, target: str) -> None:
    with pytest.raises(Killed):
        await copy(source, target, end_after=1)
    with pytest.raises(CopyError, match="unfinished copy of another store"):
        await copy(source, target, console_id="another")
    administrator = await asyncpg.connect(target.replace("+asyncpg", ""))
    await administrator.execute(f"SELECT pg_advisory_lock({KEY})")
    with pytest.raises(CopyError, match="A console or another copy is using"):
        await copy(source, target)
    await administrator.execute("DROP TABLE store_copy")
    await administrator.close()
    with pytest.raises(CopyError, match="contains tables"):
        await copy(source, target)


async def test_source_of_another_release_is_rejected(source: str, target: str) -> None:
    store = Store(source, Bus())
    async with store.begin() as session:
        await session.execute(text("UPDATE alembic_version SET version_num = '0039'"))
    await store.close()
    with pytest.raises(CopyError, match="Start the console of this release once"):
        await copy(source, target)


async def test_value_that_postgresql_cannot_store_is_reported(source: str, target: str) -> None:
    store = Store(source, Bus())
    async with store.begin() as session:
        await session.execute(text("UPDATE events SET description = 'a' || char(0) WHERE uid = 5"))
    await store.close()
    with pytest.raises(CopyError, match="PostgreSQL rejected rows of the table events"):
        await copy(source, target)


async def test_copy_to_sqlite_equals_the_first_store(source: str, target: str, tmp_path: Path) -> None:
    await copy(source, target)
    file = tmp_path / "copy.db"
    await copy_to_sqlite(target, file, lambda *_: None)
    url = f"sqlite+aiosqlite:///{file}"
    for table in Base.metadata.sorted_tables:
        assert await rows(url, table.name) == await rows(source, table.name), table.name
    assert await rows(url, "alembic_version") == await rows(source, "alembic_version")
    assert "('backups', 41)" in await rows(url, "sqlite_sequence")
    assert file_names(tmp_path, "copy.db*") == ["copy.db"]


async def test_copy_to_sqlite_contains_one_state(source: str, target: str, tmp_path: Path) -> None:
    """Transactions of consoles during the copy are not in it, not even in part."""
    await copy(source, target)
    administrator = await asyncpg.connect(target.replace("+asyncpg", ""))
    changes = []

    def change(_activity: str, table: str, _done: int, _all: int) -> None:
        if table == Base.metadata.sorted_tables[0].name or not changes:
            changes.append(
                asyncio.ensure_future(administrator.execute("DELETE FROM metric_frames; DELETE FROM events"))
            )

    await copy_to_sqlite(target, tmp_path / "copy.db", change)
    await asyncio.gather(*changes)
    await administrator.close()
    url = f"sqlite+aiosqlite:///{tmp_path / 'copy.db'}"
    assert await rows(target, "metric_frames") == []
    for table in ("metric_frames", "events"):
        assert await rows(url, table) == await rows(source, table) != []


SCRIPT = """
import asyncio, json, os, signal, sys
import shardboard.state
from shardboard.store import raw_rows, store_copy
source, target, limit = json.loads(sys.argv[1])
raw_rows.BATCH_ROWS = 100
count = 0
def report(*_):
    global count
    count += 1
    if count == limit:
        os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(store_copy.copy_store(source, target, "me", 4242, report))
"""


@pytest.mark.slow
async def test_killed_copy_is_continued(source: str, target: str) -> None:
    codes = []
    for limit in (3, 7, 9, 20, 0):
        command = [sys.executable, "-c", SCRIPT, json.dumps([source, target, limit])]
        codes.append((await asyncio.to_thread(subprocess.run, command, check=False)).returncode)
    assert codes == [-signal.SIGKILL] * 4 + [0]
    for table in ("metric_frames", "nodes", "users"):
        assert len(await rows(source, table)) == len(await rows(target, table))
