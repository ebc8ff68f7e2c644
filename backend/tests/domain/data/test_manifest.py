"""Tests of manifests: what is written is read, and changed manifests are rejected."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.data import folder_names
from shardboard.domain.data.analysis import merge_analyses
from shardboard.domain.data.manifest import InvalidManifest, Manifest, ManifestFile, parse, with_private_part

MANIFEST = Manifest(
    backup_uid=7,
    bdb={"name": "db", "shards_count": 1},
    engine_version="9.1.2",
    started="2026-11-30T12:00:00+00:00",
    ended="2026-11-30T12:01:00+00:00",
    files=[ManifestFile(name="0-16383.rdb.zst", slots="0-99,300-16383", bytes=1, raw_bytes=2, sha256="a" * 64, keys=3)],
    slots=[(0, 1, "f" * 16), (300, 2, "0" * 16)],
    types={"string": 3},
    functions=["lib"],
    recipients=[],
)


def test_a_written_manifest_is_read() -> None:
    assert parse(json.loads(json.dumps(MANIFEST.as_json()))) == MANIFEST
    assert (MANIFEST.keys, MANIFEST.bytes, MANIFEST.raw_bytes) == (3, 1, 2)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format",), 2),
        (("files",), {}),
        (("files", 0, "name"), "../../etc/passwd"),
        (("files", 0, "name"), "a/b.rdb"),
        (("files", 0, "name"), "a..b"),
        (("files", 0, "sha256"), "a" * 63),
        (("files", 0, "bytes"), -1),
        (("files", 0, "keys"), True),
        (("files", 0, "slots"), [[5, 4]]),
        (("files", 0, "slots"), [[0, 16384]]),
        (("slots", 0), [16384, 1, "f"]),
        (("slots", 0), [1, 1, "not hexadecimal"]),
        (("bdb",), []),
        (("started",), 5),
    ],
)
def test_changed_manifests_are_rejected(path: tuple[Any, ...], value: Any) -> None:
    content: Any = json.loads(json.dumps(MANIFEST.as_json()))
    target = content
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    with pytest.raises(InvalidManifest):
        parse(content)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda each: st.lists(each) | st.dictionaries(st.text(), each),
    )
)
def test_any_other_json_is_rejected(content: Any) -> None:
    with pytest.raises(InvalidManifest):
        parse(content)


@given(st.text(), st.integers(1, 10**9))
def test_folders_are_safe(name: str, uid: int) -> None:
    folder = folder_names.database_folder(name, uid)
    assert folder_names.is_safe_name(folder)
    assert folder.endswith(f"-{uid}")
    assert len(folder) <= folder_names.MAX_NAME + 11


def test_each_attempt_has_its_own_file() -> None:
    ranges = ((0, 5), (7, 9))
    assert folder_names.file_name(ranges, 1, "zstd") == "0-9.rdb.zst"
    assert folder_names.file_name(ranges, 2, "gzip") == "0-9-2.rdb.gz"


def test_analyses_are_merged() -> None:
    one = {
        "types": {"string": {"keys": 1, "bytes": 10}},
        "prefixes": [{"prefix": "user", "keys": 1, "bytes": 10}],
        "other_prefixes": {"keys": 0, "bytes": 0},
        "lifetimes": {"none": {"keys": 1, "bytes": 10}},
        "largest": [{"key": "user:1", "type": "string", "bytes": 10, "elements": 1}],
    }
    other = {**one, "largest": [{"key": "user:2", "type": "string", "bytes": 20, "elements": 1}], "types": "broken"}
    merged = merge_analyses([one, other])
    assert merged["types"] == {"string": {"keys": 1, "bytes": 10}}
    assert merged["prefixes"] == [{"prefix": "user", "keys": 2, "bytes": 20}]
    assert [each["key"] for each in merged["largest"]] == ["user:2", "user:1"]
    assert merge_analyses([{}]) == {}


SEALED = "-----BEGIN AGE ENCRYPTED FILE-----\nAAAA\n-----END AGE ENCRYPTED FILE-----\n"
ENCRYPTED = replace(MANIFEST, recipients=["age1" + "q" * 58])


def test_the_file_of_an_encrypted_manifest_reveals_only_names_sizes_and_counts() -> None:
    written = json.loads(json.dumps(ENCRYPTED.public_part(SEALED)))
    assert written["bdb"] == {"name": "db"}
    assert written.keys().isdisjoint({"slots", "types", "functions", "analysis"})
    sealed = parse(written)
    assert (sealed.sealed, sealed.recipients, sealed.files) == (SEALED, ENCRYPTED.recipients, MANIFEST.files)
    assert parse(sealed.as_json()) == sealed, "the store keeps it until it is decrypted"
    assert with_private_part(sealed, json.loads(json.dumps(ENCRYPTED.private_part()))) == ENCRYPTED


def test_a_protected_part_cannot_replace_files() -> None:
    sealed = parse(ENCRYPTED.public_part(SEALED))
    assert with_private_part(sealed, {**ENCRYPTED.private_part(), "files": []}).files == MANIFEST.files
    with pytest.raises(InvalidManifest):
        with_private_part(sealed, [])


@pytest.mark.parametrize("change", [{"recipients": ["text"]}, {"recipients": "age1"}, {"private": 5}])
def test_changed_encryption_of_manifests_is_rejected(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidManifest):
        parse({**ENCRYPTED.public_part(SEALED), **change})
