"""Files with recorded changes: which of them continue the file of a backup without a gap, in which order."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

History = Sequence[tuple[str, int]]
"""Replication ids of a recording, oldest first, each with an offset that is not after the first change with this id."""


class ChangeFile(Protocol):
    """As described by its name (`contract/change_files.py`): the changes after offset `start`, up to `end`; times in ms."""

    @property
    def path(self) -> str: ...
    @property
    def replication_id(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def until(self) -> int: ...


@dataclass(frozen=True)
class Position:
    """A moment of a replication pair."""

    replication_id: str
    offset: int


@dataclass(frozen=True)
class Chain:
    """Result of `chain`."""

    paths: Sequence[str]
    end: int
    """Offset up to which the files contain all changes."""
    until: int
    """Unix time in ms until which the files contain all changes; 0 if there is none."""


def is_covered(history: History, start: int, end: int, position: Position) -> bool:
    """Return whether a recording from `start` to `end` contains all changes after a position."""
    if not start <= position.offset <= end:
        return False
    for index, (identity, first) in enumerate(history):
        if identity == position.replication_id:
            following = history[index + 1][1] if index + 1 < len(history) else end
            return first <= position.offset <= following
    return False


def chain(files: Sequence[ChangeFile], history: History, after: Position, until: int) -> Chain:
    """Return the files that contain the changes after a position up to and including a time (Unix, ms), in order. They end earlier
    if one is missing.

    Two processes may have recorded the same changes for a while, so files can overlap. Each file of the result starts where the
    previous one ends. Of the possible continuations, the one with most changes is chosen.
    """
    by_start: dict[int, list[ChangeFile]] = defaultdict(list)
    for file in _without_lost_changes(files, history):
        by_start[file.start].append(file)
    best: dict[int, _Continuation] = {}
    for start in sorted(by_start, reverse=True):
        best[start] = max((_continuation(each, best) for each in by_start[start]), key=lambda each: each.rank)
    firsts = [start for start in best if start <= after.offset and any(_contains(f, after) for f in by_start[start])]
    paths: list[str] = []
    end, covered = after.offset, 0
    position = max(firsts, key=lambda start: (best[start].rank, start), default=None)
    while position is not None and (following := best.get(position)) is not None:
        chosen = following.file
        paths.append(chosen.path)
        end, covered = max(end, chosen.end), max(covered, chosen.until)
        position = chosen.end if chosen.end > position and covered <= until else None
    return Chain(paths, end, covered)


@dataclass(frozen=True)
class _Continuation:
    """The best way to continue at an offset."""

    file: ChangeFile
    rank: tuple[int, int]
    """Offset and time up to which the files that follow contain all changes."""


def _continuation(file: ChangeFile, best: Mapping[int, _Continuation]) -> _Continuation:
    own = (file.end, file.until)
    following = best.get(file.end) if file.end > file.start else None
    return _Continuation(file, max(own, following.rank) if following is not None else own)


def _contains(file: ChangeFile, after: Position) -> bool:
    return file.start <= after.offset <= file.end


def _without_lost_changes(files: Sequence[ChangeFile], history: History) -> list[ChangeFile]:
    """Leave out files of an old primary that was recorded after another copy had been promoted."""
    order = {identity: number for number, (identity, _) in enumerate(history)}
    known = [file for file in files if file.replication_id in order]
    first: dict[int, int] = {}
    for file in known:
        number = order[file.replication_id]
        first[number] = min(file.start, first.get(number, file.start))
    # For each id, the offset at which the history continued with a later id.
    ends: dict[int, float] = {}
    end = math.inf
    for number in sorted(first, reverse=True):
        ends[number] = end
        end = min(end, first[number])
    return [file for file in known if file.end <= ends[order[file.replication_id]]]
