"""Locations that are folders."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from shardboard.contract.locations import MountPoint
from shardboard.transfer.errors import TransferError
from shardboard.transfer.stores.folders import Folder


@pytest.fixture
def base(tmp_path: Path) -> Path:
    base = tmp_path / "roots" / "backups"
    base.mkdir(parents=True)
    return base


def open_folder(path: Path, *roots: Path, private: tuple[Path, ...] = ()) -> Folder:
    return Folder(MountPoint(path=str(path)), roots or (path,), private)


def read(folder: Folder, path: str) -> bytes:
    return b"".join(folder.read(path))


def test_files_are_written_read_listed_and_deleted(base: Path) -> None:
    folder = open_folder(base)
    folder.write("db/1/a.rdb", iter([b"one ", b"two"]))
    folder.write("db/1/b.rdb", iter([]))
    folder.write("db/1/a.rdb", iter([b"three"]))
    assert read(folder, "db/1/a.rdb") == b"three"
    assert [(file.path, file.bytes) for file in folder.list("db")] == [("db/1/a.rdb", 5), ("db/1/b.rdb", 0)]
    assert list(folder.list("other")) == []
    folder.delete(["db/1/a.rdb", "db/1/absent"])
    assert [file.path for file in folder.list("")] == ["db/1/b.rdb"]
    folder.delete(["db/1/b.rdb"])
    assert list(base.iterdir()) == []


def test_incomplete_file_is_not_visible(base: Path) -> None:
    def parts() -> Iterator[bytes]:
        yield b"one"
        assert [path.suffix for path in base.iterdir()] == [".part"]
        assert list(folder.list("")) == []
        raise TransferError("stopped", "enough")

    folder = open_folder(base)
    with pytest.raises(TransferError, match="enough"):
        folder.write("a.rdb", parts())
    assert list(base.iterdir()) == []


def test_left_over_of_a_killed_process_is_deleted_with_the_last_file(base: Path) -> None:
    folder = open_folder(base)
    folder.write("db/1/manifest.json", iter([b"{}"]))
    (base / "db/1/.a.rdb.123.part").write_bytes(b"half")
    folder.delete(["db/1/manifest.json"])
    assert list(base.iterdir()) == []


@pytest.mark.parametrize("path", ["../a", "a/../../b", "a//b", "./a", "a/", "/etc/passwd", "a\\b"])
def test_paths_out_of_the_location_are_refused(base: Path, path: str) -> None:
    folder = open_folder(base)
    for refused in (
        lambda: folder.write(path, iter([b"x"])),
        lambda: read(folder, path),
        lambda: folder.delete([path]),
    ):
        with pytest.raises(TransferError) as caught:
            refused()
        assert caught.value.code == "wrong-file-path"


def test_links_out_of_the_location_are_refused(base: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (base / "link").symlink_to(secret)
    (base / "folder").symlink_to(tmp_path)
    folder = open_folder(base)
    for path in ("link", "folder/secret"):
        with pytest.raises(TransferError, match="is a link that points outside the location"):
            read(folder, path)
    with pytest.raises(TransferError, match="is a link that points outside the location"):
        folder.write("folder/new/file", iter([b"x"]))
    assert not (tmp_path / "new").exists()
    assert list(folder.list("")) == []


def test_locations_are_below_an_allowed_folder(base: Path, tmp_path: Path) -> None:
    link = base / "link"
    link.symlink_to(tmp_path)
    for path in (tmp_path, link):
        with pytest.raises(TransferError, match=r"is not below an allowed folder.*SHARDBOARD_BACKUP_ROOTS") as caught:
            open_folder(path, base)
        assert caught.value.code == "no-permission"
    root_link = tmp_path / "root"
    root_link.symlink_to(base.parent)
    open_folder(base, root_link)


def test_state_of_the_agent_is_no_location(base: Path, tmp_path: Path) -> None:
    state = base / "agent"
    (state / "shards").mkdir(parents=True)
    for path in (state, state / "shards", base, tmp_path):
        with pytest.raises(TransferError, match="overlaps the state directory of the agent"):
            open_folder(path, tmp_path, private=(state,))


@pytest.mark.parametrize("path", ["relative", "/mnt/../etc", "/does/not/exist"])
def test_invalid_locations_are_refused(path: str) -> None:
    with pytest.raises(TransferError) as caught:
        Folder(MountPoint(path=path), [Path("/")])
    assert caught.value.code == "wrong-file-path"


def test_location_must_be_a_folder(base: Path) -> None:
    (base / "file").touch()
    with pytest.raises(TransferError, match="is not a folder"):
        open_folder(base / "file", base)


@pytest.mark.parametrize(
    ("number", "code", "message"),
    [
        (errno.ENOSPC, "upload-error", "disk or quota is full"),
        (errno.EDQUOT, "upload-error", "disk or quota is full"),
        (errno.EACCES, "no-permission", "Permission denied"),
        (errno.EROFS, "no-permission", "Read-only file system"),
        (errno.EIO, "upload-error", "Input/output error"),
    ],
)
def test_errors_of_the_file_system_are_translated(
    base: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str, message: str
) -> None:
    def fail(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    folder = open_folder(base)
    monkeypatch.setattr("shardboard.transfer.stores.folders._write_all", fail)
    with pytest.raises(TransferError, match=message) as caught:
        folder.write("a.rdb", iter([b"x"]))
    assert caught.value.code == code
    assert list(base.iterdir()) == []


def test_folders_that_become_links_are_refused(base: Path, tmp_path: Path) -> None:
    folder = open_folder(base)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.rdb").write_bytes(b"secret")
    base.rename(tmp_path / "moved")
    base.symlink_to(outside)
    for refused in (
        lambda: folder.write("a.rdb", iter([b"x"])),
        lambda: read(folder, "b.rdb"),
        lambda: list(folder.list("")),
        lambda: folder.delete(["b.rdb"]),
    ):
        with pytest.raises(TransferError, match="is a link that points outside the location"):
            refused()
    assert [path.name for path in outside.iterdir()] == ["b.rdb"]


def test_a_folder_that_becomes_a_link_during_a_write_is_not_followed(base: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()

    def parts() -> Iterator[bytes]:
        yield b"one"
        (base / "db").rename(base / "moved")
        (base / "db").symlink_to(outside)
        yield b"two"

    open_folder(base).write("db/a.rdb", parts())
    assert list(outside.iterdir()) == []
    assert (base / "moved/a.rdb").read_bytes() == b"onetwo"


def test_links_within_the_location_are_followed(base: Path) -> None:
    (base / "dump-1.rdb").write_bytes(b"data")
    (base / "latest.rdb").symlink_to("dump-1.rdb")
    assert read(open_folder(base), "latest.rdb") == b"data"


def test_only_files_are_read(base: Path) -> None:
    os.mkfifo(base / "pipe")
    (base / "folder").mkdir()
    for path in ("pipe", "folder"):
        with pytest.raises(TransferError, match=r"is not a file|Is a directory"):
            read(open_folder(base), path)
