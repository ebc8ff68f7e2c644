"""Tests of the command line: arguments reach the right function, and errors are reported as messages."""

import asyncio
import json
import logging
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import AsyncMock

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from shardboard.agent.cluster.join import EnrolError
from shardboard.agent.settings import AgentSettings
from shardboard.cli import main, process_commands
from shardboard.kit.bus import Bus
from shardboard.pki.console_ca import ConsoleCa
from shardboard.services.access import passwords
from shardboard.services.access.authorization import first_start
from shardboard.services.cluster import encryption
from shardboard.services.cluster.join import JoinRequest, accept
from shardboard.settings import Settings
from shardboard.state.access import audit, users
from shardboard.state.access.audit import AuditLine
from shardboard.state.access.login_failures import LoginFailures
from shardboard.state.access.users import User
from shardboard.state.cluster import console_certificates
from shardboard.store.db import Store
from shardboard.store.store_key import StoreKeys, create_key_file, key_name, new_key, store_keys


@pytest.fixture(autouse=True)
def state_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ignore the settings of the environment that the tests run in."""
    for name in list(os.environ):
        if name.startswith("SHARDBOARD_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SHARDBOARD_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("SHARDBOARD_CONTEXTS_FILE", "/nonexistent")
    return tmp_path


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[AgentSettings]:
    """Settings with which agents would have been started."""
    calls: list[AgentSettings] = []

    def run_agent(settings: AgentSettings) -> int:
        calls.append(settings)
        return 0

    monkeypatch.setattr("shardboard.agent.app.run_agent", run_agent)
    return calls


@pytest.fixture
def console_state(state_dir: Path, template: str, console_ca: ConsoleCa) -> Settings:
    """Settings of a console that has been started once."""
    settings = Settings()
    shutil.copyfile(template.partition(":///")[2], state_dir / "console.db")

    async def start() -> None:
        create_key_file(settings)
        store = Store(settings.store_url, Bus(), store_keys(settings))
        async with store.begin() as session:
            await first_start(session, settings)
            await console_certificates.save(session, console_ca.state)
        await store.close()

    asyncio.run(start())
    return settings


def test_agent_receives_the_arguments(started: list[AgentSettings], tmp_path: Path) -> None:
    arguments = "agent --join https://c:9443 --token T --address 127.0.0.2 --port 9701 --memory 1GiB --rack-id a --park"
    arguments += " --flash /mnt/f --flash-size 2GiB --state-dir"
    assert main.main([*arguments.split(), str(tmp_path)]) == 0
    assert started == [
        AgentSettings(
            address="127.0.0.2",
            join="https://c:9443",
            token="T",
            port=9701,
            state_dir=tmp_path,
            memory=2**30,
            flash=Path("/mnt/f"),
            flash_size=2 * 2**30,
            rack_id="a",
            park=True,
        )
    ]


def test_agent_takes_its_token_from_a_file_or_the_environment(
    started: list[AgentSettings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHARDBOARD_JOIN_TOKEN", "from-environment")
    main.main(["agent", "--address", "127.0.0.1"])
    assert "SHARDBOARD_JOIN_TOKEN" not in os.environ, "the shards must not inherit it"
    (tmp_path / "token").write_text("from-file\n")
    main.main(["agent", "--address", "127.0.0.1", "--token-file", str(tmp_path / "token")])
    main.main(["agent", "--address", "127.0.0.1"])
    assert [settings.token for settings in started] == ["from-environment", "from-file", None]


def test_missing_token_file_is_an_error(started: list[AgentSettings], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["agent", "--address", "127.0.0.1", "--token-file", "/nonexistent"]) == 1
    assert "is not readable" in capsys.readouterr().err
    assert started == []


def test_agent_that_cannot_join_prints_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_: AgentSettings) -> int:
        raise EnrolError("The join token has expired.")

    monkeypatch.setattr("shardboard.agent.app.run_agent", refuse)
    assert main.main(["agent", "--address", "127.0.0.1"]) == 1
    assert capsys.readouterr().err == "shardboard: The join token has expired.\n"


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "agent",
        "agent --address a --port 80",
        "agent --address a --port x",
        "agent --address a --memory lots",
        "agent --address a --token t --token-file f",
        "token --count 0",
        "token --ttl 59",
        "status --password secret",
        "nonsense",
    ],
)
def test_invalid_arguments_are_reported_with_the_usage(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(typed.split()) == 2
    assert "Usage:" in capsys.readouterr().err


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for commands in main.SECTIONS.values():
        for name in commands:
            assert any(line.startswith(f"  {name}  ") for line in lines), name


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_is_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["completion", shell]) == 0
    assert "_SHARDBOARD_COMPLETE" in capsys.readouterr().out


def test_printed_token_can_be_used_to_join(
    console_state: Settings, console_ca: ConsoleCa, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    assert main.main(["token"]) == 0
    token = capsys.readouterr().out.strip()
    assert token.split(".")[1] not in caplog.text

    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, hashes.SHA256())
    csr = request.public_bytes(serialization.Encoding.PEM).decode()

    async def join() -> int:
        store = Store(console_state.store_url, Bus(), store_keys(console_state))
        async with store.begin() as session:
            admission = await accept(session, console_ca, JoinRequest(token, csr, "127.0.1.1", 9700, {}))
        await store.close()
        return admission.node_uid

    assert asyncio.run(join()) == 1


def test_tokens_are_written_to_files(
    console_state: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "tokens"
    assert main.main(["token", "--count", "3", "--out-dir", str(directory)]) == 0
    assert capsys.readouterr().out == ""
    files = sorted(directory.iterdir())
    assert [file.name for file in files] == ["token-1", "token-2", "token-3"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert len({file.read_text() for file in files}) == 3


def test_token_command_needs_a_console(state_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["token"]) == 1
    assert "Start it first" in capsys.readouterr().err
    assert list(state_dir.iterdir()) == []


def test_status_needs_a_password_from_the_environment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["status"]) == 1
    assert "SHARDBOARD_ADMIN_PASSWORD" in capsys.readouterr().err


@pytest.mark.parametrize("url", ["https://127.0.0.1:1", "nonsense", "https://no-such-host.invalid"])
def test_status_reports_an_unreachable_console(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: str
) -> None:
    monkeypatch.setenv("SHARDBOARD_ADMIN_PASSWORD", "a secret password")
    assert main.main(["status", "--url", url]) == 6
    error = capsys.readouterr().err
    assert "is unreachable" in error
    assert "secret" not in error


def test_console_reports_a_short_password(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SHARDBOARD_ADMIN_PASSWORD", "short")
    assert main.main(["console"]) == 1
    assert "8 to 256 characters" in capsys.readouterr().err


def test_openapi_is_written_to_a_file_without_a_store_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SHARDBOARD_STORE_KEY_FILE", "/nonexistent")
    assert main.main(["openapi", str(tmp_path / "openapi.json")]) == 0
    text = (tmp_path / "openapi.json").read_text()
    assert {"/v1/session", "/v1/join_tokens", "/v1/users/authorize"} <= json.loads(text)["paths"].keys()


def test_openapi_is_printed_as_it_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        process_commands, "_openapi", AsyncMock(return_value={"paths": {"/v1/session": {}}, "info": {}})
    )
    assert main.main(["openapi", str(tmp_path / "openapi.json")]) == 0
    assert main.main(["openapi"]) == 0
    assert json.loads(printed := capsys.readouterr().out) == {"paths": {"/v1/session": {}}, "info": {}}
    assert (tmp_path / "openapi.json").read_text() == printed


def test_cli_does_not_import_heavy_modules() -> None:
    """Commands start quickly, because they import these modules only when needed."""
    code = (
        "import sys, shardboard.cli.main; sys.exit(bool({'fastapi', 'sqlalchemy', 'cryptography'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_lost_password_is_replaced(console_state: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["reset-admin-password"]) == 0
    password = capsys.readouterr().out.strip().removeprefix(f"User {console_state.admin_user}, password ")
    user = asyncio.run(_user(console_state, console_state.admin_user))
    assert asyncio.run(passwords.find_matching_hash(password, [user.password_hash]))


def test_reset_for_a_new_user_creates_an_administrator(console_state: Settings) -> None:
    assert main.main(["reset-admin-password", "--user", "ann@example.org"]) == 0
    assert asyncio.run(_user(console_state, "ann@example.org")).role == "admin"


def test_reset_for_an_invalid_name_is_refused(console_state: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["reset-admin-password", "--user", "a:b"]) == 1
    assert "must not contain a colon" in capsys.readouterr().err


def test_locked_user_is_unlocked(console_state: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    name = console_state.admin_user
    asyncio.run(_lock(console_state))
    assert [main.main(["unlock", name]) for _ in range(2)] == [0, 0]
    expected = f"User {name} was unlocked.\nUser {name} was not locked.\n"
    assert capsys.readouterr().out == expected
    assert main.main(["unlock", "ghost"]) == 1
    assert capsys.readouterr().err == "shardboard: The user ghost does not exist.\n"


@pytest.mark.parametrize("command", ["reset-admin-password", "unlock ann"])
def test_user_commands_need_a_console(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(command.split()) == 1
    assert "Start it first" in capsys.readouterr().err


async def _user(settings: Settings, email: str) -> User:
    store = Store(settings.store_url, Bus(), store_keys(settings))
    async with store.begin() as session:
        user = await users.by_email(session, email)
        assert user is not None
    await store.close()
    return user


async def _lock(settings: Settings) -> None:
    """Lock the administrator for one source address."""
    store = Store(settings.store_url, Bus(), store_keys(settings))
    now = datetime.now(UTC)
    locked_until = now + timedelta(hours=1)
    async with store.begin() as session:
        session.add(LoginFailures(user_uid=1, network="192.0.2.9", count=9, last_at=now, locked_until=locked_until))
    await store.close()


def test_store_key_is_rotated(console_state: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    before = console_state.key_file.read_text().split()
    assert main.main(["rotate-store-key"]) == 0
    output = capsys.readouterr().out
    keys = store_keys(console_state)
    file = console_state.key_file
    assert (
        output == f"6 secrets of the store are encrypted with the key {keys.first}. The previous key stays in {file}.\n"
    )
    assert file.read_text().split()[1:] == before
    assert main.main(["rotate-store-key"]) == 0
    first = StoreKeys(before).first
    assert f"The key {first} was removed. Backups of the store from before" in capsys.readouterr().out
    assert main.main(["unlock", console_state.admin_user]) == 0, "all secrets can be read without the old key"
    assert not set(before) & set(file.read_text().split())


def test_console_ca_is_replaced(
    console_state: Settings, console_ca: ConsoleCa, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["new-ca", "--yes"]) == 0
    fingerprint = capsys.readouterr().out.split("SHA-256 ")[1].split(".")[0]
    assert fingerprint != console_ca.ca_fingerprint()
    assert main.main(["token"]) == 0
    assert capsys.readouterr().out.strip().endswith(f".{fingerprint}"), "agents join with the new CA"


def test_command_needs_a_store_of_its_release(console_state: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    for revision, message in (("0040", "Start the console of this release first"), ("9999", "A newer release")):
        with sqlite3.connect(console_state.state_dir / "console.db") as connection:
            connection.execute("UPDATE alembic_version SET version_num = ?", (revision,))
        assert main.main(["token"]) == 1
        assert message in capsys.readouterr().err


def test_store_is_not_changed_without_its_key(console_state: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    console_state.key_file.write_text(f"{new_key()}\n")
    assert main.main(["unlock", console_state.admin_user]) == 1
    assert "is encrypted with the store key" in capsys.readouterr().err
    assert main.main(["console"]) == 1
    assert "The store is encrypted with the key" in capsys.readouterr().err


def test_externally_managed_key_is_not_rotated(
    console_state: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHARDBOARD_STORE_KEY", console_state.key_file.read_text())
    assert main.main(["rotate-store-key"]) == 1
    assert "Insert a new key first there" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["rotate-store-key", "unlock ann", "token", "reset-admin-password"])
def test_store_of_an_earlier_release_is_not_encrypted_by_commands(
    console_state: Settings, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A running console of that release could no longer read the store."""
    console_state.key_file.unlink()
    assert main.main(command.split()) == 1
    assert "No store key found in" in capsys.readouterr().err
    assert not console_state.key_file.exists()
    create_key_file(console_state)

    async def plain() -> None:
        store = Store(console_state.store_url, Bus())
        async with store.begin() as session:
            await session.execute(text("UPDATE cluster SET jwt_secret = 'plain'"))
        await store.close()

    asyncio.run(plain())
    assert main.main(command.split()) == 1
    assert "Start the console of this release first" in capsys.readouterr().err
    assert asyncio.run(_secret(console_state)) == "plain"


