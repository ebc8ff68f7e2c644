"""The keys by which the store's secrets are encrypted (AES-256-GCM), and where they come from: never from the store.

Keys are 32 random bytes in base 64, one in a line. The first one encrypts, all of them decrypt, so a key is replaced by putting
another one before it. What is encrypted is bound to its column: moved to another one it cannot be decrypted.
"""

import base64
import binascii
import fcntl
import hashlib
import os
import secrets
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from shardboard.key_files import remove_parts, write_private
from shardboard.settings import Settings

PREFIX = "encrypted:1:"
"""Then the key's name, a colon, and in base 64 the nonce, the text and its tag."""
KEY_BYTES, NONCE_BYTES = 32, 12
COMMAND_SECONDS = 30
MAKE_ONE = "Make one with: openssl rand -base64 32"


class StoreKeyError(ValueError):
    """A sentence: which key is missing, or what is wrong with one."""


class StoreKeys:
    """The keys, in their order."""

    def __init__(self, lines: Sequence[str]) -> None:
        """Raises StoreKeyError."""
        self._take(lines)

    def _take(self, lines: Sequence[str]) -> None:
        keys = [_key(line) for line in lines]
        if not keys:
            raise StoreKeyError(f"There is no store key. {MAKE_ONE}")
        self.first = name_of(keys[0])
        """Name of the key that encrypts."""
        self._ciphers = {name_of(key): AESGCM(key) for key in keys}

    def look_again(self) -> None:
        """Where another process may replace the keys: see whether it did."""

    def encrypt(self, text: str, column: str) -> str:
        self.look_again()
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed = self._ciphers[self.first].encrypt(nonce, text.encode(), column.encode())
        return f"{PREFIX}{self.first}:{base64.b64encode(nonce + sealed).decode()}"

    def decrypt(self, stored: str, column: str) -> str:
        """Raises StoreKeyError when its key is not there, or when it was changed. What was never encrypted is returned as it is."""
        name, text = key_name(stored), stored.rpartition(":")[2]
        if name is None:
            return stored
        if name not in self._ciphers:
            self.look_again()
        if name not in self._ciphers:
            known = ", ".join(self._ciphers)
            raise StoreKeyError(f"{column} is encrypted with the store key {name}, and the keys at hand are {known}.")
        try:
            raw = base64.b64decode(text, validate=True)
            return self._ciphers[name].decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], column.encode()).decode()
        except (InvalidTag, binascii.Error, ValueError):
            raise StoreKeyError(f"{column} cannot be decrypted: what the store holds there was changed.") from None

    def is_newest(self, stored: object) -> bool:
        """Whether it is encrypted with the first of the keys."""
        return key_name(stored) == self.first


class FileOfStoreKeys(StoreKeys):
    """Those of a file, which `shardboard rotate-store-key` writes anew while a console runs."""

    def __init__(self, file: Path) -> None:
        """Raises StoreKeyError."""
        self._file = file
        self._version = _version(file)
        super().__init__(_lines(file))

    def look_again(self) -> None:
        if (version := _version(self._file)) not in (None, self._version):
            self._take(_lines(self._file))
            self._version = version


def store_keys(settings: Settings) -> StoreKeys:
    """Those that the settings name. Raises StoreKeyError."""
    named = [
        name for name in ("store_key", "store_key_file", "store_key_command") if getattr(settings, name) is not None
    ]
    if len(named) > 1:
        said = " and ".join(f"SHARDBOARD_{name.upper()}" for name in named)
        raise StoreKeyError(f"Only one of {said} can say what the store key is.")
    if settings.store_key is not None:
        return StoreKeys(settings.store_key.get_secret_value().split())
    if settings.store_key_command is not None:
        return StoreKeys(_said(settings.store_key_command).split())
    return FileOfStoreKeys(settings.key_file)


def lacks_own(settings: Settings) -> bool:
    """Whether the key is to be in the console's own file, and is not there."""
    given = (settings.store_key, settings.store_key_file, settings.store_key_command)
    return given == (None, None, None) and not settings.key_file.exists()


