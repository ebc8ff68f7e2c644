"""Tar archives of known files, whose size is known before their content is read."""

import tarfile
from collections.abc import Iterable

END = bytes(2 * tarfile.BLOCKSIZE)


def header(name: str, size: int, modified: float) -> bytes:
    """Return what precedes the content of a file."""
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = size, int(modified), 0o640
    return info.tobuf(tarfile.GNU_FORMAT)


def padding(size: int) -> bytes:
    """Return what follows the content of a file."""
    return bytes(-size % tarfile.BLOCKSIZE)


def archive_size(files: Iterable[tuple[str, int]]) -> int:
    """Return the size of an archive with these files, given by name and size."""
    sizes = (len(header(name, size, 0)) + size + len(padding(size)) for name, size in files)
    return sum(sizes) + len(END)
