"""Restore windows: the moments to which a database can be restored, from its backups and recordings."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from shardboard.domain.data.change_chains import History, Position, is_covered


@dataclass(frozen=True)
class BaseFile:
    """The file of a replication pair in a backup."""

    position: Position
    ended: datetime
    """When it was complete, which is after the moment that it contains."""
    location: str = ""
    """Identifies the location, which must be that of the recording."""


@dataclass(frozen=True)
class Base:
    """A backup that has succeeded."""

    backup_uid: int
    files: Sequence[BaseFile]
    """Of all replication pairs."""


@dataclass(frozen=True)
class RecordedRange:
    """The changes of one replication pair that a recording contains."""

    uid: int
    history: History
    start: int
    """Offset after which it contains all changes."""
    end: int
    until: datetime
    """All changes before are stored."""
    location: str = ""


@dataclass(frozen=True)
class Window:
    """Moments that can be restored, from the same backup."""

    since: datetime
    until: datetime
    backup_uid: int


def recording_of(file: BaseFile, ranges: Sequence[RecordedRange]) -> RecordedRange | None:
    """Return the recording that continues a file and reaches furthest; None if there is none."""
    covering = [
        each
        for each in ranges
        if each.location == file.location and is_covered(each.history, each.start, each.end, file.position)
    ]
    return max(covering, key=lambda each: (each.until, each.uid), default=None)


def windows(bases: Sequence[Base], ranges: Sequence[RecordedRange]) -> list[Window]:
    """Return the windows of a database, oldest first. They do not overlap. If two touch, no moment between them is missing."""
    found: list[Window] = []
    for window in sorted(filter(None, (_window(each, ranges) for each in bases)), key=lambda each: each.since):
        if found and window.until < found[-1].until:
            continue
        if found and window.since <= found[-1].until:
            found[-1] = Window(found[-1].since, window.since, found[-1].backup_uid)
        found.append(window)
    return found


def first_needed(recording: RecordedRange, bases: Sequence[Base]) -> int | None:
    """Return the offset after which backups need the changes of a recording; None if no backup needs any."""
    offsets = [
        file.position.offset for base in bases for file in base.files if recording_of(file, [recording]) is not None
    ]
    return min(offsets, default=None)


def _window(base: Base, ranges: Sequence[RecordedRange]) -> Window | None:
    recordings = [recording_of(each, ranges) for each in base.files]
    until = min((each.until for each in recordings if each is not None), default=None)
    if until is None or None in recordings:
        return None
    since = max(each.ended for each in base.files)
    return Window(since, until, base.backup_uid) if since < until else None


def containing(found: Sequence[Window], moment: datetime) -> Window | None:
    """Return the window with a moment: of two that touch there, the later one, from which less must be replayed."""
    return next((each for each in reversed(found) if each.since <= moment <= each.until), None)


def nearest(found: Sequence[Window], moment: datetime) -> list[datetime]:
    """Return the nearest moments before and after one that cannot be restored."""
    before = max((each.until for each in found if each.until < moment), default=None)
    after = min((each.since for each in found if each.since > moment), default=None)
    return [each for each in (before, after) if each is not None]
