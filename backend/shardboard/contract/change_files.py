"""Names of files with recorded changes (`transfers.Record`). They describe the content, so that a restore can choose files by their
names.
"""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

_NAME = re.compile(r"([0-9a-f]{40})-(\d{1,16})-(\d{1,16})-(\d{1,16})-(\d{1,16})\.changes\.zst(?:\.age)?")


class ChangeFile(NamedTuple):
    """A file with the replication stream of a shard after offset `start`, up to and including `end`."""

    path: str
    replication_id: str
    start: int
    end: int
    since: int
    """Unix time in ms: when the recorder received the first change or, if there was none, started to wait."""
    until: int
    """Unix time in ms: changes that the recorder received before this time are in this file or in earlier ones."""


def change_file_path(folder: str, file: ChangeFile, *, is_encrypted: bool) -> str:
    """Return the path of a file; its field `path` is ignored."""
    name = f"{file.replication_id}-{file.start}-{file.end}-{file.since}-{file.until}.changes.zst"
    return f"{folder}/{name}{'.age' if is_encrypted else ''}"


def history_ends(files: Iterable[ChangeFile]) -> dict[str, int]:
    """Return the offsets at which the history of each replication id except the last one ended. A recorder of a primary that was
    replaced can have stored later changes, which the new primary does not have.
    """
    starts: dict[str, int] = {}
    for file in files:
        starts[file.replication_id] = min(file.start, starts.get(file.replication_id, file.start))
    ids = sorted(starts, key=lambda replication_id: starts[replication_id])
    return {before: starts[after] for before, after in pairwise(ids)}


def parse_change_file(path: str) -> ChangeFile | None:
    """Return what the name of a file says; None if it is not the name of such a file."""
    match = _NAME.fullmatch(path.rpartition("/")[2])
    if match is None:
        return None
    start, end, since, until = (int(match[n]) for n in range(2, 6))
    if start > end or since > until:
        return None
    return ChangeFile(path, match[1], start, end, since, until)
