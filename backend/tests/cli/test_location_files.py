"""Tests of files of storage locations that commands read."""

import json
from pathlib import Path
from typing import Any

import pytest

from shardboard.cli import location_files
from shardboard.errors import CommandError


def fetch(tmp_path: Path, location: Any, path: str = "shardboard-console/a.age") -> Path:
    file, target = tmp_path / "location.json", tmp_path / "target"
    file.write_text(json.dumps(location))
    location_files.fetch(file, path, target)
    return target


def test_a_file_is_copied(tmp_path: Path) -> None:
    folder = tmp_path / "mounted" / "shardboard-console"
    folder.mkdir(parents=True)
    (folder / "a.age").write_bytes(b"content")
    assert fetch(tmp_path, {"type": "mount_point", "path": str(tmp_path / "mounted")}).read_bytes() == b"content"


@pytest.mark.parametrize(
    ("location", "path", "message"),
    [
        ({"type": "s3"}, "a", "is not the JSON of a location: s3.bucket_name: Field required"),
        ({"type": "s3", "secret_access_key": ["secret-word"]}, "a", "is not the JSON of a location"),
        ({"type": "mount_point", "path": "/nowhere"}, "a", "a cannot be read: "),
        ({"type": "mount_point", "path": "/nowhere"}, "../a", "cannot be read: "),
        ({"type": "mount_point", "path": "/nowhere"}, "/etc/passwd", "is not the JSON of a location|cannot be read"),
    ],
)
def test_invalid_locations_and_missing_files_are_reported(
    tmp_path: Path, location: Any, path: str, message: str
) -> None:
    with pytest.raises(CommandError, match=message) as caught:
        fetch(tmp_path, location, path)
    assert "secret-word" not in str(caught.value)
