"""Keys that encrypt the store's secrets (AES-256-GCM), and their sources, which are always outside the store.

A key is 32 random bytes in base64, one per line. The first key encrypts, all keys decrypt, so a key is replaced by inserting a new
one before it. An encrypted value is bound to its column and cannot be decrypted in another one.
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
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from shardboard.kit import age_keys
from shardboard.pki.key_files import remove_partial_files, write_private
from shardboard.settings import Settings

PREFIX = "encrypted:1:"
"""Followed by the key's name, a colon, and nonce, ciphertext and tag in base64."""
KEY_BYTES, NONCE_BYTES = 32, 12
COMMAND_SECONDS = 30
CREATE_HINT = "Create one with: openssl rand -base64 32"


class StoreKeyError(ValueError):
    """A key is missing or invalid. The message is one sentence."""


class StoreKeys:
    """The keys in their order."""

    def __init__(self, lines: Sequence[str]) -> None:
        """Raises StoreKeyError."""
        self._take(lines)

    def _take(self, lines: Sequence[str]) -> None:
        keys = [_key(line) for line in lines]
        if not keys:
            raise StoreKeyError(f"No store key is configured. {CREATE_HINT}")
        self.first = name_of(keys[0])
        """Name of the key that encrypts."""
        self._keys = keys
        self._ciphers = {name_of(key): AESGCM(key) for key in keys}

    @property
    def names(self) -> list[str]:
        """Names of all keys, which are public."""
        return list(self._ciphers)

    @property
    def file_content(self) -> str:
        """The keys as a key file contains them."""
        return "".join(f"{base64.b64encode(key).decode()}\n" for key in self._keys)

    @property
    def identities(self) -> list[str]:
        """Private keys in the age format that are derived from the keys. They decrypt backups of the console."""
        return [age_keys.encode_identity(_derived(key)) for key in self._keys]

    def reload(self) -> None:
        """Reload the keys if another process may have changed them."""

    def encrypt(self, text: str, column: str) -> str:
        self.reload()
        nonce = secrets.token_bytes(NONCE_BYTES)
        ciphertext = self._ciphers[self.first].encrypt(nonce, text.encode(), column.encode())
        return f"{PREFIX}{self.first}:{base64.b64encode(nonce + ciphertext).decode()}"

    def decrypt(self, stored: str, column: str) -> str:
        """Return the plain text; a value that was never encrypted is returned unchanged. Raises StoreKeyError if its key is missing
        or it was modified.
        """
        name, text = key_name(stored), stored.rpartition(":")[2]
        if name is None:
            return stored
        if name not in self._ciphers:
            self.reload()
        if name not in self._ciphers:
            key_names = ", ".join(self.names)
            raise StoreKeyError(
                f"{column} is encrypted with the store key {name}, but the available keys are {key_names}."
            )
        try:
            raw = base64.b64decode(text, validate=True)
            return self._ciphers[name].decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], column.encode()).decode()
        except (InvalidTag, binascii.Error, ValueError):
            raise StoreKeyError(f"{column} cannot be decrypted: the stored value was modified.") from None

    def is_newest(self, stored: object) -> bool:
        """Return whether the value is encrypted with the first key."""
        return key_name(stored) == self.first


class FileStoreKeys(StoreKeys):
    """Keys in a file, which `shardboard rotate-store-key` can rewrite while a console runs."""

    def __init__(self, file: Path) -> None:
        """Raises StoreKeyError."""
        self._file = file
        self._version = _version(file)
        super().__init__(_lines(file))

    def reload(self) -> None:
        if (version := _version(self._file)) not in (None, self._version):
            self._take(_lines(self._file))
            self._version = version


def store_keys(settings: Settings) -> StoreKeys:
    """Return the keys from the configured source. Raises StoreKeyError."""
    configured = [
        name for name in ("store_key", "store_key_file", "store_key_command") if getattr(settings, name) is not None
    ]
    if len(configured) > 1:
        variables = " and ".join(f"SHARDBOARD_{name.upper()}" for name in configured)
        raise StoreKeyError(f"Set only one of {variables}.")
    if settings.store_key is not None:
        return StoreKeys(settings.store_key.get_secret_value().split())
    if settings.store_key_command is not None:
        return StoreKeys(_command_output(settings.store_key_command).split())
    return FileStoreKeys(settings.key_file)


def is_key_file_missing(settings: Settings) -> bool:
    """Return whether the key must be in the console's own file but that file does not exist."""
    configured = (settings.store_key, settings.store_key_file, settings.store_key_command)
    return configured == (None, None, None) and not settings.key_file.exists()


