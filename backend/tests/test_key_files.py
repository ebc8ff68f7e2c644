"""Files with keys are whole or as before, and for their owner alone."""

import os
import stat
from pathlib import Path

import pytest

from shardboard.key_files import remove_parts, write_private


def test_it_is_replaced_whole(tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    for content in (b"first", b"second"):
        write_private(file, content)
        assert file.read_bytes() == content
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_one_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError

    file = tmp_path / "key.pem"
    write_private(file, b"first")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError):  # noqa: PT011 - it has no text
        write_private(file, b"second")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == {file: b"first"}


def test_what_a_killed_process_was_writing_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key.pem"
    write_private(file, b"first")
    (tmp_path / ".hidden").touch()
    with monkeypatch.context() as killed:
        killed.setattr(Path, "replace", lambda *_: None)
        write_private(file, b"second")
    assert len(list(tmp_path.iterdir())) == 3
    remove_parts(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".hidden", "key.pem"]
    remove_parts(tmp_path / "absent")
