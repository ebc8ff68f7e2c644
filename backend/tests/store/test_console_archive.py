"""Tests of the content of console backups, as the holder of the key could change it."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from shardboard.store.console_archive import ArchiveError, Manifest, pack, unpack

MANIFEST = Manifest("2026-11-30T12:00:00+00:00", "0.1.0", "shardboard.local", "12345678", 5)


def archive(**files: bytes) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as target:
        for name, text in files.items():
            info = tarfile.TarInfo(name.replace("__", "/").replace("_", "."))
            info.size = len(text)
            target.addfile(info, io.BytesIO(text))
    return content.getvalue()


@pytest.mark.parametrize("key", ["key\n", None])
@pytest.mark.parametrize("size", [0, 1, 512, 1 << 20])
def test_files_are_unpacked_as_they_were(tmp_path: Path, key: str | None, size: int) -> None:
    store = tmp_path / "source"
    store.write_bytes(b"x" * size)
    packed = b"".join(pack(MANIFEST, store, key))
    with tarfile.open(fileobj=io.BytesIO(packed)) as content:
        assert content.getnames() == ["manifest.json", *(["store.key"] if key else []), "console.db"]
    target = tmp_path / "target"
    target.mkdir()
    unpacked = unpack([packed[:7], packed[7:]], target)
    assert (unpacked.manifest, unpacked.store_key) == (MANIFEST, key)
    assert unpacked.store.read_bytes() == store.read_bytes()
    assert unpacked.store.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "damaged"),
        (gzip.compress(b"no tar archive" * 100), "damaged"),
        (archive(manifest_json=b"{}"), "incomplete"),
        (archive(manifest_json=b"{}", console_db=b"x"), "manifest is invalid"),
        (archive(manifest_json=b'{"format": 99, "release": "9.0"}', console_db=b"x"), "by a newer release"),
        (archive(manifest_json=b" " * 70_000), "too large"),
        (archive(____etc__passwd=b"x"), "is not a backup of a console"),
        (archive(other=b"x"), "is not a backup of a console"),
    ],
    ids=["empty", "no tar", "no store", "empty manifest", "newer format", "large manifest", "other path", "other file"],
)
def test_other_contents_are_rejected(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        unpack([content], tmp_path)


def test_links_are_rejected(tmp_path: Path) -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as target:
        info = tarfile.TarInfo("console.db")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        target.addfile(info)
    with pytest.raises(ArchiveError, match="is not a backup"):
        unpack([content.getvalue()], tmp_path)
