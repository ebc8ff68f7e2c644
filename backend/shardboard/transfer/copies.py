"""Snapshots, restores and inspections: bytes between a store and the mover."""

import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from shardboard.contract.change_files import ChangeFile, history_ends, parse_change_file
from shardboard.contract.transfers import CheckFiles, Inspect, Restore, RestoreFile, Snapshot, TransferProgress
from shardboard.transfer.encryption import decrypted, encrypted
from shardboard.transfer.errors import STOPPED, TransferError
from shardboard.transfer.files import check_beginning
from shardboard.transfer.movers import Mover
from shardboard.transfer.specification import IMPORTING, Specification
from shardboard.transfer.stores.store import Store
from shardboard.transfer.sums import sum_results

TARGETS = "targets.json"
REPORT_SECONDS = 0.5
"""Interval of reports about files that are read without a mover, whose reports have the same interval."""
ReportProgress = Callable[[TransferProgress], None]


class Copy:
    """Runs the movers of one transfer, one after another. `stop` is called from another thread."""

    def __init__(self, specification: Specification, store: Store, report: ReportProgress) -> None:
        self._specification = specification
        self._store = store
        self._report = report
        self._done = TransferProgress()
        """Of the files that are complete."""
        self._mover: Mover | None = None
        self._reported_at = 0.0
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True
        if self._mover is not None:
            self._mover.kill()

    def snapshot(self, transfer: Snapshot) -> dict[str, Any]:
        """Return the fields of SnapshotResult."""
        access = self._specification.shards[transfer.shard_uid]
        arguments = [
            "snapshot",
            f"--socket={access.socket}",
            f"--user={access.user}",
            f"--slots={','.join(f'{first}-{last}' for first, last in transfer.slots)}",
            f"--compression={transfer.compression}",
            f"--pace={transfer.pace}",
        ]
        if self._specification.pace_file is not None:
            arguments.append(f"--pace-file={self._specification.pace_file}")
        if transfer.max_bytes_per_second is not None:
            arguments.append(f"--max-bytes-per-second={transfer.max_bytes_per_second}")
        with self._run(arguments, access.password) as mover:
            output = _Output(mover, transfer.recipients, self._check_stopped)
            try:
                self._store.write(transfer.path, output.parts())
            except Exception as error:
                raise output.error or error from error
            return output.result

    def restore(self, transfer: Restore) -> dict[str, Any]:
        """Return the fields of RestoreResult, summed over the files."""
        shards = self._specification.shards
        targets = [
            {"socket": str(shards[target.shard_uid].socket), "slots": target.slots} for target in transfer.targets
        ]
        Path(TARGETS).write_text(json.dumps(targets))
        access = shards[transfer.targets[0].shard_uid]
        patterns = [f"--pattern={pattern}" for pattern in transfer.key_patterns]
        common = [f"--targets={TARGETS}", f"--user={access.user}"]
        if not any(file.changes for file in transfer.files):
            return self._read_all(transfer, ["restore", *common, *patterns], access.password)
        with self._import_mode(transfer, common, access.password):
            return self._restore_with_changes(transfer, [*common, *patterns], access.password)

    def _restore_with_changes(self, transfer: Restore, arguments: Sequence[str], password: str) -> dict[str, Any]:
        results = []
        for file in transfer.files:
            slots = ",".join(f"{first}-{last}" for first, last in file.changes_slots)
            all_arguments = [*arguments, f"--slots={slots}"] if slots else [*arguments]
            with self._run(["restore", *all_arguments, "--before-changes"], password) as mover:
                results.append(self._read_one(file, mover, transfer.identities))
            self._done = _plus(self._done, results[-1])
            if file.changes:
                all_arguments.append(f"--after={file.changes_after}")
                if file.changes_until:
                    all_arguments.append(f"--until={file.changes_until}")
                known = [each for each in map(parse_change_file, file.changes) if each is not None]
                all_arguments += [f"--end-of={identity}:{end}" for identity, end in history_ends(known).items()]
                with self._run(["replay", *all_arguments], password) as mover:
                    changes = self._replay(file, mover, transfer.identities)
                results[-1] = _with_changes(results[-1], changes)
                self._done = _plus(self._done, changes)
        return sum_results(results)

    def _replay(self, file: RestoreFile, mover: Mover, identities: Sequence[str]) -> dict[str, Any]:
        """Pass files of changes to the mover, which ends before the last one if later changes are left out."""
        count = 0
        for path in file.changes:
            stored = CountedParts(self._store.read(path), self._check_stopped)
            needs_more = all(mover.feed(part) for part in decrypted(iter(stored), path, identities))
            count += stored.bytes
            if not needs_more:
                break
        self._check_stopped()
        return {**_finish(mover, f"Changes of {file.path}"), "bytes": count}

    @contextlib.contextmanager
    def _import_mode(self, transfer: Restore, arguments: Sequence[str], password: str) -> Iterator[None]:
        """Let the mover use the import mode of the shards, in which no key expires, and end it afterwards. If this process is
        killed, the agent ends it for the shards in the file.
        """
        marker = Path(IMPORTING)
        marker.write_text(json.dumps([[target.shard_uid, target.engine_id] for target in transfer.targets]))
        try:
            yield
        finally:
            with Mover(
                self._specification.mover, ["end-import", *arguments], password, lambda _: None, reads_input=True
            ) as mover:
                mover.finish()
            marker.unlink()

    def inspect(self, transfer: Inspect) -> dict[str, Any]:
        """Return the fields of SnapshotResult, summed over the files."""
        return self._read_all(transfer, ["inspect"], "")

    def check_files(self, transfer: CheckFiles) -> dict[str, Any]:
        """Read the files, those with recorded changes with a mover."""
        for path in transfer.paths:
            changes = parse_change_file(path) if transfer.sha256 else None
            if changes is not None:
                stored_bytes = self._check_changes(changes, transfer.identities)
            else:
                stored_bytes = self._check_file(path, transfer)
            self._done = _plus(self._done, {"bytes": stored_bytes})
            self._report_sometimes({})
        return {}

    def _check_file(self, path: str, transfer: CheckFiles) -> int:
        """Read the beginning of a file, or all of it. Return how many bytes were read."""
        with contextlib.closing(self._store.read(path)) as content:
            stored = CountedParts(content, self._check_stopped)
            parts = iter(stored)
            rest = parts
            expected = transfer.sha256.get(path)
            if not transfer.only_checksums:
                decrypting = decrypted(parts, path, transfer.identities)
                check_beginning(decrypting, path)
                # Without a checksum, only decryption detects that the end of the file is missing.
                rest = parts if expected is not None else decrypting
            if transfer.sha256:
                for _ in rest:
                    self._report_sometimes({"bytes": stored.bytes})
                _check_sum(path, stored, expected)
        return stored.bytes

    def _check_changes(self, file: ChangeFile, identities: Sequence[str]) -> int:
        """Read a file with recorded changes, whose checksum is part of its format. Return how many bytes were read."""
        with contextlib.closing(self._store.read(file.path)) as content, self._run(["check-changes"], "") as mover:
            stored = CountedParts(content, self._check_stopped)
            for part in decrypted(iter(stored), file.path, identities):
                if not mover.feed(part):
                    break
            self._check_stopped()
            found = _finish(mover, file.path)
        if (found["replication_id"], found["start"], found["end"]) != (file.replication_id, file.start, file.end):
            raise TransferError("file-corrupted", f"{file.path} contains other changes than its name says.")
        return stored.bytes

    def _report_sometimes(self, more: Mapping[str, Any]) -> None:
        if (now := time.monotonic()) - self._reported_at >= REPORT_SECONDS:
            self._reported_at = now
            self._report(_plus(self._done, more))

    def _read_all(self, transfer: Restore | Inspect, arguments: list[str], password: str) -> dict[str, Any]:
        results = []
        for file in transfer.files:
            with self._run(arguments, password) as mover:
                results.append(self._read_one(file, mover, transfer.identities))
            self._done = _plus(self._done, results[-1])
        return sum_results(results)

    def _read_one(self, file: RestoreFile, mover: Mover, identities: Sequence[str]) -> dict[str, Any]:
        """Pass a file to the mover. A wrong checksum is only detected at the end, when its keys have been restored."""
        stored = CountedParts(self._store.read(file.path), self._check_stopped)
        for part in decrypted(iter(stored), file.path, identities):
            if not mover.feed(part):
                _finish(mover, file.path)
                raise TransferError("file-corrupted", f"{file.path} contains data after the end of its keys.")
        self._check_stopped()
        _check_sum(file.path, stored, file.sha256)
        return {**_finish(mover, file.path), "bytes": stored.bytes, "sha256": stored.sha256}

    @contextlib.contextmanager
    def _run(self, arguments: list[str], password: str) -> Iterator[Mover]:
        self._check_stopped()
        is_snapshot = arguments[0] == "snapshot"
        with Mover(
            self._specification.mover,
            arguments,
            password,
            self._on_progress,
            reads_input=not is_snapshot,
            writes_output=is_snapshot,
        ) as mover:
            self._mover = mover
            try:
                yield mover
            except TransferError:
                self._check_stopped()
                raise
            finally:
                self._mover = None

    def _on_progress(self, line: Mapping[str, Any]) -> None:
        self._report(_plus(self._done, line))

    def _check_stopped(self) -> None:
        if self._stopped:
            raise TransferError("stopped", STOPPED)


