"""The content of a backup of the console: a compressed tar archive with the manifest, the store as a SQLite file, and the store
key if the backup is encrypted with another key.
"""

import io
import json
import os
import shutil
import tarfile
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MANIFEST, STORE, STORE_KEY = "manifest.json", "console.db", "store.key"
FORMAT = 1
MAX_SMALL_BYTES = 2**16
"""Limit of the files other than the store."""
READ_BYTES = 2**18
_GZIP = 31
"""`wbits` of zlib for the gzip format."""


class ArchiveError(Exception):
    """The backup cannot be used. The message completes a sentence whose subject is the file."""


@dataclass(frozen=True)
class Manifest:
    """Description of a backup."""

    created_at: str
    """ISO 8601, UTC."""
    release: str
    """Version of Shardboard."""
    cluster: str
    """Name of the cluster."""
    store_key: str
    """Name of the key that encrypts the secrets of the store."""
    bytes: int
    """Size of the store as a SQLite file."""
    format: int = FORMAT


@dataclass(frozen=True)
class Unpacked:
    """A backup in a directory."""

    manifest: Manifest
    store: Path
    store_key: str | None
    """Content of the key file; None if the backup does not contain it."""


def pack(manifest: Manifest, store: Path, store_key: str | None) -> Iterator[bytes]:
    """Yield the archive."""
    contents: dict[str, bytes | Path] = {MANIFEST: json.dumps(asdict(manifest), indent=1).encode()}
    if store_key is not None:
        contents[STORE_KEY] = store_key.encode()
    contents[STORE] = store
    compressor = zlib.compressobj(level=6, wbits=_GZIP)
    for part in _tar(contents):
        yield compressor.compress(part)
    yield compressor.flush()


def unpack(parts: Iterable[bytes], directory: Path) -> Unpacked:
    """Write the files of an archive to an empty directory. Raises ArchiveError, OSError, and what `parts` raises."""
    found: dict[str, Path] = {}
    try:
        with tarfile.open(fileobj=_Reader(parts), mode="r|gz") as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isfile() else None
                if content is None or member.name not in {MANIFEST, STORE, STORE_KEY} - found.keys():
                    raise ArchiveError("is not a backup of a console.")
                _require_space(member, directory)
                found[member.name] = directory / member.name
                with _private(found[member.name]) as file:
                    shutil.copyfileobj(content, file, READ_BYTES)
    except (tarfile.TarError, zlib.error, EOFError) as error:
        raise ArchiveError("is damaged or not a backup of a console.") from error
    if not {MANIFEST, STORE} <= found.keys():
        raise ArchiveError("is incomplete or not a backup of a console.")
    manifest = _manifest(found[MANIFEST].read_bytes())
    key = found[STORE_KEY].read_text() if STORE_KEY in found else None
    return Unpacked(manifest, found[STORE], key)


def _manifest(content: bytes) -> Manifest:
    try:
        fields: Any = json.loads(content)
        if fields["format"] > FORMAT:
            raise ArchiveError(f"was created by a newer release ({fields['release']}). Install that release.")
        known = {name: fields[name] for name in Manifest.__dataclass_fields__}
        return Manifest(**known)
    except (ValueError, KeyError, TypeError) as error:
        raise ArchiveError("is damaged: its manifest is invalid.") from error


def _tar(contents: Mapping[str, bytes | Path]) -> Iterator[bytes]:
    for name, content in contents.items():
        info = tarfile.TarInfo(name)
        info.size = content.stat().st_size if isinstance(content, Path) else len(content)
        info.mode, info.mtime = 0o600, int(time.time())
        yield info.tobuf(tarfile.PAX_FORMAT)
        if isinstance(content, Path):
            with content.open("rb") as file:
                yield from iter(lambda: file.read(READ_BYTES), b"")
        else:
            yield content
        yield bytes(-info.size % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)


def _require_space(member: tarfile.TarInfo, directory: Path) -> None:
    if member.name != STORE and member.size > MAX_SMALL_BYTES:
        raise ArchiveError(f"is not a backup of a console: its {member.name} is too large.")
    if member.size > (free := shutil.disk_usage(directory).free):
        raise ArchiveError(f"needs {member.size} bytes in {directory}, which has {free} bytes free.")


def _private(path: Path) -> io.BufferedWriter:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


class _Reader(io.RawIOBase):
    """Makes an iterable of bytes readable as a file."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts = iter(parts)
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        while not self._rest:
            part = next(self._parts, None)
            if part is None:
                return b""
            self._rest = part
        part, self._rest = self._rest[:size], self._rest[size:]
        return part
