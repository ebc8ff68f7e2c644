"""Tests of `shardboard backup-console` and `shardboard restore-console` on SQLite."""

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from backend.tests.cli.conftest import SERVER
from backend.tests.conftest import USER
from sqlalchemy import select

from shardboard.app import lock_state_dir
from shardboard.cli import main
from shardboard.kit import age, age_keys
from shardboard.kit.bus import Bus
from shardboard.services.access.authorization import first_start
from shardboard.services.cluster import encryption
from shardboard.settings import Settings
from shardboard.state.access.users import User
from shardboard.state.alerting.events import Event
from shardboard.store.db import Store
from shardboard.store.store_key import StoreKeys, new_key

PASSPHRASE = "a long passphrase"
IDENTITY = age_keys.generate_identity()


class Machine:
    """The state directory of a console, and the commands on its machine."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory = directory
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def run(self, *arguments: str | Path, status: int = 0) -> str:
        self._monkeypatch.setenv("SHARDBOARD_STATE_DIR", str(self.directory))
        assert main.main([str(each) for each in arguments]) == status
        output = self._capsys.readouterr()
        return output.out if status == 0 else output.err

    def fail(self, *arguments: str | Path) -> str:
        return self.run(*arguments, status=1)

    @property
    def store(self) -> Path:
        return self.directory / "console.db"

    @property
    def key_file(self) -> Path:
        return self.directory / "store.key"

    def users(self) -> list[str]:
        """Return the users of the store, as a console with the key file of this machine reads them."""
        store = Store(f"sqlite+aiosqlite:///{self.store}", Bus(), StoreKeys(self.key_file.read_text().split()))

        async def read() -> list[str]:
            async with store.read() as session:
                return [each.email for each in (await session.scalars(select(User))).all()]

        try:
            return asyncio.run(read())
        finally:
            asyncio.run(store.close())


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """State directory of a console that was started once."""
    directory = tmp_path_factory.mktemp("console")

    async def start() -> None:
        settings = Settings(state_dir=directory, database_url=None, admin_user=USER, admin_password="a long password")
        store = Store(settings.store_url, Bus())
        await store.migrate()
        async with store.begin() as session:
            keys = await encryption.load_or_create_keys(session, settings)
            store.set_keys(keys)
            await first_start(session, settings)
        await store.close()

    asyncio.run(start())
    return directory


@pytest.fixture(autouse=True)
def little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Derive keys from passphrases with little work."""
    monkeypatch.setattr(age, "SCRYPT_LOG_N", 4)


