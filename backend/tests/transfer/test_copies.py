"""Snapshots and restores between a folder and a test double of the mover."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from backend.tests.support import fake_mover

from shardboard.contract.locations import MountPoint
from shardboard.contract.transfers import (
    Inspect,
    Restore,
    RestoreFile,
    RestoreResult,
    RestoreTarget,
    Snapshot,
    SnapshotResult,
    Transfer,
    TransferProgress,
)
from shardboard.transfer.errors import TransferError
from shardboard.transfer.jobs import Job
from shardboard.transfer.specification import ShardAccess, Specification

ENGINE_ID = "a" * 40
SIZE = 3_000_000
CONTENT = fake_mover.content(SIZE)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
Run = Callable[..., dict[str, Any]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir()
    return folder


@pytest.fixture
def run(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a transfer with a mover that behaves in a certain way."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)

    def run(transfer: Transfer, report: Callable[[TransferProgress], None] = lambda _: None, **behavior: Any) -> Any:
        specification = Specification(
            transfer=transfer,
            shards={3: ShardAccess(socket=tmp_path / "valkey.sock", user="shardboard", password="correct-horse")},
            mover=fake_mover.install(tmp_path / "bin", **behavior),
            backup_roots=[tmp_path],
            pace_file=tmp_path / "snapshot-pace",
        )
        return Job(specification, report).run()

    return run


def snapshot(folder: Path, **more: Any) -> Snapshot:
    fields = {"path": "db/1/0-5.rdb.zst", "shard_uid": 3, "engine_id": ENGINE_ID, "slots": [(0, 5), (9, 9)]}
    return Snapshot(location=MountPoint(path=str(folder)), **{**fields, **more})


def restore(folder: Path, *files: RestoreFile) -> Restore:
    targets = [RestoreTarget(shard_uid=3, engine_id=ENGINE_ID, slots=[(0, 5)])]
    return Restore(location=MountPoint(path=str(folder)), files=list(files), targets=targets, key_patterns=["user:*"])


def stored_files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_snapshot_is_stored_with_its_checksum(run: Run, folder: Path, tmp_path: Path) -> None:
    progress: list[TransferProgress] = []
    result = SnapshotResult.model_validate(run(snapshot(folder, max_bytes_per_second=5), progress.append))
    assert (folder / "db/1/0-5.rdb.zst").read_bytes() == CONTENT
    assert (result.sha256, result.bytes, result.keys) == (SHA256, SIZE, 7)
    assert progress == [TransferProgress(bytes=SIZE, raw_bytes=2 * SIZE, keys=7)]
    command, *options = json.loads(Path("mover-arguments.json").read_text())
    assert command == "snapshot"
    assert {"--user=shardboard", "--slots=0-5,9-9", "--compression=zstd"} < set(options)
    assert {"--pace=gentle", f"--pace-file={tmp_path / 'snapshot-pace'}", "--max-bytes-per-second=5"} < set(options)
    assert "correct-horse" not in " ".join(options)


@pytest.mark.parametrize(
    ("behavior", "code", "message"),
    [
        ({"status": 1}, "general-error", "ended unexpectedly with status 1"),
        ({"end": False}, "general-error", "ended unexpectedly with status 0"),
        ({"end": False, "status": -9, "stderr": "thread panicked"}, "general-error", "signal 9: thread panicked"),
        ({"error": {"code": "shard-unavailable", "message": "it left"}, "status": 1}, "shard-unavailable", "it left"),
        ({"error": {"code": "nonsense"}, "status": 1}, "general-error", "without a message"),
    ],
)
def test_nothing_is_visible_if_the_mover_fails(
    run: Run, folder: Path, behavior: dict[str, Any], code: str, message: str
) -> None:
    with pytest.raises(TransferError, match=message) as caught:
        run(snapshot(folder), **behavior)
    assert caught.value.code == code
    assert stored_files(folder) == []


def test_missing_mover_is_reported(run: Run, folder: Path, tmp_path: Path) -> None:
    program = Path(fake_mover.install(tmp_path / "other"))
    specification = Specification(
        transfer=Inspect(location=MountPoint(path=str(folder)), files=[RestoreFile(path="a.rdb")]),
        mover=str(program.with_name("missing")),
        backup_roots=[tmp_path],
    )
    with pytest.raises(TransferError, match=r"Starting .*missing failed: No such file"):
        Job(specification, lambda _: None).run()


def test_restore_reads_files_one_after_another(run: Run, folder: Path) -> None:
    for name in ("a.rdb", "b.rdb"):
        (folder / name).write_bytes(CONTENT)
    files = [RestoreFile(path="a.rdb", sha256=SHA256), RestoreFile(path="b.rdb")]
    progress: list[TransferProgress] = []
    result = RestoreResult.model_validate(run(restore(folder, *files), progress.append))
    assert (result.restored, result.expired, result.skipped, result.bytes) == (14, 2, 4, 2 * SIZE)
    assert [slot.model_dump() for slot in result.slots] == [{"slot": 5, "keys": 14, "digest": "fffffffffffffffe"}]
    assert [step.bytes for step in progress] == [SIZE, 2 * SIZE]
    arguments = json.loads(Path("mover-arguments.json").read_text())
    assert arguments[:4] == ["restore", "--targets=targets.json", "--user=shardboard", "--pattern=user:*"]
    (target,) = json.loads(Path("targets.json").read_text())
    assert (target["socket"].endswith("/valkey.sock"), target["slots"]) == (True, [[0, 5]])


def test_inspection_sums_its_files(run: Run, folder: Path) -> None:
    for name in ("a.rdb", "b.rdb"):
        (folder / name).write_bytes(CONTENT)
    transfer = Inspect(
        location=MountPoint(path=str(folder)), files=[RestoreFile(path="a.rdb"), RestoreFile(path="b.rdb")]
    )
    result = SnapshotResult.model_validate(run(transfer))
    assert (result.keys, result.rdb_version, result.types, result.functions) == (14, 80, {"string": 14}, ["lib"])
    assert result.analysis == {"largest": [{"key": "a", "bytes": 9}] * 2}


def test_changed_file_is_reported(run: Run, folder: Path) -> None:
    (folder / "a.rdb").write_bytes(CONTENT)
    with pytest.raises(TransferError, match=r"a\.rdb has changed.*SHA-256") as caught:
        run(restore(folder, RestoreFile(path="a.rdb", sha256="0" * 64)))
    assert caught.value.code == "file-corrupted"


@pytest.mark.parametrize(
    ("behavior", "code", "message"),
    [
        ({"reads": False}, "file-corrupted", r"a\.rdb contains data after the end of its keys"),
        (
            {"reads": False, "error": {"code": "out-of-memory", "message": "full"}, "status": 1},
            "out-of-memory",
            r"a\.rdb: full",
        ),
        ({"error": {"code": "file-corrupted", "message": "CRC"}, "status": 1}, "file-corrupted", r"a\.rdb: CRC"),
    ],
)
def test_failed_restore_names_the_file(
    run: Run, folder: Path, behavior: dict[str, Any], code: str, message: str
) -> None:
    (folder / "a.rdb").write_bytes(CONTENT)
    with pytest.raises(TransferError, match=message) as caught:
        run(restore(folder, RestoreFile(path="a.rdb")), **behavior)
    assert caught.value.code == code


def test_missing_file_is_reported(run: Run, folder: Path) -> None:
    with pytest.raises(TransferError, match=r"No such file or directory: a\.rdb") as caught:
        run(restore(folder, RestoreFile(path="a.rdb")))
    assert caught.value.code == "wrong-file-path"
