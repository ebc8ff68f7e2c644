"""The archive of a support bundle: text files in one directory."""

import io
import tarfile
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import IO


class SupportBundle:
    """A gzip-compressed tar file that is written file by file, so that its content need not fit in memory."""

    def __init__(self, to: IO[bytes], name: str, made_at: datetime) -> None:
        """Create an archive; `name` is the name of its directory."""
        self._archive = tarfile.open(fileobj=to, mode="w:gz", compresslevel=6)  # noqa: SIM115 - closed by `close`
        self._name = name
        self._made_at = made_at.timestamp()

    def add(self, path: str, text: str) -> None:
        """Add a file below the directory of the archive."""
        data = text.encode(errors="replace")
        entry = tarfile.TarInfo(f"{self._name}/{path}")
        entry.size, entry.mtime, entry.mode = len(data), int(self._made_at), 0o600
        self._archive.addfile(entry, io.BytesIO(data))

    def close(self) -> None:
        self._archive.close()


def csv(first: int, step: int, names: Sequence[str], series: Iterable[tuple[str, Sequence[Sequence[float]]]]) -> str:
    """Return one line per object and interval: its start in epoch seconds, the uid and the metrics; unknown values are empty."""
    lines = [",".join(("time", "uid", *names))]
    for uid, columns in series:
        for index, values in enumerate(zip(*columns, strict=True)):
            if any(value == value for value in values):
                cells = ("" if value != value else f"{value:.6g}" for value in values)
                lines.append(",".join((str(first + index * step), uid, *cells)))
    return "\n".join(lines) + "\n"