class CountedParts:
    """The content of a stored file, with its size and checksum."""

    def __init__(self, parts: Iterable[bytes], check_stopped: Callable[[], None]) -> None:
        self._parts = parts
        self._check_stopped = check_stopped
        self._sha256 = hashlib.sha256()
        self.bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        for part in self._parts:
            self._check_stopped()
            self._sha256.update(part)
            self.bytes += len(part)
            yield part

    @property
    def sha256(self) -> str:
        return self._sha256.hexdigest()


class _Output:
    """The output of a mover as the content of a file, which ends only if the mover succeeded."""

    def __init__(self, mover: Mover, recipients: Sequence[str], check_stopped: Callable[[], None]) -> None:
        self._mover = mover
        self._recipients = recipients
        self._check_stopped = check_stopped
        self.result: dict[str, Any] = {}
        self.error: TransferError | None = None
        """Why `parts` raised. Stores can wrap it."""

    def parts(self) -> Iterator[bytes]:
        stored = CountedParts(encrypted(self._content(), self._recipients), self._check_stopped)
        try:
            yield from stored
        except TransferError as error:
            self.error = error
            raise
        self.result |= {"bytes": stored.bytes, "sha256": stored.sha256}

    def _content(self) -> Iterator[bytes]:
        count = 0
        for part in self._mover.output():
            count += len(part)
            yield part
        self._check_stopped()
        self.result = self._mover.finish()
        if self.result.get("bytes") != count:
            message = f"{count} bytes of the snapshot were received, but the mover wrote {self.result.get('bytes')}."
            raise TransferError("general-error", message)


def _check_sum(path: str, stored: CountedParts, expected: str | None) -> None:
    """Raise TransferError if the checksum of a file that was read completely is another one than the manifest has."""
    if expected not in (None, stored.sha256):
        message = f"The content of {path} has changed: its SHA-256 checksum differs from that in the manifest."
        raise TransferError("file-corrupted", message)


def _with_changes(restored: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **restored,
        "replayed": changes.get("replayed", 0),
        "bytes": restored["bytes"] + changes["bytes"],
        "raw_bytes": restored.get("raw_bytes", 0) + changes.get("raw_bytes", 0),
    }


def _finish(mover: Mover, path: str) -> dict[str, Any]:
    try:
        return mover.finish()
    except TransferError as error:
        raise TransferError(error.code, f"{path}: {error}") from error


def _plus(done: TransferProgress, more: Mapping[str, Any]) -> TransferProgress:
    return TransferProgress(
        bytes=done.bytes + more.get("bytes", 0),
        raw_bytes=done.raw_bytes + more.get("raw_bytes", 0),
        keys=done.keys + more.get("keys", more.get("restored", 0)),
    )
