"""Keys by which secrets are encrypted: where they come from, what they refuse, and how one follows another."""

import base64
import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard import store_key
from shardboard.settings import Settings
from shardboard.store_key import (
    PREFIX,
    StoreKeyError,
    StoreKeys,
    lacks_own,
    make_own,
    new_key,
    rotating,
    store_keys,
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(state_dir=tmp_path)


@given(st.text())
def test_what_is_encrypted_can_be_decrypted_and_shows_nothing(text: str) -> None:
    keys = StoreKeys([new_key()])
    stored = keys.encrypt(text, "bdbs.config")
    assert keys.decrypt(stored, "bdbs.config") == text
    assert keys.is_newest(stored)
    assert keys.encrypt(text, "bdbs.config") != stored
    assert len(text) < 4 or text not in stored


def test_it_belongs_to_its_column() -> None:
    keys = StoreKeys([new_key()])
    with pytest.raises(StoreKeyError, match=r"webhooks\.url cannot be decrypted"):
        keys.decrypt(keys.encrypt("secret", "bdbs.admin_password"), "webhooks.url")


@given(st.integers(min_value=0), st.integers(min_value=1, max_value=255))
def test_what_was_changed_is_refused(place: int, change: int) -> None:
    keys = StoreKeys([new_key()])
    head, _, text = keys.encrypt("a password", "bdbs.config").rpartition(":")
    raw = bytearray(base64.b64decode(text))
    raw[place % len(raw)] ^= change
    with pytest.raises(StoreKeyError, match="cannot be decrypted"):
        keys.decrypt(f"{head}:{base64.b64encode(raw).decode()}", "bdbs.config")


@pytest.mark.parametrize("text", ["", "?", "AAAA", "å"])
def test_junk_is_refused(text: str) -> None:
    keys = StoreKeys([new_key()])
    with pytest.raises(StoreKeyError, match="cannot be decrypted"):
        keys.decrypt(f"{PREFIX}{keys.first}:{text}", "bdbs.config")


def test_what_was_never_encrypted_is_read_as_it_is() -> None:
    keys = StoreKeys([new_key()])
    assert keys.decrypt("plain", "bdbs.admin_password") == "plain"
    assert not keys.is_newest("plain")
    assert not keys.is_newest({"a": 1})


def test_an_earlier_key_decrypts_and_a_missing_one_is_named() -> None:
    old, new = new_key(), new_key()
    stored = StoreKeys([old]).encrypt("secret", "bdbs.config")
    both = StoreKeys([new, old])
    assert both.decrypt(stored, "bdbs.config") == "secret"
    assert not both.is_newest(stored)
    with pytest.raises(StoreKeyError, match=f"key {StoreKeys([old]).first}.*available keys are {both.first}"):
        StoreKeys([new]).decrypt(stored, "bdbs.config")


@pytest.mark.parametrize("line", ["", "short", "x" * 44, base64.b64encode(bytes(16)).decode()])
def test_what_is_no_key_is_refused(line: str) -> None:
    with pytest.raises(StoreKeyError, match="openssl rand -base64 32"):
        StoreKeys(line.split())


def test_one_is_made_for_its_owner_only_and_kept(settings: Settings) -> None:
    assert lacks_own(settings)
    with pytest.raises(StoreKeyError, match="No store key found in"):
        store_keys(settings)
    make_own(settings)
    first = store_keys(settings).first
    assert stat.S_IMODE(settings.key_file.stat().st_mode) == 0o600
    make_own(settings)
    assert store_keys(settings).first == first
    assert not lacks_own(settings)
    assert [file.name for file in settings.state_dir.iterdir()] == ["store.key"]


def test_consoles_that_start_together_have_one_key(settings: Settings) -> None:
    def start(_: int) -> str:
        make_own(settings)
        return store_keys(settings).first

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(start, range(16)))) == 1


