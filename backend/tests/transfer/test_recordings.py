"""Recordings between a test double of the mover and a store, and restores with changes."""

import json
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from backend.tests.support import fake_mover
from backend.tests.support.real_shards import wait_until

from shardboard.contract.change_files import parse_change_file
from shardboard.contract.locations import MountPoint
from shardboard.contract.transfers import (
    Record,
    RecordResult,
    Restore,
    RestoreFile,
    RestoreResult,
    RestoreTarget,
    Transfer,
    TransferProgress,
)
from shardboard.kit.age_keys import generate_identity, recipient_of
from shardboard.transfer import recordings
from shardboard.transfer.encryption import decrypted
from shardboard.transfer.errors import TransferError
from shardboard.transfer.jobs import Job
from shardboard.transfer.specification import IMPORTING, ShardAccess, Specification
from shardboard.transfer.stores.folders import Folder

ENGINE_ID = "a" * 40
CONTENT = fake_mover.content(100)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the location. The working directory is another one."""
    for name in ("store", "work"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(recordings, "MIN_RETRY_SECONDS", 0.01)
    return tmp_path / "store"


class Run:
    """A transfer that runs in a thread."""

    def __init__(self, transfer: Transfer, root: Path, **behavior: Any) -> None:
        self.progress: list[TransferProgress] = []
        self.result: dict[str, Any] = {}
        self.error: TransferError | None = None
        specification = Specification(
            transfer=transfer,
            shards={3: ShardAccess(socket=root / "valkey.sock", user="shardboard", password="correct-horse")},
            mover=fake_mover.install(root / "bin", **behavior),
            backup_roots=[root],
        )
        self.job = Job(specification, self.progress.append)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.result = self.job.run()
        except TransferError as error:
            self.error = error

    def end(self) -> dict[str, Any]:
        self._thread.join()
        return self.result

    def stop(self) -> RecordResult:
        """Ask it to stop as the program does, until it has ended."""
        while self._thread.is_alive():
            self.job.stop()
            self._thread.join(0.05)
        return RecordResult.model_validate(self.result)


def record(folder: Path, **more: Any) -> Record:
    return Record(
        location=MountPoint(path=str(folder)),
        folder="db/changes",
        shard_uid=3,
        engine_id=ENGINE_ID,
        segment_seconds=30,
        **more,
    )


def stored(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def arguments_of_mover() -> str:
    return Path("mover-arguments.json").read_text()


def names(*numbers: int, ending: str = "") -> list[str]:
    return [f"{ENGINE_ID}-{100 * n}-{100 * (n + 1)}-{n}-{n + 1}.changes.zst{ending}" for n in numbers]


async def test_files_are_stored_under_names_that_describe_them(folder: Path, tmp_path: Path) -> None:
    run = Run(record(folder, replication_id=ENGINE_ID, offset=7), tmp_path)
    await wait_until(lambda: run.progress and run.progress[-1].offset == 200)
    assert stored(folder) == names(0, 1)
    assert (folder / "db/changes" / names(0)[0]).read_bytes() == CONTENT
    assert run.progress[0].waiting_bytes == 7
    assert run.progress[-1].bytes == 200
    result = run.stop()
    assert (result.offset, result.recorded_until, result.reason) == (200, 2, "stopped")
    arguments = json.loads(arguments_of_mover())
    assert {"--segment-seconds=30", f"--replication-id={ENGINE_ID}", "--offset=7"} < set(arguments)
    assert "correct-horse" not in " ".join(arguments)


async def test_files_are_encrypted(folder: Path, tmp_path: Path) -> None:
    private = generate_identity()
    run = Run(record(folder, recipients=[recipient_of(private)]), tmp_path, files=1)
    await wait_until(lambda: run.progress and run.progress[-1].offset == 100)
    run.stop()
    assert stored(folder) == names(0, ending=".age")
    file = folder / "db/changes" / names(0, ending=".age")[0]
    assert b"".join(decrypted(iter([file.read_bytes()]), file.name, [private])) == CONTENT
    assert parse_change_file(file.name) is not None


class FailingFolder:
    """Lets the folder fail this number of times, in the middle of a file."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, failures: int) -> None:
        self.failures = failures
        self.writes = 0
        write: Callable[[Folder, str, Iterable[bytes]], None] = Folder.write

        def failing_write(store: Folder, path: str, parts: Iterable[bytes]) -> None:
            self.writes += 1
            if self.writes <= self.failures:
                next(iter(parts))
                raise TransferError("upload-error", "The disk is full.")
            write(store, path, parts)

        monkeypatch.setattr(Folder, "write", failing_write)