async def _secret(settings: Settings) -> str:
    """Return the JWT secret as it is stored."""
    store = Store(settings.store_url, Bus())
    async with store.read() as session:
        secret: str = (await session.execute(text("SELECT jwt_secret FROM cluster"))).scalar_one()
    await store.close()
    return secret


def test_console_does_not_create_a_key_for_an_encrypted_store(
    console_state: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    name = key_name(asyncio.run(_secret(console_state)))
    console_state.key_file.unlink()
    assert main.main(["console"]) == 1
    assert (
        f"the store is encrypted with the key {name}. Copy that key from the machine of another console"
        in capsys.readouterr().err
    )
    assert not console_state.key_file.exists()


def test_failed_rotation_keeps_all_keys(
    console_state: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = console_state.key_file.read_text().split()

    async def failing(*_: object) -> int:
        raise OperationalError("UPDATE", {}, Exception("deadlock detected"))

    monkeypatch.setattr(encryption, "encrypt_all", failing)
    assert main.main(["rotate-store-key"]) == 1
    assert "no key was removed. Try again: " in capsys.readouterr().err
    assert console_state.key_file.read_text().split()[1:] == before


async def _audit_lines(settings: Settings, attack: str = "") -> list[AuditLine]:
    store = Store(settings.store_url, Bus(), store_keys(settings))
    if attack:
        async with store.begin() as session:
            await session.execute(text(attack))
    async with store.read() as session:
        lines = list(await audit.list_after(session, 0, 100))
    await store.close()
    return lines


def test_commands_are_recorded_in_the_audit_log(console_state: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["token", "--count", "3"]) == 0
    assert main.main(["reset-admin-password"]) == 0
    assert main.main(["unlock", "ghost"]) == 1
    printed = capsys.readouterr().out
    lines = asyncio.run(_audit_lines(console_state))
    assert [(line.path, line.auth_method, line.outcome) for line in lines[1:]] == [
        ("token", "shell", "done"),
        ("reset-admin-password", "shell", "done"),
        ("unlock", "shell", "failed"),
    ]
    assert all(line.username and line.source for line in lines[1:])
    assert not any(word in line.detail for line in lines for word in printed.split() if len(word) > 15)


def test_check_audit_detects_a_changed_line(console_state: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["token"]) == 0
    capsys.readouterr()
    assert main.main(["check-audit"]) == 0
    assert capsys.readouterr().out == "The audit log is intact: records 1 to 2.\n"
    asyncio.run(_audit_lines(console_state, "UPDATE audit_lines SET detail = 'x' WHERE uid = 2"))
    assert main.main(["check-audit"]) == 1
    assert capsys.readouterr().err == "shardboard: the audit log is not intact:\nRecord 2 was changed.\n"
