"""Locations on SFTP servers, with the optional package asyncssh.

Files are written with the suffix `.part` and renamed when they are complete. The path of the URL is absolute; `/~/` is the home
directory.
"""

import asyncio
import getpass
import stat
from collections.abc import Coroutine, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, TypeVar

from shardboard.contract.locations import Sftp
from shardboard.contract.transfers import ErrorCode
from shardboard.transfer.errors import TransferError
from shardboard.transfer.stores.server_urls import ServerUrl, parse_server_url
from shardboard.transfer.stores.store import PART_BYTES, PART_SUFFIX, StoredFile, safe_parts

try:
    import asyncssh
except ImportError as missing:
    raise TransferError(
        "general-error",
        "SFTP requires the Python package asyncssh on this node. Install it with `pip install shardboard[sftp]`.",
    ) from missing

T = TypeVar("T")
CONNECT_SECONDS, KEEPALIVE_SECONDS = 20, 15


class SftpServer:
    """A folder of a server. Implements Store."""

    def __init__(self, location: Sftp) -> None:
        url = parse_server_url(location.sftp_url, ("sftp",))
        self._host = url.host
        self._runner = asyncio.Runner()
        with self._translated("the server", "general-error"):
            self._connection, self._sftp = self._run(_connect(url, location))
        self._top = url.path.removeprefix("/~/").rstrip("/") or ("." if url.path.startswith("/~") else "")

    def write(self, path: str, parts: Iterable[bytes]) -> None:
        target = self._path(path)
        temporary = f"{target}{PART_SUFFIX}"
        with self._translated(path, "upload-error"):
            if folder := "/".join(safe_parts(path)[:-1]):
                self._run(self._sftp.makedirs(self._path(folder), exist_ok=True))
            try:
                self._write_parts(temporary, parts)
                self._run(self._rename(temporary, target))
            except BaseException:
                with suppress(asyncssh.Error, OSError):
                    self._run(self._sftp.remove(temporary))
                raise

    def read(self, path: str) -> Generator[bytes]:
        with self._translated(path, "download-error"):
            file = self._run(self._open(self._path(path), "rb"))
            try:
                while part := self._run(_read(file)):
                    yield part
            finally:
                with suppress(asyncssh.Error, OSError):
                    self._run(file.close())

    def list(self, folder: str) -> Iterator[StoredFile]:
        with self._translated(folder or ".", "download-error"):
            yield from self._walk(safe_parts(folder))

    def delete(self, paths: Sequence[str]) -> None:
        for path in paths:
            with self._translated(path, "upload-error"):
                for each in (self._path(path), f"{self._path(path)}{PART_SUFFIX}"):
                    with suppress(asyncssh.SFTPNoSuchFile, asyncssh.SFTPNoSuchPath):
                        self._run(self._sftp.remove(each))
                self._remove_empty_folders(safe_parts(path)[:-1])

    def remove_incomplete(self, folder: str) -> None:
        """The deletion of a file also deletes what is left of an incomplete one."""

    def close(self) -> None:
        with suppress(asyncssh.Error, OSError):
            self._sftp.exit()
            self._connection.close()
            self._run(self._connection.wait_closed())
        self._runner.close()

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(coroutine)

    def _path(self, path: str) -> str:
        return "/".join((self._top, *safe_parts(path))) or "/"

    def _write_parts(self, path: str, parts: Iterable[bytes]) -> None:
        file = self._run(self._open(path, "wb"))
        try:
            for part in parts:
                self._run(file.write(part))
            with suppress(asyncssh.SFTPOpUnsupported):
                self._run(file.fsync())
        finally:
            self._run(file.close())

    async def _open(self, path: str, mode: str) -> asyncssh.SFTPClientFile:
        return await self._sftp.open(path, mode)

    async def _rename(self, source: str, target: str) -> None:
        try:
            await self._sftp.posix_rename(source, target)
        except asyncssh.SFTPOpUnsupported:
            with suppress(asyncssh.SFTPNoSuchFile):
                await self._sftp.remove(target)
            await self._sftp.rename(source, target)

    def _remove_empty_folders(self, folders: Sequence[str]) -> None:
        with suppress(asyncssh.SFTPError):
            for count in range(len(folders), 0, -1):
                self._run(self._sftp.rmdir(self._path("/".join(folders[:count]))))

    def _walk(self, folder: tuple[str, ...]) -> Iterator[StoredFile]:
        try:
            entries = self._run(self._sftp.readdir(self._path("/".join(folder))))
        except (asyncssh.SFTPNoSuchFile, asyncssh.SFTPNoSuchPath):
            return
        for entry in entries:
            name, mode = str(entry.filename), entry.attrs.permissions or 0
            if name in (".", ".."):
                continue
            if stat.S_ISDIR(mode):
                yield from self._walk((*folder, name))
            elif stat.S_ISREG(mode) and not name.endswith(PART_SUFFIX):
                modified = datetime.fromtimestamp(entry.attrs.mtime, UTC) if entry.attrs.mtime is not None else None
                yield StoredFile("/".join((*folder, name)), entry.attrs.size or 0, modified)

    @contextmanager
    def _translated(self, path: str, otherwise: ErrorCode) -> Iterator[None]:
        try:
            yield
        except (asyncssh.Error, OSError) as error:
            raise _error(error, path, self._host, otherwise) from error


