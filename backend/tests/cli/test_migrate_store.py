"""Tests of `shardboard migrate-store`."""

import asyncio
from pathlib import Path

import pytest
from backend.tests.cli.conftest import SERVER
from sqlalchemy.engine import make_url

from shardboard.app import lock_state_dir
from shardboard.cli import main
from shardboard.kit.bus import Bus
from shardboard.store.db import Store

TARGET = "postgresql://ann@127.0.0.1:1/console"


@pytest.fixture(autouse=True)
def state_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("SHARDBOARD_DATABASE_URL", raising=False)
    monkeypatch.setenv("SHARDBOARD_STATE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def sqlite(state_dir: Path) -> Store:
    async def migrate() -> Store:
        store = Store(f"sqlite+aiosqlite:///{state_dir / 'console.db'}", Bus())
        await store.migrate()
        await store.close()
        return store

    return asyncio.run(migrate())


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main.main(["migrate-store", *arguments]) == 1
    return capsys.readouterr().err


def test_sqlite_store_is_required(capsys: pytest.CaptureFixture[str], state_dir: Path) -> None:
    assert "there is no SQLite store in" in failure(capsys, "--to", TARGET)
    assert list(state_dir.iterdir()) == []


def test_store_of_the_environment_is_not_copied(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHARDBOARD_DATABASE_URL", TARGET)
    assert "SHARDBOARD_DATABASE_URL is set" in failure(capsys, "--to", TARGET)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("postgresql://ann:secret@db/console", "use --password-file"),
        ("postgresql://db/console?password=secret", "use --password-file"),
        ("postgresql://db/console?sslpassword=secret", "use --password-file"),
        ("sqlite:///other.db", "--to must be a URL like postgresql://"),
        ("postgresql://db/console?sslmod=require", "--to: the parameter sslmod is not supported"),
        ("nonsense", "--to is invalid"),
    ],
)
def test_invalid_targets_are_reported(
    capsys: pytest.CaptureFixture[str], state_dir: Path, target: str, message: str
) -> None:
    (state_dir / "console.db").touch()
    error = failure(capsys, "--to", target)
    assert message in error
    assert "secret" not in error


def test_password_file_must_be_readable(capsys: pytest.CaptureFixture[str], state_dir: Path) -> None:
    (state_dir / "console.db").touch()
    assert "is not readable" in failure(capsys, "--to", TARGET, "--password-file", "/nonexistent")


def test_console_must_be_stopped(capsys: pytest.CaptureFixture[str], state_dir: Path) -> None:
    (state_dir / "console.db").touch()
    lock_state_dir(state_dir)
    assert "Another console is running" in failure(capsys, "--to", TARGET)


def test_unreachable_target_is_reported(capsys: pytest.CaptureFixture[str], sqlite: Store) -> None:
    error = failure(capsys, "--to", TARGET)
    assert "the copy was interrupted" in error
    assert "Run the command again to continue" in error


@pytest.mark.store
def test_store_is_copied_with_a_password_from_a_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, sqlite: Store, database: str
) -> None:
    server = make_url(SERVER)
    file = tmp_path / "password"
    file.write_text(f"{server.password}\n")
    target = f"postgresql://{server.username}@{server.host}:{server.port}/{database}"
    assert main.main(["migrate-store", "--to", target, "--password-file", str(file)]) == 0
    output = capsys.readouterr()
    assert f"were copied to {target} and verified" in output.out
    assert "Verified nodes: 0 rows" in output.err
    assert str(server.password) not in output.out + output.err
