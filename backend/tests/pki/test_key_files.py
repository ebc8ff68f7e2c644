"""Tests of writing key files: atomic, and readable only by their owner."""

import os
import stat
from pathlib import Path

import pytest

from shardboard.pki.key_files import remove_partial_files, write_private


def test_file_is_replaced_completely(tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    for content in (b"first", b"second"):
        write_private(file, content)
        assert file.read_bytes() == content
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_failed_write_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError

    file = tmp_path / "key.pem"
    write_private(file, b"first")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError):  # noqa: PT011 - it has no message
        write_private(file, b"second")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == {file: b"first"}


def test_partial_files_of_a_killed_process_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key.pem"
    write_private(file, b"first")
    (tmp_path / ".hidden").touch()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", lambda *_: None)
        write_private(file, b"second")
    assert len(list(tmp_path.iterdir())) == 3
    remove_partial_files(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".hidden", "key.pem"]
    remove_partial_files(tmp_path / "absent")
