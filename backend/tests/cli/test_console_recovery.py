"""Tests of `shardboard recover-console` with copies of fake agents."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from backend.tests.cli.conftest import SERVER
from backend.tests.conftest import STORE_KEY, USER
from backend.tests.support import stored_backups
from backend.tests.support.active_database import create_active_database
from backend.tests.support.agents_by_address import AgentsByAddress
from sqlalchemy import select

from shardboard.app import lock_state_dir
from shardboard.cli import console_recovery, main
from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.kit.bus import Bus
from shardboard.pki.key_files import write_private
from shardboard.reconcilers.cluster.recovery_copies import RecoveryCopiesLoop
from shardboard.services.access import passwords
from shardboard.services.cluster.encryption import encrypt_outdated
from shardboard.state.access import acl_users
from shardboard.state.access.users import User
from shardboard.state.alerting import events
from shardboard.state.cluster import console_certificates
from shardboard.state.data import recovery_copies
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard
from shardboard.store.db import Store
from shardboard.store.store_key import StoreKeys, new_key

pytestmark = pytest.mark.usefixtures("nodes")
Run = Callable[..., Awaitable[str]]
DATA_USER, HASH = "app@example.org", "ab" * 32
DB_VIEWER = 5
"""Uid of a built-in role."""


@pytest.fixture
def agents() -> FakeAgents:
    return AgentsByAddress()


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """State directory of a new machine, which has the store key."""
    for variable in ("DATABASE_URL", "STORE_KEY_FILE", "STORE_KEY_COMMAND", "ADMIN_PASSWORD", "ADMIN_PASSWORD_FILE"):
        monkeypatch.delenv(f"SHARDBOARD_{variable}", raising=False)
    monkeypatch.setenv("SHARDBOARD_STORE_KEY", STORE_KEY)
    monkeypatch.setenv("SHARDBOARD_STATE_DIR", str(tmp_path / "other"))
    monkeypatch.setenv("SHARDBOARD_ADMIN_USER", "second@example.org")
    return tmp_path / "other"


@pytest.fixture
async def copied(console: Console, agents: FakeAgents, tmp_path: Path) -> Path:
    """The file of the copy of the cluster on node 1, after all agents got their copies."""
    await create_active_database(console, agents, pairs=1, sharding=False)
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, 1)
        bdb.config = {**bdb.config, "roles_permissions": [{"role_uid": DB_VIEWER, "redis_acl_uid": 1}]}
        user = (await session.execute(select(User))).scalar_one()
        session.add(
            User(
                email=DATA_USER, name="app", password_hash=user.password_hash, role="db_viewer", data_hash=HASH,
                created_at=user.created_at,
            )
        )  # fmt: skip
    await RecoveryCopiesLoop(console.store, console.bus, agents, console.ca).update()
    return write_copy(agents, tmp_path)


def write_copy(agents: FakeAgents, directory: Path, node: int = 1) -> Path:
    copy = agents.recovery_copies[node]["cluster"]
    file = directory / ("cluster" if node == 1 else f"cluster-{node}")
    file.write_text(f"{copy.version.model_dump_json()}\n{copy.content}")
    return file


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def owners(directory: Path) -> dict[str, tuple[int, int]]:
    return {path.name: (path.stat().st_uid, path.stat().st_gid) for path in directory.iterdir()}


def damage_file(file: Path, damage: str, agents: FakeAgents) -> None:
    content, database = file.read_text(), agents.recovery_copies[1]["bdb-1"]
    contents = {
        "cut": content[:200],
        "database": f"{database.version.model_dump_json()}\n{database.content}",
        "foreign": "-----BEGIN",
    }
    if damage == "missing":
        file.unlink()
    else:
        file.write_text(contents[damage])


@pytest.fixture
def run(agents: FakeAgents, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setattr(console_recovery, "HttpAgents", lambda _tls: agents)

    async def execute(*arguments: str | Path, status: int = 0) -> str:
        words = ["recover-console", "--node", "10.0.0.1", *map(str, arguments)]
        found = await asyncio.to_thread(main.main, words)
        output = capsys.readouterr()
        assert found == status, output.err
        return output.out if status == 0 else output.err

    return execute


@asynccontextmanager
async def opened(directory: Path, url: str = "") -> AsyncIterator[Store]:
    """Open the store in a state directory, or with a URL."""
    store = Store(url or f"sqlite+aiosqlite:///{directory / 'console.db'}", Bus(), StoreKeys([STORE_KEY]))
    await store.check_release(is_migrated=True)
    try:
        yield store
    finally:
        await store.close()


async def objects(store: Store) -> list[dict[str, Any]]:
    """Return all objects without observed values, and without users."""
    async with store.read() as session:
        found = await recovery_copies.load_objects(session)
    return [
        {name: value for name, value in each.content.items() if name not in ("users", "other_users")} for each in found
    ]


async def test_store_is_rebuilt(console: Console, copied: Path, other: Path, run: Run) -> None:
    message = await run("--copy", copied)
    assert "Database 1 shop: 2 shards, port 12000" in message
    assert f"Lost users: {USER}" in message
    assert f"need a new password for the console: {DATA_USER}" in message
    assert "Also lost:" in message
    async with opened(other) as store:
        rebuilt, lost = await objects(store), await objects(console.store)
        assert rebuilt[0]["cluster"].pop("bootstrap_state") == "completed"
        lost[0]["cluster"].pop("bootstrap_state")
        assert rebuilt == lost
        async with store.begin() as session:
            assert await encrypt_outdated(session, StoreKeys([STORE_KEY])) == 0, "all secrets are encrypted"
            event = (await session.get_one(events.Event, await events.newest_uid(session))).description
    assert "The store was rebuilt from the copies of agents: 3 nodes, 1 database." in event
    assert names(other) == {"console.db", "instance"}
    assert (other / "console.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.store
async def test_store_can_be_in_postgresql(
    console: Console, copied: Path, other: Path, run: Run, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{SERVER.rpartition('/')[0]}/{database}"
    monkeypatch.setenv("SHARDBOARD_DATABASE_URL", url)
    await run("--copy", copied)
    async with opened(other, url) as store:
        assert (await objects(store))[1:] == (await objects(console.store))[1:]
    assert "contains tables" in await run("--copy", copied, status=1)


async def test_administrator_can_sign_in_and_engines_keep_their_users(copied: Path, other: Path, run: Run) -> None:
    password = (await run("--copy", copied)).partition(", password ")[2].split()[0]
    async with opened(other) as store, store.read() as session:
        admin, user = (await session.execute(select(User).order_by(User.email.desc()))).scalars()
        assert (admin.email, admin.role) == ("second@example.org", "admin")
        assert await passwords.find_matching_hash(password, admin.password_hashes)
        granted = await acl_users.granted_users(session)
        assert [(each.name, each.passwords_sha256) for each in granted[1]] == [("app", (HASH,)), (DATA_USER, (HASH,))]
        assert await passwords.find_matching_hash("", user.password_hashes) is None


async def test_check_changes_nothing(copied: Path, other: Path, run: Run) -> None:
    message = await run("--copy", copied, "--check")
    assert "Database 1 shop" in message
    assert "Nothing was changed." in message
    assert names(other) == {"instance"}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
async def test_files_belong_to_the_owner_of_the_state_directory(
    agents: FakeAgents, copied: Path, other: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An administrator runs the command as root, and the console runs as another user."""
    monkeypatch.delenv("SHARDBOARD_STORE_KEY")
    os.mkdir(other, 0o700)  # noqa: PTH102
    os.chown(other, 65534, 65534)
    await run("--copy", copied, "--copy", write_copy(agents, tmp_path, 2))
    assert owners(other) == dict.fromkeys(("console.db", "instance", "store.key"), (65534, 65534))