@pytest.fixture
def machine(
    started: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Machine:
    for variable in ("DATABASE_URL", "STORE_KEY", "STORE_KEY_FILE", "STORE_KEY_COMMAND"):
        monkeypatch.delenv(f"SHARDBOARD_{variable}", raising=False)
    shutil.copytree(started, tmp_path / "first")
    return Machine(tmp_path / "first", monkeypatch, capsys)


@pytest.fixture
def other(machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Machine:
    """A machine without a console."""
    return Machine(machine.directory.parent / "other", monkeypatch, capsys)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "console.backup"


@pytest.fixture
def passphrase(tmp_path: Path) -> Path:
    path = tmp_path / "passphrase"
    path.write_text(f"{PASSPHRASE}\n")
    return path


def test_passphrase_is_all_that_another_machine_needs(
    machine: Machine, other: Machine, file: Path, passphrase: Path
) -> None:
    message = machine.run("backup-console", file, "--passphrase-file", passphrase)
    assert "store and store key" in message
    assert file.stat().st_mode & 0o777 == 0o600
    content = file.read_bytes()
    assert content.startswith(b"age-encryption.org/v1\n-> scrypt ")
    assert USER.encode() not in content

    message = other.run("restore-console", file, "--passphrase-file", passphrase)
    assert "Start the console" in message
    assert other.users() == [USER]
    assert other.key_file.read_text() == machine.key_file.read_text()
    assert {path.name for path in other.directory.iterdir()} == {"console.db", "store.key", "instance"}
    assert other.store.stat().st_mode & 0o777 == 0o600


def test_backup_and_restore_are_recorded(machine: Machine, other: Machine, file: Path, passphrase: Path) -> None:
    machine.run("backup-console", file, "--passphrase-file", passphrase)
    other.run("restore-console", file, "--passphrase-file", passphrase)
    for each, expected in ((machine, "console_backed_up"), (other, "console_restored")):
        with closing(sqlite3.connect(each.store)) as connection:
            types = [row[0] for row in connection.execute(f"SELECT type FROM {Event.__tablename__} ORDER BY uid")]  # noqa: S608
        assert types[-1] == expected
        assert "is intact" in each.run("check-audit")


def test_store_key_is_required_without_a_passphrase(machine: Machine, other: Machine, file: Path) -> None:
    message = machine.run("backup-console", file)
    assert "A restore requires the store key" in message
    assert machine.key_file.read_bytes().strip() not in file.read_bytes()

    assert "configure the store key in the same way as for the console" in other.fail("restore-console", file)
    other.key_file.write_text(new_key())
    assert "cannot be decrypted with this private key" in other.fail("restore-console", file)
    assert not other.store.exists()

    shutil.copyfile(machine.key_file, other.key_file)
    other.run("restore-console", file)
    assert other.users() == [USER]


def test_a_backup_is_restored_from_a_location(
    machine: Machine, other: Machine, tmp_path: Path, passphrase: Path
) -> None:
    (tmp_path / "mounted").mkdir()
    machine.run("backup-console", tmp_path / "mounted" / "console.age", "--passphrase-file", passphrase)
    location = tmp_path / "location.json"
    location.write_text(json.dumps({"type": "mount_point", "path": str(tmp_path / "mounted")}))
    options = ["--location-file", location, "--passphrase-file", passphrase]
    assert "console.age is complete" in other.run("restore-console", "console.age", *options, "--check")
    other.run("restore-console", "console.age", *options)
    assert other.users() == [USER]
    assert {path.name for path in other.directory.iterdir()} == {"console.db", "store.key", "instance"}


def test_public_key_encrypts(machine: Machine, other: Machine, file: Path, tmp_path: Path) -> None:
    machine.run("backup-console", file, "--recipient", age_keys.recipient_of(IDENTITY))
    identity = tmp_path / "identity"
    identity.write_text(f"# comment\n{IDENTITY}\n")
    other.run("restore-console", file, "--identity-file", identity)
    assert other.users() == [USER]


def test_key_of_the_backup_is_added_to_another_key(
    machine: Machine, other: Machine, file: Path, passphrase: Path
) -> None:
    machine.run("backup-console", file, "--passphrase-file", passphrase)
    other.directory.mkdir()
    own = new_key()
    other.key_file.write_text(own)
    other.run("restore-console", file, "--passphrase-file", passphrase)
    assert other.key_file.read_text().split() == [own, *machine.key_file.read_text().split()]
    assert other.users() == [USER]


def test_configured_key_must_be_that_of_the_backup(
    machine: Machine, other: Machine, file: Path, passphrase: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.run("backup-console", file, "--passphrase-file", passphrase)
    monkeypatch.setenv("SHARDBOARD_STORE_KEY", new_key())
    assert "Add that key to the configured ones" in other.fail("restore-console", file, "--passphrase-file", passphrase)
    assert not other.store.exists()


def test_present_store_is_kept(machine: Machine, file: Path, passphrase: Path) -> None:
    machine.run("backup-console", file)
    with closing(sqlite3.connect(machine.store)) as connection:
        connection.execute("CREATE TABLE later (x)")
        connection.commit()
    assert "Use --replace" in machine.fail("restore-console", file)

    assert "The former store is" in machine.run("restore-console", file, "--replace")
    [kept] = machine.directory.glob("console.db.replaced-*")
    for path, tables in ((kept, 1), (machine.store, 0)):
        with closing(sqlite3.connect(path)) as connection:
            query = "SELECT count(*) FROM sqlite_master WHERE name = 'later'"
            assert connection.execute(query).fetchone() == (tables,)


def test_console_must_be_stopped(machine: Machine, file: Path) -> None:
    machine.run("backup-console", file)
    lock_state_dir(machine.directory)
    assert "Another console is running" in machine.fail("restore-console", file, "--replace")
    assert "is complete" in machine.run("restore-console", file, "--check")


def test_existing_files_are_not_overwritten(machine: Machine, file: Path) -> None:
    file.write_text("kept")
    assert "Choose another name" in machine.fail("backup-console", file)
    assert file.read_text() == "kept"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--recipient", "age1"], "is not an age public key"),
        (["--recipient", IDENTITY], "is a private key"),
        (["--passphrase-file", "/nonexistent"], "is not readable"),
        (["--passphrase-file", "/dev/null"], "at least 12 characters"),
    ],
)
def test_invalid_keys_are_rejected(machine: Machine, file: Path, arguments: list[str], message: str) -> None:
    error = machine.fail("backup-console", file, *arguments)
    assert message in error
    assert IDENTITY not in error
    assert not file.exists()


def test_wrong_passphrase_is_reported(machine: Machine, other: Machine, file: Path, passphrase: Path) -> None:
    machine.run("backup-console", file, "--passphrase-file", passphrase)
    assert "is encrypted with a passphrase, which is required" in other.fail("restore-console", file)
    passphrase.write_text("another passphrase")
    error = other.fail("restore-console", file, "--passphrase-file", passphrase)
    assert "cannot be decrypted with this passphrase" in error
    assert {path.name for path in other.directory.iterdir()} == {"instance"}


@pytest.mark.parametrize("damage", ["cut", "changed", "foreign", "empty"])
def test_damaged_files_change_nothing(machine: Machine, file: Path, damage: str) -> None:
    machine.run("backup-console", file)
    content = bytearray(file.read_bytes())
    if damage == "changed":
        content[len(content) // 2] ^= 1
    replacements = {"cut": bytes(content[: len(content) // 2]), "foreign": b"SQLite format 3", "empty": b""}
    file.write_bytes(replacements.get(damage, bytes(content)))
    before = machine.store.read_bytes()
    error = machine.fail("restore-console", file, "--replace")
    assert str(file) in error
    assert machine.store.read_bytes() == before
    assert not list(machine.directory.glob("*replaced*"))


def test_store_of_a_newer_release_is_rejected(machine: Machine, other: Machine, file: Path) -> None:
    machine.run("backup-console", file)
    with closing(sqlite3.connect(machine.store)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = 'future'")
        connection.commit()
    newer = file.with_name("newer")
    assert "A newer release uses this store" in machine.fail("backup-console", newer)
    assert not newer.exists()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["backup-console", "restore-console"])
def test_killed_commands_leave_nothing_half_made(machine: Machine, other: Machine, file: Path, command: str) -> None:
    """Kill the command at many moments. Afterwards, it works."""
    machine.run("backup-console", file)
    other.directory.mkdir()
    shutil.copyfile(machine.key_file, other.key_file)
    new_file = file.with_name("second")
    directory = (machine if command == "backup-console" else other).directory
    environment = {**os.environ, "SHARDBOARD_STATE_DIR": str(directory)}
    target = new_file if command == "backup-console" else file
    killed = 0
    for fifth in range(2, 20):
        process = subprocess.Popen([sys.executable, "-m", "shardboard", command, str(target)], env=environment)
        try:
            process.wait(fifth / 5)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            killed += process.wait() == -signal.SIGKILL
        if process.returncode == 0:
            break
    assert killed > 3
    if not new_file.exists() and command == "backup-console":
        machine.run(command, new_file)
    if command == "backup-console":
        assert "is complete" in machine.run("restore-console", new_file, "--check")
    else:
        if not other.store.exists():
            other.run(command, file)
        assert other.users() == [USER]
    machine.run("restore-console", file, "--check")
    leftovers = [path for path in directory.iterdir() if path.name.startswith(".console-backup-")]
    if directory == machine.directory:
        assert leftovers == []


@pytest.mark.store
def test_backup_of_sqlite_is_restored_to_postgresql_and_back(
    machine: Machine, other: Machine, file: Path, passphrase: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.run("backup-console", file, "--passphrase-file", passphrase)
    monkeypatch.setenv("SHARDBOARD_DATABASE_URL", f"{SERVER.rpartition('/')[0]}/{database}")
    other.run("restore-console", file, "--passphrase-file", passphrase)
    assert "contains tables" in other.fail("restore-console", file, "--passphrase-file", passphrase)

    second = file.with_name("second")
    other.run("backup-console", second)
    monkeypatch.delenv("SHARDBOARD_DATABASE_URL")
    other.run("restore-console", second)
    assert other.users() == [USER]
