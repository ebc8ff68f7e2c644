"""Locations on FTP and FTPS servers.

Files are written with the suffix `.part` and renamed when they are complete. The path of the URL is relative to the folder after
the login; one that starts with `//` is absolute.
"""

import ftplib
import ssl
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from socket import socket

from shardboard.contract.locations import Ftp
from shardboard.contract.transfers import ErrorCode
from shardboard.transfer.errors import TransferError
from shardboard.transfer.stores.server_urls import parse_server_url
from shardboard.transfer.stores.store import PART_BYTES, PART_SUFFIX, StoredFile, safe_parts

TIMEOUT_SECONDS = 60
_DENIED = ("530", "532", "534", "550 permission", "553")
_FULL = ("452", "552")
_ABSENT = ("501", "550")


class FtpServer:
    """A folder of a server. Implements Store."""

    def __init__(self, location: Ftp) -> None:
        url = parse_server_url(location.url, ("ftp", "ftps"))
        self._host = url.host
        with self._translated("The server", "general-error"):
            self._ftp = _connect(url.scheme, location.ca_cert)
            self._ftp.connect(url.host, url.port or ftplib.FTP_PORT)
            self._ftp.login(url.user, url.password)
            if isinstance(self._ftp, ftplib.FTP_TLS):
                self._ftp.prot_p()
            self._ftp.voidcmd("TYPE I")
            if folder := url.path.removeprefix("/").rstrip("/"):
                self._ftp.cwd(folder)
            self._top = self._ftp.pwd()

    def write(self, path: str, parts: Iterable[bytes]) -> None:
        target = self._path(path)
        with self._translated(path, "upload-error"):
            self._make_folders(safe_parts(path)[:-1])
            temporary = f"{target}{PART_SUFFIX}"
            try:
                size = self._store(temporary, parts)
                if self._size(temporary) not in (size, None):
                    raise TransferError("upload-error", f"The server stored an incomplete file: {path}.")
                self._rename(temporary, target)
            except BaseException:
                with suppress(ftplib.Error, OSError, EOFError):
                    self._ftp.delete(temporary)
                raise

    def read(self, path: str) -> Generator[bytes]:
        with self._translated(path, "download-error"):
            connection = self._ftp.transfercmd(f"RETR {self._path(path)}")
            try:
                with connection:
                    while part := _receive(connection, PART_BYTES // 16):
                        yield part
                    _unwrap(connection)
            except GeneratorExit:  # the reply must not be taken for that of the next command
                with suppress(ftplib.Error, OSError, EOFError):
                    self._ftp.voidresp()
                raise
            self._ftp.voidresp()

    def list(self, folder: str) -> Iterator[StoredFile]:
        with self._translated(folder or ".", "download-error"):
            yield from self._walk(safe_parts(folder))

    def delete(self, paths: Sequence[str]) -> None:
        for path in paths:
            with self._translated(path, "upload-error"):
                for each in (self._path(path), f"{self._path(path)}{PART_SUFFIX}"):
                    try:
                        self._ftp.delete(each)
                    except ftplib.error_perm:
                        if self._size(each) is not None:
                            raise
                self._remove_empty_folders(safe_parts(path)[:-1])

    def remove_incomplete(self, folder: str) -> None:
        """The deletion of a file also deletes what is left of an incomplete one."""

    def close(self) -> None:
        with suppress(ftplib.Error, OSError, EOFError):
            self._ftp.quit()
        self._ftp.close()

    def _path(self, path: str) -> str:
        return "/".join((self._top.rstrip("/"), *safe_parts(path)))

    def _store(self, path: str, parts: Iterable[bytes]) -> int:
        """Write a file and return its size. If `parts` raises, the connection of the data is cut, so that the upload fails."""
        size = 0
        connection = self._ftp.transfercmd(f"STOR {path}")
        try:
            for part in parts:
                connection.sendall(part)
                size += len(part)
            _unwrap(connection)
        except BaseException:
            connection.close()
            with suppress(ftplib.Error, OSError, EOFError):
                self._ftp.voidresp()
            raise
        connection.close()
        self._ftp.voidresp()
        return size

    def _size(self, path: str) -> int | None:
        try:
            return self._ftp.size(path)
        except ftplib.error_perm:
            return None

    def _rename(self, source: str, target: str) -> None:
        try:
            self._ftp.rename(source, target)
        except ftplib.error_perm:  # some servers do not replace files
            self._ftp.delete(target)
            self._ftp.rename(source, target)

    def _make_folders(self, folders: Sequence[str]) -> None:
        for count in range(1, len(folders) + 1):
            folder = self._path("/".join(folders[:count]))
            try:
                self._ftp.cwd(folder)
            except ftplib.error_perm:
                self._ftp.mkd(folder)
        self._ftp.cwd(self._top)

    def _remove_empty_folders(self, folders: Sequence[str]) -> None:
        with suppress(ftplib.Error):
            for count in range(len(folders), 0, -1):
                self._ftp.rmd(self._path("/".join(folders[:count])))

    def _walk(self, folder: tuple[str, ...]) -> Iterator[StoredFile]:
        try:
            entries = list(self._ftp.mlsd(self._path("/".join(folder)), ["type", "size", "modify"]))
        except ftplib.error_perm as error:
            if str(error).startswith(_ABSENT):
                return
            raise
        for name, facts in entries:
            path = (*folder, name)
            if facts.get("type") == "dir":
                yield from self._walk(path)
            elif facts.get("type") == "file" and not name.endswith(PART_SUFFIX):
                yield StoredFile("/".join(path), int(facts.get("size", 0)), _time(facts.get("modify", "")))

    @contextmanager
    def _translated(self, path: str, otherwise: ErrorCode) -> Iterator[None]:
        try:
            yield
        except (ftplib.Error, OSError, EOFError) as error:
            raise _error(error, path, self._host, otherwise) from error


class _FtpTls(ftplib.FTP_TLS):
    """FTPS with the same TLS session for data as for commands, which many servers require."""

    def ntransfercmd(self, cmd: str, rest: int | str | None = None) -> tuple[socket, int | None]:
        connection, size = ftplib.FTP.ntransfercmd(self, cmd, rest)  # noqa: S321 - it is wrapped in TLS
        session = self.sock.session if isinstance(self.sock, ssl.SSLSocket) else None
        wrapped = self.context.wrap_socket(connection, server_hostname=self.host, session=session)
        return wrapped, size


def _connect(scheme: str, ca_cert: str) -> ftplib.FTP:
    if scheme == "ftp":
        return ftplib.FTP(timeout=TIMEOUT_SECONDS)  # noqa: S321 - the location has this type
    context = ssl.create_default_context(cadata=ca_cert or None)
    return _FtpTls(context=context, timeout=TIMEOUT_SECONDS)


def _receive(connection: socket, size: int) -> bytes:
    """Return up to `size` bytes; fewer only at the end."""
    content = bytearray()
    while len(content) < size and (part := connection.recv(size - len(content))):
        content += part
    return bytes(content)


def _unwrap(connection: socket) -> None:
    """End TLS properly: servers report a connection that was just closed as an error."""
    if isinstance(connection, ssl.SSLSocket):
        with suppress(OSError):
            connection.unwrap()


def _time(text: str) -> datetime | None:
    try:
        return datetime.strptime(text[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None


def _error(error: Exception, path: str, host: str, otherwise: ErrorCode) -> TransferError:
    text = str(error).strip()
    match error:
        case ssl.SSLCertVerificationError():
            reason = f"The certificate of {host} is not trusted: {error.verify_message}. Add its CA to the location."
            return TransferError(otherwise, reason)
        case TimeoutError():
            return TransferError(otherwise, f"{host} did not respond in time.")
        case ConnectionRefusedError():
            return TransferError(otherwise, f"{host} refused the connection.")
        case OSError() if not text[:3].isdecimal():
            return TransferError(otherwise, f"The connection to {host} failed: {error.strerror or text}.")
        case EOFError():
            return TransferError(otherwise, f"{host} closed the connection.")
    if text.startswith(_FULL):
        return TransferError(otherwise, f"The disk or quota of {host} is full ({text}).")
    if text.lower().startswith(_DENIED) or "denied" in text.lower() or "enough privileges" in text.lower():
        return TransferError("no-permission", f"{host} denied access to {path} ({text}).")
    if text.startswith(_ABSENT):
        return TransferError("wrong-file-path", f"{path} does not exist on {host} ({text}).")
    return TransferError(otherwise, f"{host} returned an error for {path} ({text}).")
