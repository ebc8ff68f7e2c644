"""Locations that are folders of the node, usually on a network file system.

The agent's setting `backup_roots` limits them. Symbolic links are resolved before the comparison. Everything below is opened
relative to descriptors of folders, whose real paths are checked.
"""

import errno
import os
import stat
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path, PurePosixPath

from shardboard.contract.locations import MountPoint
from shardboard.contract.transfers import ErrorCode
from shardboard.transfer.errors import TransferError, from_os_error
from shardboard.transfer.stores.store import PART_BYTES, PART_SUFFIX, StoredFile, safe_parts

FILE_MODE = 0o640
_FOLDER = os.O_RDONLY | os.O_DIRECTORY


class Folder:
    """A folder. Implements Store."""

    def __init__(self, location: MountPoint, roots: Sequence[Path], private_folders: Sequence[Path] = ()) -> None:
        self._base = _allowed_base(Path(location.path), roots, private_folders)

    def write(self, path: str, parts: Iterable[bytes]) -> None:
        with _translated(path, "upload-error"), self._folder_of(path, create=True) as (folder, name):
            temporary = f".{name}.{os.getpid()}{PART_SUFFIX}"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            descriptor = os.open(temporary, flags, FILE_MODE, dir_fd=folder)
            try:
                with open(descriptor, "wb", buffering=0) as file:  # noqa: PTH123 - of a descriptor
                    for part in parts:
                        _write_all(file.fileno(), part)
                    os.fsync(file.fileno())
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise
            _sync_folder(folder)

    def read(self, path: str) -> Generator[bytes]:
        with _translated(path, "download-error"), self._open(path) as file:
            while part := file.read(PART_BYTES // 16):
                yield part

    def list(self, folder: str) -> Iterator[StoredFile]:
        parts = safe_parts(folder)
        with (
            _translated(folder or ".", "download-error"),
            suppress(FileNotFoundError),
            self._opened(parts, folder) as top,
        ):
            for directory, _, names, descriptor in os.fwalk(".", onerror=_raise_unless_absent, dir_fd=top):
                for name in sorted(names):
                    try:
                        status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                    except FileNotFoundError:  # deleted in the meantime
                        continue
                    if stat.S_ISREG(status.st_mode) and not name.endswith(PART_SUFFIX):
                        path = PurePosixPath(*parts, directory, name).as_posix()
                        yield StoredFile(path, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))

    def delete(self, paths: Sequence[str]) -> None:
        for path in paths:
            with (
                _translated(path, "upload-error"),
                suppress(FileNotFoundError),
                self._folder_of(path) as (folder, name),
            ):
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=folder)
                self._remove_incomplete(folder)
            self._remove_empty_folders(safe_parts(path)[:-1])

    def remove_incomplete(self, folder: str) -> None:
        with _translated(folder, "upload-error"), self._opened(safe_parts(folder), folder) as descriptor:
            _remove_parts(descriptor)

    def close(self) -> None:
        pass

    @contextmanager
    def _open(self, path: str) -> Iterator[FileIO]:
        """Open a file. A pipe is not waited for."""
        with self._folder_of(path) as (folder, name):
            descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK, dir_fd=folder)
        with FileIO(descriptor) as file:
            self._check_inside(descriptor, path)
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise TransferError("wrong-file-path", f"{path} is not a file.")
            yield file

    @contextmanager
    def _folder_of(self, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        """Open the folder of a file, and yield its descriptor and the name of the file."""
        *folders, name = safe_parts(path)
        with self._opened(folders, path, create=create) as descriptor:
            yield descriptor, name

    @contextmanager
    def _opened(self, folders: Sequence[str], path: str, *, create: bool = False) -> Iterator[int]:
        """Open a folder and yield its descriptor.

        Others can replace folders by links at any time, so each descriptor is checked after it was opened.
        """
        descriptor = os.open(self._base, _FOLDER)
        try:
            self._check_inside(descriptor, path)
            for name in folders:
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(name, dir_fd=descriptor)
                inner = os.open(name, _FOLDER, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
                self._check_inside(descriptor, path)
            yield descriptor
        finally:
            os.close(descriptor)

    def _check_inside(self, descriptor: int, path: str) -> None:
        if not Path(f"/proc/self/fd/{descriptor}").readlink().is_relative_to(self._base):
            raise TransferError("wrong-file-path", f"{path} is a link that points outside the location.")

    def _remove_incomplete(self, folder: int) -> None:
        """Remove incomplete files, which processes left that were killed, if there are no others."""
        if all(name.endswith(PART_SUFFIX) for name in os.listdir(folder)):
            _remove_parts(folder)

    def _remove_empty_folders(self, folders: Sequence[str]) -> None:
        with suppress(OSError, TransferError):
            for count in range(len(folders), 0, -1):
                with self._folder_of("/".join(folders[:count])) as (folder, name):
                    os.rmdir(name, dir_fd=folder)


def _allowed_base(path: Path, roots: Sequence[Path], private_folders: Sequence[Path]) -> Path:
    if not path.is_absolute() or ".." in path.parts:
        raise TransferError("wrong-file-path", f"The path {path} must be absolute and must not contain `..`.")
    try:
        base = path.resolve(strict=True)
    except OSError as error:
        raise from_os_error(error, str(path), "general-error") from error
    if not base.is_dir():
        raise TransferError("wrong-file-path", f"{path} is not a folder.")
    allowed = any(base.is_relative_to(root.resolve()) for root in roots)
    private = any(
        base.is_relative_to(folder.resolve()) or folder.resolve().is_relative_to(base) for folder in private_folders
    )
    if private or not allowed:
        names = ", ".join(map(str, roots)) or "none"
        reason = "overlaps the state directory of the agent" if private else "is not below an allowed folder"
        message = f"{path} {reason}. Folders allowed on this node (SHARDBOARD_BACKUP_ROOTS of its agent): {names}."
        raise TransferError("no-permission", message)
    return base


@contextmanager
def _translated(path: str, otherwise: ErrorCode) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise from_os_error(error, path, otherwise) from error


def _remove_parts(folder: int) -> None:
    for name in os.listdir(folder):
        if name.endswith(PART_SUFFIX):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)


def _write_all(descriptor: int, part: bytes) -> None:
    remaining = memoryview(part)
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]


def _sync_folder(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not supported by all network file systems
            raise


def _raise_unless_absent(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error
