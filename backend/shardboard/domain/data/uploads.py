"""Files that users upload for imports: how long they are kept."""

from datetime import datetime, timedelta
from enum import StrEnum


class UploadStatus(StrEnum):
    WAITING = "waiting"
    """Its content was not sent yet."""
    RECEIVING = "receiving"
    READY = "ready"
    FAILED = "failed"
    """Its content can be sent again."""
    DELETING = "deleting"


FOLDER = ".shardboard-uploads"
"""In the location."""
REPORT_SECONDS = 10.0
"""How often the console records that an upload makes progress."""
SILENCE = timedelta(seconds=60)
"""An upload that was not recorded for longer belongs to a console that was killed."""
UNUSED = timedelta(hours=1)
"""How long an upload without complete content is kept."""
LIFETIME = timedelta(hours=24)
"""How long a complete upload is kept after the last use."""
_STARTS = (b"REDIS", b"VALKEY", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"age-en")
"""First bytes of RDB files, of gzip, of zstd and of age."""
START_BYTES = 6


def can_be_rdb(start: bytes) -> bool:
    """Return whether a file that starts with START_BYTES bytes can be an RDB file, possibly compressed or encrypted."""
    return start.startswith(_STARTS)


def next_status(status: str, active_at: datetime, now: datetime, *, is_imported: bool) -> str:
    """Return the status of an upload that no import is using. `is_imported`: an import of it has succeeded."""
    age = now - active_at
    if status == UploadStatus.RECEIVING:
        return UploadStatus.FAILED if age > SILENCE else status
    if status in (UploadStatus.WAITING, UploadStatus.FAILED):
        return UploadStatus.DELETING if age > UNUSED else status
    if status == UploadStatus.READY:
        return UploadStatus.DELETING if is_imported or age > LIFETIME else status
    return status