def make_own(settings: Settings) -> None:
    """Make a key in the console's own file, unless there is one, for whom the state directory belongs to. Raises StoreKeyError."""
    file = settings.key_file
    try:
        with _alone(settings.state_dir):
            remove_parts(file.parent, file.name)
            if not file.exists():
                _write(file, [new_key()])
    except OSError as error:
        raise StoreKeyError(f"The store key cannot be written to {file}: {error.strerror}.") from error


@dataclass
class Rotation:
    """What becomes of the file."""

    file: Path
    removed: Sequence[str] = ()
    """Names of keys that are not in it any more, at the end."""


@contextmanager
def rotating(settings: Settings) -> Iterator[Rotation]:
    """Put a new key before those of the file, for a block that encrypts everything with it. After that only the one before stays
    beside it, for what a console that runs may be writing with it in that moment. Raises StoreKeyError."""
    if settings.store_key is not None or settings.store_key_command is not None:
        raise StoreKeyError(
            "The store key is given by SHARDBOARD_STORE_KEY or SHARDBOARD_STORE_KEY_COMMAND: put a new one before it there and "
            "start the console anew, which encrypts everything with it."
        )
    file = settings.key_file.resolve()  # in place of a link only the link would be replaced
    with _alone(settings.state_dir):  # a key that another rotation takes away could be in use
        before = _lines(file)
        StoreKeys(before)
        remove_parts(file.parent, file.name)
        _replace(file, [new_key(), *before])
        rotation = Rotation(file)
        yield rotation
        kept = _lines(file)
        _replace(file, kept[:2])
        rotation.removed = [name_of(_key(line)) for line in kept[2:]]


def _replace(file: Path, lines: Sequence[str]) -> None:
    try:
        _write(file, lines)
    except OSError as error:
        raise StoreKeyError(
            f"The store key cannot be written to {file} ({error.strerror}). Put a new key before the first line by hand and start "
            f"the console anew, which encrypts everything with it. {MAKE_ONE}"
        ) from error


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """One process at a time, of those that make or replace keys of a console. Raises StoreKeyError."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise StoreKeyError(f"There is no console in {directory}: {error.strerror}.") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def new_key() -> str:
    """A line."""
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def name_of(key: bytes) -> str:
    """What is said of a key in public: eight digits of its SHA-256."""
    return hashlib.sha256(key).hexdigest()[:8]


def key_name(stored: object) -> str | None:
    """Name of the key by which something in the store is encrypted; None when it is not."""
    if not isinstance(stored, str) or not stored.startswith(PREFIX):
        return None
    return stored.removeprefix(PREFIX).partition(":")[0]


def _write(file: Path, lines: Sequence[str]) -> None:
    """For who owned it before, or owns the directory: whoever rotates may be the superuser."""
    like = file.stat() if file.exists() else _private(file.parent.stat())
    write_private(file, "".join(f"{line}\n" for line in lines).encode(), like)


def _private(directory: os.stat_result) -> os.stat_result:
    return os.stat_result((0o600, *directory[1:]))


def _version(file: Path) -> tuple[int, int] | None:
    """Another one for another file in its place; None while there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _lines(file: Path) -> list[str]:
    """Raises StoreKeyError."""
    try:
        return file.read_text().split()
    except FileNotFoundError as error:
        raise StoreKeyError(
            f"There is no store key in {file}: set what the console has as SHARDBOARD_STATE_DIR and SHARDBOARD_STORE_KEY…, or "
            "start the console of this release first, which makes one."
        ) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise StoreKeyError(f"The store key cannot be read from {file}: {reason}.") from error


def _key(line: str) -> bytes:
    try:
        key = base64.b64decode(line, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise StoreKeyError(f"A store key is {KEY_BYTES} bytes in base 64. {MAKE_ONE}")
    return key


def _said(command: str) -> str:
    """What a command prints: that of a vault, say. It is run without a shell."""
    try:
        done = subprocess.run(
            shlex.split(command), stdin=subprocess.DEVNULL, capture_output=True, timeout=COMMAND_SECONDS, check=True
        )
        return done.stdout.decode()
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()[-200:]
        raise StoreKeyError(f"The command for the store key ended with status {error.returncode}: {said}") from error
    except subprocess.TimeoutExpired:
        raise StoreKeyError(f"The command for the store key took longer than {COMMAND_SECONDS} s.") from None
    except (OSError, ValueError) as error:
        raise StoreKeyError(f"The command for the store key cannot be run: {error}.") from error