def test_what_a_killed_process_was_writing_does_not_stay(settings: Settings) -> None:
    (settings.state_dir / ".store.key.0123abcd").write_text(new_key())
    (settings.state_dir / ".other.key.0123abcd").touch()
    make_own(settings)
    assert sorted(file.name for file in settings.state_dir.iterdir()) == [".other.key.0123abcd", "store.key"]
    (settings.state_dir / ".store.key.0123abcd").write_text(new_key())
    with rotating(settings):
        pass
    assert sorted(file.name for file in settings.state_dir.iterdir()) == [".other.key.0123abcd", "store.key"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser gives files away")
def test_the_superuser_makes_and_replaces_it_for_the_user_of_the_console(settings: Settings) -> None:
    os.chown(settings.state_dir, 10001, 10002)
    make_own(settings)
    for _ in range(2):
        found = settings.key_file.stat()
        assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (10001, 10002, 0o600)
        with rotating(settings):
            pass
    settings.key_file.chmod(0o640)
    with rotating(settings):
        pass
    assert stat.S_IMODE(settings.key_file.stat().st_mode) == 0o640


def test_of_a_link_the_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    file, link = tmp_path / "keys" / "store.key", tmp_path / "link"
    file.write_text(new_key())
    link.symlink_to(file)
    with rotating(Settings(state_dir=tmp_path, store_key_file=link)):
        pass
    assert link.is_symlink()
    assert len(file.read_text().split()) == 2


def test_one_that_cannot_be_replaced_stays_and_says_what_to_do(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_own(settings)
    before = settings.key_file.read_text()

    def busy(*_: object) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(store_key, "write_private", busy)
    with (
        pytest.raises(StoreKeyError, match=r"busy\)\. Insert a new key as the first line"),
        rotating(settings),
    ):
        pytest.fail("nothing may be encrypted with a key that nobody keeps")
    assert settings.key_file.read_text() == before


def test_a_file_that_is_named_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(StoreKeyError, match=r"No store key found in .*absent"):
        store_keys(Settings(state_dir=tmp_path, store_key_file=tmp_path / "absent"))
    (tmp_path / "empty").touch()
    with pytest.raises(StoreKeyError, match="No store key is configured"):
        store_keys(Settings(state_dir=tmp_path, store_key_file=tmp_path / "empty"))
    with pytest.raises(StoreKeyError, match=r"Reading the store key from .*Is a directory"):
        store_keys(Settings(state_dir=tmp_path, store_key_file=tmp_path))


@pytest.mark.parametrize("name", ["store_key", "store_key_file", "store_key_command"])
def test_an_empty_variable_says_nothing(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"SHARDBOARD_{name.upper()}", "")
    assert lacks_own(Settings(state_dir=tmp_path))


def test_it_may_come_by_the_environment_or_a_command(tmp_path: Path) -> None:
    key = new_key()
    by_environment = store_keys(Settings(state_dir=tmp_path, store_key=key))
    by_command = store_keys(Settings(state_dir=tmp_path, store_key_command=f"echo {key}"))
    assert by_environment.first == by_command.first == StoreKeys([key]).first
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("false", "exited with status 1"),
        ("/no/such/vault read key", "could not be run"),
        ("echo 'unfinished", "could not be run"),
        ("sh -c 'echo sealed >&2; exit 3'", "status 3: sealed"),
        ("echo", "No store key is configured"),
        ("sleep 60", "took longer"),
    ],
)
def test_a_command_that_fails_says_why(
    tmp_path: Path, command: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_key, "COMMAND_SECONDS", 0.2 if command.startswith("sleep") else 30)
    with pytest.raises(StoreKeyError, match=told):
        store_keys(Settings(state_dir=tmp_path, store_key_command=command))


def test_two_sources_are_one_too_many(tmp_path: Path) -> None:
    with pytest.raises(StoreKeyError, match="SHARDBOARD_STORE_KEY and SHARDBOARD_STORE_KEY_COMMAND"):
        store_keys(Settings(state_dir=tmp_path, store_key=new_key(), store_key_command="vault"))


def test_another_process_may_put_a_new_key_in_front(settings: Settings) -> None:
    make_own(settings)
    running = store_keys(settings)
    before = running.encrypt("early", "bdbs.config")
    with rotating(settings):
        stored = store_keys(settings).encrypt("late", "bdbs.config")
    assert running.decrypt(stored, "bdbs.config") == "late"
    assert running.decrypt(before, "bdbs.config") == "early"
    assert running.is_newest(stored)
    assert not running.is_newest(before)


def test_whoever_runs_writes_with_the_new_key_at_once(settings: Settings) -> None:
    """Else of two rotations in a row the second would take the key away that it still uses."""
    make_own(settings)
    running = store_keys(settings)
    for _ in range(2):
        with rotating(settings):
            pass
        assert store_keys(settings).is_newest(running.encrypt("secret", "bdbs.config"))


def test_a_file_that_is_away_for_a_while_or_written_badly_keeps_nobody_from_reading(settings: Settings) -> None:
    make_own(settings)
    running = store_keys(settings)
    stored = running.encrypt("secret", "bdbs.config")
    lines = settings.key_file.read_text()
    settings.key_file.unlink()
    assert running.decrypt(running.encrypt("late", "bdbs.config"), "bdbs.config") == "late"
    settings.key_file.write_text("no key\n")
    assert running.decrypt(stored, "bdbs.config") == "secret"
    with pytest.raises(StoreKeyError, match="32 bytes"):
        running.encrypt("later", "bdbs.config")
    settings.key_file.write_text(lines)
    assert running.decrypt(running.encrypt("at last", "bdbs.config"), "bdbs.config") == "at last"


def test_a_rotation_keeps_the_key_before_and_one_that_fails_keeps_all(settings: Settings) -> None:
    make_own(settings)
    first = settings.key_file.read_text().split()
    for _ in range(3):
        with rotating(settings):
            pass
    two = settings.key_file.read_text().split()
    assert len(two) == 2
    assert not set(first) & set(two)
    with pytest.raises(ZeroDivisionError), rotating(settings):
        raise ZeroDivisionError
    assert settings.key_file.read_text().split()[1:] == two
    assert stat.S_IMODE(settings.key_file.stat().st_mode) == 0o600


@pytest.mark.parametrize("given", [{"store_key": new_key()}, {"store_key_command": "vault"}])
def test_keys_that_others_keep_are_replaced_there(tmp_path: Path, given: dict[str, str]) -> None:
    with (
        pytest.raises(StoreKeyError, match="Insert a new key first there"),
        rotating(Settings(state_dir=tmp_path, **given)),
    ):
        pass


def test_where_no_console_was_there_is_nothing_to_rotate(tmp_path: Path) -> None:
    with (
        pytest.raises(StoreKeyError, match="No console found in"),
        rotating(Settings(state_dir=tmp_path / "absent")),
    ):
        pass
    assert not (tmp_path / "absent").exists()
