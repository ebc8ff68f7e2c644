"""Tests of the keys that encrypt secrets: their sources, what they refuse, and rotation."""

import base64
import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.settings import Settings
from shardboard.store import store_key
from shardboard.store.store_key import (
    PREFIX,
    StoreKeyError,
    StoreKeys,
    create_key_file,
    is_key_file_missing,
    new_key,
    rotating,
    store_keys,
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(state_dir=tmp_path)


@given(st.text())
def test_encrypted_text_can_be_decrypted_and_reveals_nothing(text: str) -> None:
    keys = StoreKeys([new_key()])
    stored = keys.encrypt(text, "bdbs.config")
    assert keys.decrypt(stored, "bdbs.config") == text
    assert keys.is_newest(stored)
    assert keys.encrypt(text, "bdbs.config") != stored
    assert len(text) < 4 or text not in stored


def test_encrypted_text_is_bound_to_its_column() -> None:
    keys = StoreKeys([new_key()])
    with pytest.raises(StoreKeyError, match=r"webhooks\.url cannot be decrypted"):
        keys.decrypt(keys.encrypt("secret", "bdbs.admin_password"), "webhooks.url")


@given(st.integers(min_value=0), st.integers(min_value=1, max_value=255))
def test_changed_ciphertext_is_refused(position: int, change: int) -> None:
    keys = StoreKeys([new_key()])
    prefix, _, text = keys.encrypt("a password", "bdbs.config").rpartition(":")
    raw = bytearray(base64.b64decode(text))
    raw[position % len(raw)] ^= change
    with pytest.raises(StoreKeyError, match="cannot be decrypted"):
        keys.decrypt(f"{prefix}:{base64.b64encode(raw).decode()}", "bdbs.config")


@pytest.mark.parametrize("text", ["", "?", "AAAA", "å"])
def test_malformed_ciphertext_is_refused(text: str) -> None:
    keys = StoreKeys([new_key()])
    with pytest.raises(StoreKeyError, match="cannot be decrypted"):
        keys.decrypt(f"{PREFIX}{keys.first}:{text}", "bdbs.config")


def test_unencrypted_text_is_returned_unchanged() -> None:
    keys = StoreKeys([new_key()])
    assert keys.decrypt("plain", "bdbs.admin_password") == "plain"
    assert not keys.is_newest("plain")
    assert not keys.is_newest({"a": 1})


def test_earlier_key_decrypts_and_error_names_a_missing_one() -> None:
    old, new = new_key(), new_key()
    stored = StoreKeys([old]).encrypt("secret", "bdbs.config")
    both = StoreKeys([new, old])
    assert both.decrypt(stored, "bdbs.config") == "secret"
    assert not both.is_newest(stored)
    with pytest.raises(StoreKeyError, match=f"key {StoreKeys([old]).first}.*available keys are {both.first}"):
        StoreKeys([new]).decrypt(stored, "bdbs.config")


@pytest.mark.parametrize("line", ["", "short", "x" * 44, base64.b64encode(bytes(16)).decode()])
def test_invalid_keys_are_refused(line: str) -> None:
    with pytest.raises(StoreKeyError, match="openssl rand -base64 32"):
        StoreKeys(line.split())


def test_key_is_created_once_and_readable_only_by_its_owner(settings: Settings) -> None:
    assert is_key_file_missing(settings)
    with pytest.raises(StoreKeyError, match="No store key found in"):
        store_keys(settings)
    create_key_file(settings)
    first = store_keys(settings).first
    assert stat.S_IMODE(settings.key_file.stat().st_mode) == 0o600
    create_key_file(settings)
    assert store_keys(settings).first == first
    assert not is_key_file_missing(settings)
    assert [file.name for file in settings.state_dir.iterdir()] == ["store.key"]


def test_consoles_that_start_at_the_same_time_share_one_key(settings: Settings) -> None:
    def start(_: int) -> str:
        create_key_file(settings)
        return store_keys(settings).first

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(start, range(16)))) == 1