def create_key_file(settings: Settings) -> None:
    """Create a key in the console's own file, unless it exists, owned by the owner of the state directory. Raises StoreKeyError."""
    file = settings.key_file
    try:
        with _exclusive(settings.state_dir):
            remove_partial_files(file.parent, file.name)
            if not file.exists():
                _write(file, [new_key()])
    except OSError as error:
        raise StoreKeyError(f"Writing the store key to {file} failed: {error.strerror}.") from error


@dataclass
class Rotation:
    """Result of a key rotation."""

    file: Path
    removed: Sequence[str] = ()
    """Names of the keys that were removed from the file at the end."""


@contextmanager
def rotating(settings: Settings) -> Iterator[Rotation]:
    """Insert a new key before those in the file, for a block that encrypts everything with it. Afterwards only the previous key is
    kept, because a running console may be using it at that moment. Raises StoreKeyError.
    """
    if settings.store_key is not None or settings.store_key_command is not None:
        raise StoreKeyError(
            "The store key is configured by SHARDBOARD_STORE_KEY or SHARDBOARD_STORE_KEY_COMMAND. Insert a new key first there and "
            "restart the console, which then encrypts everything with it."
        )
    file = settings.key_file.resolve()  # writing to a link would only replace the link
    with _exclusive(settings.state_dir):  # another rotation could remove a key in use
        previous = _lines(file)
        StoreKeys(previous)
        remove_partial_files(file.parent, file.name)
        _replace(file, [new_key(), *previous])
        rotation = Rotation(file)
        yield rotation
        lines = _lines(file)
        _replace(file, lines[:2])
        rotation.removed = [name_of(_key(line)) for line in lines[2:]]


def _replace(file: Path, lines: Sequence[str]) -> None:
    try:
        _write(file, lines)
    except OSError as error:
        raise StoreKeyError(
            f"Writing the store key to {file} failed ({error.strerror}). Insert a new key as the first line and restart "
            f"the console, which then encrypts everything with it. {CREATE_HINT}"
        ) from error


@contextmanager
def _exclusive(directory: Path) -> Iterator[None]:
    """Lock the state directory against other processes that create or replace keys. Raises StoreKeyError."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise StoreKeyError(f"No console found in {directory}: {error.strerror}.") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def new_key() -> str:
    """Return a new key as a line of the file."""
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def _derived(key: bytes) -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(
        HKDF(SHA256(), KEY_BYTES, None, b"shardboard console backup").derive(key)
    )


def name_of(key: bytes) -> str:
    """Return the public name of a key: the first eight digits of its SHA-256."""
    return hashlib.sha256(key).hexdigest()[:8]


def key_name(stored: object) -> str | None:
    """Return the name of the key that encrypted a stored value; None if it is not encrypted."""
    if not isinstance(stored, str) or not stored.startswith(PREFIX):
        return None
    return stored.removeprefix(PREFIX).partition(":")[0]


def _write(file: Path, lines: Sequence[str]) -> None:
    """Write the file for its previous owner or the owner of the directory, because the current user may be root."""
    reference_stat = file.stat() if file.exists() else _private(file.parent.stat())
    write_private(file, "".join(f"{line}\n" for line in lines).encode(), reference_stat)


def _private(directory: os.stat_result) -> os.stat_result:
    return os.stat_result((0o600, *directory[1:]))


def _version(file: Path) -> tuple[int, int] | None:
    """Return a value that differs for each version of the file; None if it does not exist."""
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns


def _lines(file: Path) -> list[str]:
    """Return the lines of a key file. Raises StoreKeyError."""
    try:
        return file.read_text().split()
    except FileNotFoundError as error:
        raise StoreKeyError(
            f"No store key found in {file}. Set SHARDBOARD_STATE_DIR and SHARDBOARD_STORE_KEY… as for the console, or "
            "start the console of this release first, which creates one."
        ) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text file"
        raise StoreKeyError(f"Reading the store key from {file} failed: {reason}.") from error


def _key(line: str) -> bytes:
    try:
        key = base64.b64decode(line, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise StoreKeyError(f"A store key must be {KEY_BYTES} bytes in base64. {CREATE_HINT}")
    return key


def _command_output(command: str) -> str:
    """Return the output of a command, such as one of a vault. It runs without a shell."""
    try:
        result = subprocess.run(
            shlex.split(command), stdin=subprocess.DEVNULL, capture_output=True, timeout=COMMAND_SECONDS, check=True
        )
        return result.stdout.decode()
    except subprocess.CalledProcessError as error:
        errors = error.stderr.decode(errors="replace").strip()[-200:]
        raise StoreKeyError(f"The command for the store key exited with status {error.returncode}: {errors}") from error
    except subprocess.TimeoutExpired:
        raise StoreKeyError(f"The command for the store key took longer than {COMMAND_SECONDS} s.") from None
    except (OSError, ValueError) as error:
        raise StoreKeyError(f"The command for the store key could not be run: {error}.") from error
