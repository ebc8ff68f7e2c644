"""Runs a transfer: chooses the function of its kind."""

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

from shardboard.contract.file_streams import ReceiveFile, SendFile
from shardboard.contract.locations import Url
from shardboard.contract.transfers import (
    CheckFiles,
    CheckLocation,
    DeleteFiles,
    Inspect,
    ListFiles,
    ReadFile,
    Record,
    Restore,
    Snapshot,
    TransferProgress,
    WriteFile,
)
from shardboard.transfer import file_streams, files
from shardboard.transfer.copies import Copy
from shardboard.transfer.errors import TransferError
from shardboard.transfer.locations import open_store
from shardboard.transfer.recordings import Recording
from shardboard.transfer.specification import Specification
from shardboard.transfer.stores.store import Store


class Job:
    """One transfer. `stop` is called from another thread."""

    def __init__(self, specification: Specification, report: Callable[[TransferProgress], None]) -> None:
        self._specification = specification
        self._report = report
        self._running: Copy | Recording | None = None

    def run(self) -> dict[str, Any]:
        """Return the result. Raises TransferError."""
        if isinstance(self._specification.transfer, CheckLocation):
            is_url = isinstance(self._specification.transfer.location, Url)
            return files.check_location(lambda: open_store(self._specification), only_read=is_url)
        if isinstance(self._specification.transfer, Record):
            open_location = partial(open_store, self._specification)
            self._running = recording = Recording(self._specification, open_location, self._report)
            return recording.run(self._specification.transfer)
        with closing(open_store(self._specification)) as store:
            if isinstance(self._specification.transfer, SendFile | ReceiveFile):
                return file_streams.run(store, self._specification)
            return self._run_with(store)

    def stop(self) -> None:
        if self._running is not None:
            self._running.stop()

    def _run_with(self, store: Store) -> dict[str, Any]:
        self._running = copy = Copy(self._specification, store, self._report)
        match self._specification.transfer:
            case Snapshot() as transfer:
                return copy.snapshot(transfer)
            case Restore() as transfer:
                return copy.restore(transfer)
            case Inspect() as transfer:
                return copy.inspect(transfer)
            case CheckFiles() as transfer:
                return copy.check_files(transfer)
            case WriteFile() as transfer:
                return files.write_text(store, transfer)
            case ReadFile(location=Url()):  # only imports read URLs, so that their content is not returned
                raise TransferError("general-error", "A URL is a source of imports. Its content cannot be returned.")
            case ReadFile() as transfer:
                return {"text": files.read_text(store, transfer.path)}
            case ListFiles() as transfer:
                return files.list_files(store, transfer.folder, transfer.suffix, transfer.after)
            case DeleteFiles() as transfer:
                store.delete(transfer.paths)
                return {}
        raise ValueError(self._specification.transfer.kind)