async def _read(file: asyncssh.SFTPClientFile) -> bytes:
    part = await file.read(PART_BYTES // 16)
    assert isinstance(part, bytes)  # noqa: S101 - it was opened in binary mode
    return part


async def _connect(url: ServerUrl, location: Sftp) -> tuple[asyncssh.SSHClientConnection, asyncssh.SFTPClient]:
    port = url.port or 22
    options = {
        "username": url.user or getpass.getuser(),
        "password": url.password or None,
        "client_keys": [_private_key(location.key)] if location.key else None,
        "known_hosts": _known_hosts(location.known_hosts),
        "agent_path": None,
        "config": None,
        "connect_timeout": CONNECT_SECONDS,
        "login_timeout": CONNECT_SECONDS,
        "keepalive_interval": KEEPALIVE_SECONDS,
    }
    try:
        connection = await asyncssh.connect(url.host, port, **options)
    except asyncssh.HostKeyNotVerifiable as error:
        raise await _unknown_host_key(url.host, port) from error
    return connection, await connection.start_sftp_client()


def _private_key(text: str) -> asyncssh.SSHKey:
    try:
        return asyncssh.import_private_key(text)
    except asyncssh.KeyImportError as error:
        raise TransferError("no-permission", f"The private key of the location is not usable: {error}.") from error


def _known_hosts(text: str) -> asyncssh.SSHKnownHosts:
    """Return the accepted host keys. Without any, each server is refused: None would accept all."""
    try:
        return asyncssh.import_known_hosts(text)
    except ValueError as error:
        raise TransferError("general-error", f"The field known_hosts of the location is not valid: {error}.") from error


async def _unknown_host_key(host: str, port: int) -> TransferError:
    """Return the error with the line to add, which an administrator compares with the key of the server."""
    name = host if port == 22 else f"[{host}]:{port}"
    try:
        key = await asyncssh.get_server_host_key(host, port)
    except (asyncssh.Error, OSError):
        key = None
    advice = f": {name} {key.export_public_key().decode().strip()}" if key is not None else "."
    message = f"The host key of {host} is unknown. If this is the key of the server, add it to known_hosts{advice}"
    return TransferError("no-permission", message)


def _error(error: Exception, path: str, host: str, otherwise: ErrorCode) -> TransferError:
    match error:
        case asyncssh.SFTPNoSuchFile() | asyncssh.SFTPNoSuchPath():
            return TransferError("wrong-file-path", f"{path} does not exist on {host}.")
        case asyncssh.SFTPPermissionDenied() | asyncssh.SFTPWriteProtect():
            return TransferError("no-permission", f"{host} denied access to {path}.")
        case asyncssh.SFTPNoSpaceOnFilesystem() | asyncssh.SFTPQuotaExceeded():
            return TransferError(otherwise, f"The disk or quota of {host} is full.")
        case asyncssh.PermissionDenied():
            return TransferError("no-permission", f"{host} rejected the user, the password or the key.")
        case asyncssh.Error():
            return TransferError(
                otherwise, f"{host} returned an error for {path}: {error.reason or type(error).__name__}."
            )
        case TimeoutError():
            return TransferError(otherwise, f"{host} did not respond in time.")
        case ConnectionRefusedError():
            return TransferError(otherwise, f"{host} refused the connection.")
    return TransferError(otherwise, f"The connection to {host} failed: {error}.")
