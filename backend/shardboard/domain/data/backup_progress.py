"""Progress of the files of a backup."""

from typing import Protocol

from shardboard.domain.data.statuses import TransferStatus

MOST = 0.99
"""Of a file that is being written: its expected size is an estimate."""


class WrittenFile(Protocol):
    @property
    def status(self) -> str: ...
    @property
    def raw_bytes(self) -> int: ...


def share_written(file: WrittenFile, expected_bytes: int) -> float:
    """Return which share of a file is written, from 0 to 1; 0 if its expected size is unknown (0)."""
    if file.status == TransferStatus.SUCCEEDED:
        return 1.0
    if file.status != TransferStatus.RUNNING or not expected_bytes:
        return 0.0
    return min(MOST, file.raw_bytes / expected_bytes)
