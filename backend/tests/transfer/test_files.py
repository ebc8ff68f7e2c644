"""Transfers that work on files of a location."""

import hashlib
from pathlib import Path

import pytest

from shardboard.contract.locations import MountPoint
from shardboard.contract.transfers import (
    MAX_FILE_CHARACTERS,
    CheckFiles,
    CheckLocation,
    DeleteFiles,
    ListFiles,
    ReadFile,
    TransferProgress,
    WriteFile,
)
from shardboard.transfer import files
from shardboard.transfer.errors import TransferError
from shardboard.transfer.jobs import Job
from shardboard.transfer.specification import Specification
from shardboard.transfer.stores.folders import Folder
from shardboard.transfer.stores.store import PART_BYTES


@pytest.fixture
def location(tmp_path: Path) -> MountPoint:
    return MountPoint(path=str(tmp_path))


def run(transfer: WriteFile | ReadFile | ListFiles | DeleteFiles | CheckFiles | CheckLocation) -> dict[str, object]:
    return Job(Specification(transfer=transfer, backup_roots=[Path(transfer.location.path)]), lambda _: None).run()


def test_text_files_are_written_read_listed_and_deleted(location: MountPoint, tmp_path: Path) -> None:
    written = run(WriteFile(location=location, path="db/b.json", text='{"ü": 1}'))
    assert written == {"sha256": hashlib.sha256((tmp_path / "db/b.json").read_bytes()).hexdigest()}
    run(WriteFile(location=location, path="db/a.json", text=""))
    assert run(ReadFile(location=location, path="db/b.json")) == {"text": '{"ü": 1}'}
    listed = run(ListFiles(location=location, folder="db"))
    assert [(file["path"], file["bytes"]) for file in listed["files"]] == [("db/a.json", 0), ("db/b.json", 9)]  # type: ignore[attr-defined]
    assert listed["truncated"] is False
    assert run(DeleteFiles(location=location, paths=["db/a.json", "db/b.json", "db/c.json"])) == {}
    assert list(tmp_path.iterdir()) == []


def test_long_lists_are_truncated(location: MountPoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_FILES", 2)
    for name in "abc":
        (tmp_path / name).touch()
    listed = run(ListFiles(location=location))
    assert (paths(listed), listed["truncated"]) == (["a", "b"], True)
    following = run(ListFiles(location=location, after="b"))
    assert (paths(following), following["truncated"]) == (["c"], False)


def test_lists_can_be_limited_to_names(location: MountPoint, tmp_path: Path) -> None:
    for name in ("manifest.json", "a.rdb.zst"):
        (tmp_path / name).touch()
    assert paths(run(ListFiles(location=location, suffix="manifest.json"))) == ["manifest.json"]


def paths(listed: dict[str, object]) -> list[str]:
    return [file["path"] for file in listed["files"]]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("content", "message"), [(b"\xff\xfe", "is not a text file"), (b"x" * (MAX_FILE_CHARACTERS + 1), "is longer than")]
)
def test_unusable_text_is_refused(location: MountPoint, tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(TransferError, match=message) as caught:
        run(ReadFile(location=location, path="a.json"))
    assert caught.value.code == "file-corrupted"


@pytest.mark.parametrize("content", [b"REDIS0011", b"VALKEY080", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd\x04"])
def test_files_are_checked_before_a_restore(location: MountPoint, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "good").write_bytes(content)
    (tmp_path / "bad").write_bytes(b"<html>")
    assert run(CheckFiles(location=location, paths=["good"])) == {}
    for name, code in (("bad", "file-corrupted"), ("absent", "wrong-file-path")):
        with pytest.raises(TransferError) as caught:
            run(CheckFiles(location=location, paths=["good", name]))
        assert caught.value.code == code


def test_files_with_a_checksum_are_read_completely(location: MountPoint, tmp_path: Path) -> None:
    content = bytearray(b"VALKEY080" + bytes(2 * PART_BYTES))
    (tmp_path / "a").write_bytes(content)
    checked = CheckFiles(location=location, paths=["a"], sha256={"a": hashlib.sha256(content).hexdigest()})
    reported: list[TransferProgress] = []
    specification = Specification(transfer=checked, backup_roots=[tmp_path])
    assert Job(specification, reported.append).run() == {}
    assert reported[0].bytes > 0
    content[-1] ^= 1
    (tmp_path / "a").write_bytes(content)
    assert run(CheckFiles(location=location, paths=["a"])) == {}
    with pytest.raises(TransferError, match="The content of a has changed") as caught:
        run(checked)
    assert caught.value.code == "file-corrupted"


def test_a_manifest_is_only_written_next_to_its_files(
    location: MountPoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "VISIBLE_SECONDS", 0.0)
    (tmp_path / "db").mkdir()
    (tmp_path / "db/a").write_bytes(b"123")
    for expected in ({"db/b": 3}, {"db/a": 2}):
        with pytest.raises(TransferError, match="Check that all nodes mount the same folder"):
            run(WriteFile(location=location, path="db/manifest.json", text="{}", expected=expected))
    assert [path.name for path in (tmp_path / "db").iterdir()] == ["a"]
    (tmp_path / "db/.b.17.part").write_bytes(b"12")
    run(WriteFile(location=location, path="db/manifest.json", text="{}", expected={"db/a": 3}))
    names = sorted(path.name for path in (tmp_path / "db").iterdir())
    assert names == ["a", "manifest.json"], "what a killed process left is removed"


def test_check_ends_with_the_first_failure(location: MountPoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Folder, "list", lambda *_: iter([]))
    checks = run(CheckLocation(location=location))["checks"]
    assert [check["ok"] for check in checks] == [True, True, True, False]  # type: ignore[attr-defined]
    assert "does not contain the file" in checks[-1]["error"]  # type: ignore[index]


def test_check_reports_an_unusable_location(tmp_path: Path) -> None:
    transfer = CheckLocation(location=MountPoint(path=str(tmp_path)))
    (check,) = Job(Specification(transfer=transfer), lambda _: None).run()["checks"]
    assert (check["name"], check["ok"], check["error_code"]) == ("connect", False, "no-permission")
    assert "SHARDBOARD_BACKUP_ROOTS" in check["error"]