async def test_present_store_is_not_touched(copied: Path, other: Path, run: Run) -> None:
    await run("--copy", copied)
    before = (other / "console.db").read_bytes()
    assert "contains a store" in await run("--copy", copied, status=1)
    assert (other / "console.db").read_bytes() == before


async def test_console_must_be_stopped(copied: Path, other: Path, run: Run) -> None:
    lock_state_dir(other)
    assert "Another console is running" in await run("--copy", copied, status=1)


async def test_killed_recovery_is_repeated(
    copied: Path, other: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fail at each step. No store is in place before it is complete."""
    for step in ("_collect", "_build", "put_store"):
        with monkeypatch.context() as context:

            def fail(*_: object, **__: object) -> None:
                raise OSError(28, "No space left on device")

            context.setattr(console_recovery, step, fail)
            assert "No space left" in await run("--copy", copied, status=1)
        assert names(other) == {"instance"}
    leftover = other / f"{console_recovery.WORK}killed"
    leftover.mkdir()
    (leftover / "console.db").touch()
    await run("--copy", copied)
    assert not leftover.exists()


async def test_missing_copies_need_a_decision(
    console: Console, agents: FakeAgents, copied: Path, other: Path, run: Run
) -> None:
    for node in (1, 2):
        del agents.recovery_copies[node]["bdb-1"]
    agents.unreachable = {3}
    error = await run("--copy", copied, status=1)
    assert "No usable copy of database 1 (shop) was found." in error
    assert "The copies of 10.0.0.3 could not be read" in error
    assert "Shards without a copy of their database, which are not changed: 1, 2" in error
    assert not (other / "console.db").exists()
    await run("--copy", copied, "--partial")
    async with opened(other) as store, store.read() as session:
        assert (await session.execute(select(Bdb))).first() is None


async def test_database_without_a_finished_operation_is_active(
    console: Console, agents: FakeAgents, copied: Path, other: Path, run: Run, tmp_path: Path
) -> None:
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, 1)
        bdb.status, bdb.action_uid, bdb.memory_size = "active-change-pending", "x", 2 * 10**9
    await RecoveryCopiesLoop(console.store, console.bus, agents, console.ca).update()
    agents.recovery_copies.clear()
    await RecoveryCopiesLoop(console.store, console.bus, agents, console.ca).update()
    message = await run("--copy", write_copy(agents, tmp_path))
    assert "Databases with an operation that was lost; repeat it: shop" in message
    async with opened(other) as store, store.read() as session:
        bdb = await session.get_one(Bdb, 1)
        assert (bdb.status, bdb.action_uid, bdb.memory_size) == ("active", None, 2 * 10**9)
        assert len((await session.execute(select(Shard))).scalars().all()) == 2


async def test_backups_into_a_lost_location_are_switched_off(
    console: Console, agents: FakeAgents, copied: Path, other: Path, run: Run, tmp_path: Path
) -> None:
    """The next location that is created gets uid 1 again."""
    await stored_backups.configure(console, 1, backup=True, backup_location_uid=1)
    agents.recovery_copies.clear()
    await RecoveryCopiesLoop(console.store, console.bus, console.agents, console.ca).update()
    await run("--copy", write_copy(agents, tmp_path))
    async with opened(other) as store, store.read() as session:
        config = (await session.get_one(Bdb, 1)).config
        assert (config["backup"], config["backup_location_uid"]) == (False, 0)


async def test_backups_into_a_location_of_the_database_continue(
    console: Console, agents: FakeAgents, copied: Path, other: Path, run: Run, tmp_path: Path
) -> None:
    await stored_backups.configure(console, 1, backup=True, backup_location=stored_backups.LOCATION)
    agents.recovery_copies.clear()
    await RecoveryCopiesLoop(console.store, console.bus, console.agents, console.ca).update()
    await run("--copy", write_copy(agents, tmp_path))
    async with opened(other) as store, store.read() as session:
        config = (await session.get_one(Bdb, 1)).config
        assert (config["backup"], config["backup_location"]) == (True, stored_backups.LOCATION)


async def test_ca_can_be_in_files(
    console: Console, copied: Path, other: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store key is lost: the new store gets another one."""
    monkeypatch.delenv("SHARDBOARD_STORE_KEY")
    ca, key = tmp_path / "ca.pem", tmp_path / "ca.key"
    stored = console.ca.current.stored().decode()
    ca.write_text(console.ca.ca_pem)
    write_private(key, stored[stored.index("-----BEGIN PRIVATE") :].encode())
    assert "--ca needs --ca-key" in await run("--ca", ca, status=1)
    assert "do not contain the console CA" in await run("--ca", ca, "--ca-key", copied, status=1)
    await run("--ca", ca, "--ca-key", key)
    assert (other / "store.key").read_text().strip() != STORE_KEY
    assert (other / "console.db").exists()


async def test_ca_can_be_in_a_backup(
    console: Console, copied: Path, other: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = tmp_path / "console.age"
    first = tmp_path / "first"
    first.mkdir()
    shutil.copyfile(console.store.url.partition(":///")[2], first / "console.db")
    monkeypatch.setenv("SHARDBOARD_STATE_DIR", str(first))
    assert await asyncio.to_thread(main.main, ["backup-console", str(backup)]) == 0
    monkeypatch.setenv("SHARDBOARD_STATE_DIR", str(other))
    await run("--backup", backup)
    assert (other / "console.db").exists()


async def test_copies_of_most_nodes_replace_the_store_key(
    console: Console,
    agents: FakeAgents,
    copied: Path,
    other: Path,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The new store gets another key. With the wrong key, the copies of most nodes are sufficient, too."""
    second = write_copy(agents, tmp_path, 2)
    monkeypatch.setenv("SHARDBOARD_STORE_KEY", new_key())
    await run("--copy", copied, "--copy", second, "--check")
    monkeypatch.delenv("SHARDBOARD_STORE_KEY")
    error = await run("--copy", copied, "--copy", copied, status=1)
    assert "more than half of the nodes. The given copies are not sufficient: copies of 2 nodes are needed" in error
    assert not (other / "store.key").exists()
    await run("--copy", second, "--copy", copied)
    keys = StoreKeys([(other / "store.key").read_text().strip()])
    assert keys.first != StoreKeys([STORE_KEY]).first
    rebuilt = Store(f"sqlite+aiosqlite:///{other / 'console.db'}", Bus(), keys)
    async with rebuilt.read() as session:
        state = await console_certificates.find(session)
        assert state is not None
        assert state.current.fingerprint == console.ca.ca_fingerprint()
        assert (await session.get_one(Bdb, 1)).name == "shop"
    await rebuilt.close()


@pytest.mark.parametrize("damage", ["cut", "database", "foreign", "missing"])
async def test_unusable_files_are_reported(
    agents: FakeAgents, copied: Path, other: Path, run: Run, damage: str
) -> None:
    damage_file(copied, damage, agents)
    expected = {"database": "Use the file `cluster`", "missing": "is not readable"}
    assert expected.get(damage, "is not a copy of an agent") in await run("--copy", copied, status=1)


async def test_wrong_store_key_is_reported(
    copied: Path, other: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHARDBOARD_STORE_KEY", new_key())
    assert "is encrypted with the store key" in await run("--copy", copied, status=1)
    monkeypatch.delenv("SHARDBOARD_STORE_KEY")
    assert "no other store key is configured" in await run("--copy", copied, status=1)


async def test_copies_of_another_schema_are_refused(
    copied: Path, other: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shardboard.services.cluster.console_recovery.newest_revision", lambda: "9999")
    assert "Use that release for the recovery" in await run("--copy", copied, status=1)


async def test_administrator_must_not_change_the_role_of_a_data_user(
    copied: Path, other: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHARDBOARD_ADMIN_USER", DATA_USER)
    assert "Set SHARDBOARD_ADMIN_USER to another name" in await run("--copy", copied, status=1)


@pytest.mark.parametrize("address", ["", "10.0.0.1:", "10.0.0.1:x", "10.0.0.1:0", "[::1]:70000"])
async def test_invalid_addresses_are_rejected(copied: Path, other: Path, run: Run, address: str) -> None:
    assert "is not an address of a node" in await run("--copy", copied, "--node", address, status=1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.1", ("10.0.0.1", 9700)),
        ("node-1:9701", ("node-1", 9701)),
        ("[fd00::1]:9701", ("fd00::1", 9701)),
        ("fd00::1", ("fd00::1", 9700)),
        ("[fd00::1]", ("fd00::1", 9700)),
    ],
)
async def test_addresses_are_parsed(text: str, expected: tuple[str, int]) -> None:
    node = console_recovery._node(1, text)
    assert (node.addr, node.port) == expected
