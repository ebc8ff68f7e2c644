"""Work directories of processes that start in the same moment, or were killed."""

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from shardboard.kit import work_directory as module
from shardboard.kit.work_directory import work_directory


def test_directories_of_killed_processes_are_deleted(tmp_path: Path) -> None:
    leftover = tmp_path / ".work-killed"
    leftover.mkdir()
    with work_directory(tmp_path, ".work-") as first, work_directory(tmp_path, ".work-") as second:
        assert sorted(tmp_path.iterdir()) == sorted([first, second]), "the directory of a running process is kept"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("is_locked", [True, False], ids=["being deleted", "deleted"])
def test_a_directory_that_another_process_takes_before_it_is_locked_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_locked: bool
) -> None:
    create, created = tempfile.mkdtemp, list[Path]()
    with ExitStack() as other_process:

        def mkdtemp(**arguments: Any) -> str:
            path = Path(create(**arguments))
            created.append(path)
            if len(created) == 1:
                if is_locked:
                    assert other_process.enter_context(module._locked(path))
                else:
                    shutil.rmtree(path)
            return str(path)

        monkeypatch.setattr(tempfile, "mkdtemp", mkdtemp)
        with work_directory(tmp_path, ".work-") as directory:
            assert len(created) == 2
            assert directory == created[1]
            assert directory.is_dir()
