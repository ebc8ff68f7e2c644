"""Recordings: files with changes, from the mover to a store.

The mover keeps each file until it is stored, up to its limits. A store that fails is opened again and gets the file again, as
often as necessary.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from shardboard.contract.change_files import ChangeFile, change_file_path
from shardboard.contract.transfers import Record, RecordResult, TransferProgress
from shardboard.transfer.encryption import encrypted
from shardboard.transfer.errors import STOPPED, TransferError
from shardboard.transfer.movers import READ_BYTES, Mover
from shardboard.transfer.specification import Specification
from shardboard.transfer.stores.store import Store

MIN_RETRY_SECONDS, MAX_RETRY_SECONDS = 1.0, 30.0
FLUSH_SECONDS = 15
"""How long a stopped recording tries to store what it has received; shorter than the time after which its process ends."""


class Recording:
    """Runs a recording. `stop` is called from another thread."""

    def __init__(
        self,
        specification: Specification,
        open_location: Callable[[], Store],
        report: Callable[[TransferProgress], None],
    ) -> None:
        self._specification = specification
        self._open_location = open_location
        self._report = report
        self._store: Store | None = None
        self._mover: Mover | None = None
        self._progress = TransferProgress()
        self._stored_bytes = 0
        self._problem = ""
        self._stopped = threading.Event()
        self._stopped_at = 0.0

    def stop(self) -> None:
        if not self._stopped.is_set():
            self._stopped_at = time.monotonic()
            self._stopped.set()
            if self._mover is not None:
                self._mover.request("stop")
        elif self._mover is not None and time.monotonic() - self._stopped_at > FLUSH_SECONDS:
            self._mover.kill()

    def run(self, transfer: Record) -> dict[str, Any]:
        """Return the fields of RecordResult."""
        access = self._specification.shards[transfer.shard_uid]
        arguments = [
            "record",
            f"--socket={access.socket}",
            f"--user={access.user}",
            f"--segment-seconds={transfer.segment_seconds}",
        ]
        if transfer.replication_id is not None and transfer.offset is not None:
            arguments += [f"--replication-id={transfer.replication_id}", f"--offset={transfer.offset}"]
        mover = Mover(
            self._specification.mover,
            arguments,
            access.password,
            self._on_progress,
            reads_input=True,
            writes_output=True,
        )
        with mover:
            self._mover = mover
            if self._stopped.is_set():
                mover.request("stop")
            try:
                return self._run(mover, transfer)
            finally:
                self._mover = None
                self._close()

    def _run(self, mover: Mover, transfer: Record) -> dict[str, Any]:
        try:
            self._store_all(mover, transfer)
            return mover.finish()
        except TransferError:
            if not self._stopped.is_set():
                raise
            done = self._progress
            if not done.replication_id:
                raise TransferError("stopped", STOPPED) from None
            return RecordResult(
                replication_id=done.replication_id,
                offset=done.offset,
                recorded_until=done.recorded_until,
                reason="stopped",
                details=self._problem,
            ).model_dump()

    def _store_all(self, mover: Mover, transfer: Record) -> None:
        delay = MIN_RETRY_SECONDS
        while (file := _next(mover)) is not None:
            try:
                self._write(file, transfer)
            except TransferError as error:
                self._problem = str(error)
                self._close()
                file.skip()
                self._stopped.wait(delay) if not self._stopped.is_set() else time.sleep(MIN_RETRY_SECONDS)
                delay = min(2 * delay, MAX_RETRY_SECONDS)
                continue
            self._problem = ""
            self._stored_bytes += file.bytes
            delay = MIN_RETRY_SECONDS
            mover.request("stored")

    def _write(self, file: "_File", transfer: Record) -> None:
        if self._store is None:
            self._store = self._open_location()
        path = change_file_path(transfer.folder, file.name, is_encrypted=bool(transfer.recipients))
        self._store.write(path, encrypted(file.parts(), transfer.recipients))

    def _close(self) -> None:
        if self._store is not None:
            with contextlib.suppress(Exception):  # the connection is already broken
                self._store.close()
            self._store = None

    def _on_progress(self, line: Mapping[str, Any]) -> None:
        self._progress = TransferProgress(
            bytes=self._stored_bytes,
            replication_id=line.get("replication_id", ""),
            offset=line.get("offset", 0),
            recorded_until=line.get("recorded_until", 0),
            waiting_bytes=line.get("waiting_bytes", 0),
            problem=self._problem,
        )
        self._report(self._progress)


class _File:
    """A file that the mover sends: its name, and its bytes, which must be read before the next request."""

    def __init__(self, mover: Mover, header: Mapping[str, Any]) -> None:
        self._mover = mover
        self.bytes: int = header["bytes"]
        self._remaining = self.bytes
        self.name = ChangeFile("", *(header[field] for field in ("replication_id", "start", "end", "since", "until")))

    def parts(self) -> Iterator[bytes]:
        while self._remaining:
            part = self._mover.read(min(self._remaining, READ_BYTES))
            if not part:
                raise TransferError("general-error", "The mover ended before it had sent a complete file.")
            self._remaining -= len(part)
            yield part

    def skip(self) -> None:
        """Read what was not stored."""
        with contextlib.suppress(TransferError):  # the next request reports that the mover has ended
            for _ in self.parts():
                pass


def _next(mover: Mover) -> _File | None:
    """Request the next file. Return None if there will be no other."""
    mover.request("next")
    header = mover.read_line()
    return None if header is None else _File(mover, header)