async def test_a_file_that_cannot_be_stored_is_written_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FailingFolder(monkeypatch, failures=3)
    run = Run(record(folder), tmp_path)
    await wait_until(lambda: run.progress and run.progress[-1].offset == 200)
    assert stored(folder) == names(0, 1)
    assert run.stop().offset == 200


async def test_stop_ends_although_the_location_fails(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recordings, "FLUSH_SECONDS", 0.1)
    failing = FailingFolder(monkeypatch, failures=10**9)
    run = Run(record(folder), tmp_path)
    await wait_until(lambda: failing.writes > 1)
    result = run.stop()
    assert (result.reason, result.offset, result.details) == ("stopped", 0, "The disk is full.")
    assert stored(folder) == []


@pytest.mark.parametrize(
    ("behavior", "message"),
    [
        ({"status": -9, "end": False}, "ended unexpectedly by signal 9"),
        ({"error": {"code": "shard-unavailable", "message": "it left"}, "status": 1}, "it left"),
    ],
)
def test_a_mover_that_fails_is_an_error(folder: Path, tmp_path: Path, behavior: dict[str, Any], message: str) -> None:
    run = Run(record(folder), tmp_path, files=0, ends_alone=True, **behavior)
    run.end()
    assert run.error is not None
    assert message in str(run.error)


def test_changes_are_replayed_after_their_file(folder: Path, tmp_path: Path) -> None:
    for name in ("a.rdb", "b.rdb", *names(0, 1)):
        (folder / name).write_bytes(CONTENT)
    changed = RestoreFile(
        path="b.rdb", changes=names(0, 1), changes_after=55, changes_until=99, changes_slots=[(0, 5), (9, 9)]
    )
    transfer = Restore(
        location=MountPoint(path=str(folder)),
        files=[RestoreFile(path="a.rdb", changes_slots=[(6, 8)]), changed],
        targets=[RestoreTarget(shard_uid=3, engine_id=ENGINE_ID, slots=[(0, 9)])],
    )
    run = Run(transfer, tmp_path)
    result = RestoreResult.model_validate(run.end())
    assert run.error is None
    assert (result.restored, result.replayed, result.bytes) == (14, 5, 400)
    commands = [line.split() for line in Path("mover-commands.log").read_text().splitlines()]
    assert [command[0] for command in commands] == ["restore", "restore", "replay", "end-import"]
    assert {"--slots=6-8", "--before-changes"} < set(commands[0])
    assert {"--slots=0-5,9-9", "--after=55", "--until=99"} < set(commands[2])
    assert not Path(IMPORTING).exists()


def test_import_mode_ends_after_an_error(folder: Path, tmp_path: Path) -> None:
    (folder / "a.rdb").write_bytes(CONTENT)
    transfer = Restore(
        location=MountPoint(path=str(folder)),
        files=[RestoreFile(path="a.rdb", changes=["missing"])],
        targets=[RestoreTarget(shard_uid=3, engine_id=ENGINE_ID, slots=[(0, 9)])],
    )
    run = Run(transfer, tmp_path)
    run.end()
    assert run.error is not None
    assert run.error.code == "wrong-file-path"
    assert Path("mover-commands.log").read_text().splitlines()[-1].startswith("end-import")
    assert not Path(IMPORTING).exists()