def test_partial_files_of_a_killed_process_are_removed(settings: Settings) -> None:
    (settings.state_dir / ".store.key.0123abcd").write_text(new_key())
    (settings.state_dir / ".other.key.0123abcd").touch()
    create_key_file(settings)
    assert sorted(file.name for file in settings.state_dir.iterdir()) == [".other.key.0123abcd", "store.key"]
    (settings.state_dir / ".store.key.0123abcd").write_text(new_key())
    with rotating(settings):
        pass
    assert sorted(file.name for file in settings.state_dir.iterdir()) == [".other.key.0123abcd", "store.key"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can change the owner of files")
def test_superuser_keeps_the_owner_and_mode_of_the_key_file(settings: Settings) -> None:
    os.chown(settings.state_dir, 10001, 10002)
    create_key_file(settings)
    for _ in range(2):
        status = settings.key_file.stat()
        assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (10001, 10002, 0o600)
        with rotating(settings):
            pass
    settings.key_file.chmod(0o640)
    with rotating(settings):
        pass
    assert stat.S_IMODE(settings.key_file.stat().st_mode) == 0o640


def test_target_of_a_symbolic_link_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    file, link = tmp_path / "keys" / "store.key", tmp_path / "link"
    file.write_text(new_key())
    link.symlink_to(file)
    with rotating(Settings(state_dir=tmp_path, store_key_file=link)):
        pass
    assert link.is_symlink()
    assert len(file.read_text().split()) == 2


def test_key_file_that_cannot_be_replaced_is_kept_with_an_instruction(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_key_file(settings)
    before = settings.key_file.read_text()

    def busy(*_: object) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(store_key, "write_private", busy)
    with (
        pytest.raises(StoreKeyError, match=r"busy\)\. Insert a new key as the first line"),
        rotating(settings),
    ):
        pytest.fail("nothing must be encrypted with a key that is not stored")
    assert settings.key_file.read_text() == before


def test_configured_key_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(StoreKeyError, match=r"No store key found in .*absent"):
        store_keys(Settings(state_dir=tmp_path, store_key_file=tmp_path / "absent"))
    (tmp_path / "empty").touch()
    with pytest.raises(StoreKeyError, match="No store key is configured"):
        store_keys(Settings(state_dir=tmp_path, store_key_file=tmp_path / "empty"))
    with pytest.raises(StoreKeyError, match=r"Reading the store key from .*Is a directory"):
        store_keys(Settings(state_dir=tmp_path, store_key_file=tmp_path))


@pytest.mark.parametrize("name", ["store_key", "store_key_file", "store_key_command"])
def test_empty_variable_is_ignored(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"SHARDBOARD_{name.upper()}", "")
    assert is_key_file_missing(Settings(state_dir=tmp_path))


def test_key_can_come_from_the_environment_or_a_command(tmp_path: Path) -> None:
    key = new_key()
    by_environment = store_keys(Settings(state_dir=tmp_path, store_key=key))
    by_command = store_keys(Settings(state_dir=tmp_path, store_key_command=f"echo {key}"))
    assert by_environment.first == by_command.first == StoreKeys([key]).first
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("false", "exited with status 1"),
        ("/no/such/vault read key", "could not be run"),
        ("echo 'unfinished", "could not be run"),
        ("sh -c 'echo sealed >&2; exit 3'", "status 3: sealed"),
        ("echo", "No store key is configured"),
        ("sleep 60", "took longer"),
    ],
)
def test_failed_command_is_reported_with_the_reason(
    tmp_path: Path, command: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_key, "COMMAND_SECONDS", 0.2 if command.startswith("sleep") else 30)
    with pytest.raises(StoreKeyError, match=message):
        store_keys(Settings(state_dir=tmp_path, store_key_command=command))


def test_two_key_sources_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreKeyError, match="SHARDBOARD_STORE_KEY and SHARDBOARD_STORE_KEY_COMMAND"):
        store_keys(Settings(state_dir=tmp_path, store_key=new_key(), store_key_command="vault"))


def test_running_console_uses_a_key_added_by_another_process(settings: Settings) -> None:
    create_key_file(settings)
    console_keys = store_keys(settings)
    before = console_keys.encrypt("early", "bdbs.config")
    with rotating(settings):
        stored = store_keys(settings).encrypt("late", "bdbs.config")
    assert console_keys.decrypt(stored, "bdbs.config") == "late"
    assert console_keys.decrypt(before, "bdbs.config") == "early"
    assert console_keys.is_newest(stored)
    assert not console_keys.is_newest(before)


def test_running_console_encrypts_with_the_new_key_immediately(settings: Settings) -> None:
    """Otherwise the second of two rotations would remove the key that the console still uses."""
    create_key_file(settings)
    console_keys = store_keys(settings)
    for _ in range(2):
        with rotating(settings):
            pass
        assert store_keys(settings).is_newest(console_keys.encrypt("secret", "bdbs.config"))


def test_missing_or_invalid_key_file_does_not_prevent_decryption(settings: Settings) -> None:
    create_key_file(settings)
    old_keys = store_keys(settings)
    stored = old_keys.encrypt("secret", "bdbs.config")
    lines = settings.key_file.read_text()
    settings.key_file.unlink()
    assert old_keys.decrypt(old_keys.encrypt("late", "bdbs.config"), "bdbs.config") == "late"
    settings.key_file.write_text("no key\n")
    assert old_keys.decrypt(stored, "bdbs.config") == "secret"
    with pytest.raises(StoreKeyError, match="32 bytes"):
        old_keys.encrypt("later", "bdbs.config")
    settings.key_file.write_text(lines)
    assert old_keys.decrypt(old_keys.encrypt("at last", "bdbs.config"), "bdbs.config") == "at last"


def test_rotation_keeps_the_previous_key_and_all_if_it_fails(settings: Settings) -> None:
    create_key_file(settings)
    first = settings.key_file.read_text().split()
    for _ in range(3):
        with rotating(settings):
            pass
    both_keys = settings.key_file.read_text().split()
    assert len(both_keys) == 2
    assert not set(first) & set(both_keys)
    with pytest.raises(ZeroDivisionError), rotating(settings):
        raise ZeroDivisionError
    assert settings.key_file.read_text().split()[1:] == both_keys
    assert stat.S_IMODE(settings.key_file.stat().st_mode) == 0o600


@pytest.mark.parametrize("source", [{"store_key": new_key()}, {"store_key_command": "vault"}])
def test_externally_managed_keys_are_not_rotated(tmp_path: Path, source: dict[str, str]) -> None:
    with (
        pytest.raises(StoreKeyError, match="Insert a new key first there"),
        rotating(Settings(state_dir=tmp_path, **source)),
    ):
        pass


def test_rotation_without_a_console_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(StoreKeyError, match="No console found in"),
        rotating(Settings(state_dir=tmp_path / "absent")),
    ):
        pass
    assert not (tmp_path / "absent").exists()
