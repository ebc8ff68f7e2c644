"""Encrypted snapshots and restores with a test double of the mover."""

import hashlib
from pathlib import Path

import pytest
from backend.tests.transfer.test_copies import CONTENT, SIZE, Run, folder, restore, run, snapshot, stored_files

from shardboard.contract.locations import MountPoint
from shardboard.contract.transfers import CheckFiles, Inspect, RestoreFile
from shardboard.kit import age, age_keys
from shardboard.transfer.errors import TransferError
from shardboard.transfer.secrets import secrets_of
from shardboard.transfer.specification import Specification

__all__ = ["folder", "run"]
IDENTITY, OTHER = age_keys.generate_identity(), age_keys.generate_identity()
RECIPIENT = age_keys.recipient_of(IDENTITY)
PATH = "db/1/0-5.rdb.zst"


def test_snapshots_are_encrypted_and_restored(run: Run, folder: Path) -> None:
    result = run(snapshot(folder, recipients=[RECIPIENT, age_keys.recipient_of(OTHER)]))
    stored = (folder / PATH).read_bytes()
    assert stored.startswith(age.VERSION)
    assert CONTENT[:64] not in stored
    assert (result["bytes"], result["sha256"]) == (len(stored), hashlib.sha256(stored).hexdigest())
    file = RestoreFile(path=PATH, sha256=result["sha256"])
    restored = run(restore(folder, file).model_copy(update={"identities": [OTHER]}))
    assert (restored["restored"], restored["bytes"], restored["raw_bytes"]) == (7, len(stored), 2 * SIZE)


def test_nothing_is_visible_if_the_mover_of_an_encrypted_snapshot_fails(run: Run, folder: Path) -> None:
    with pytest.raises(TransferError, match="ended unexpectedly"):
        run(snapshot(folder, recipients=[RECIPIENT]), status=1)
    assert stored_files(folder) == []


@pytest.mark.parametrize(
    ("identities", "code", "message"),
    [
        ([], "wrong-key", "is encrypted. Send the private key"),
        ([OTHER], "wrong-key", "cannot be decrypted with this private key"),
    ],
)
def test_missing_and_wrong_keys_are_reported_before_a_restore(
    run: Run, folder: Path, identities: list[str], code: str, message: str
) -> None:
    (folder / "a.rdb.age").write_bytes(b"".join(age.encrypt([b"REDIS0011"], [RECIPIENT])))
    location = MountPoint(path=str(folder))
    assert run(CheckFiles(location=location, paths=["a.rdb.age"], identities=[IDENTITY])) == {}
    for transfer in (
        CheckFiles(location=location, paths=["a.rdb.age"], identities=identities),
        Inspect(location=location, files=[RestoreFile(path="a.rdb.age")], identities=identities),
    ):
        with pytest.raises(TransferError, match=message) as caught:
            run(transfer)
        assert caught.value.code == code


@pytest.mark.parametrize(
    ("chunks", "message"), [(0, r"a\.age is incomplete or was changed"), (3, "SHA-256 checksum differs")]
)
def test_encrypted_files_with_a_checksum_are_read_completely(run: Run, folder: Path, chunks: int, message: str) -> None:
    content = bytearray(b"".join(age.encrypt([b"REDIS0011", bytes(chunks * age.CHUNK_BYTES)], [RECIPIENT])))
    checked = CheckFiles(
        location=MountPoint(path=str(folder)),
        paths=["a.age"],
        sha256={"a.age": hashlib.sha256(content).hexdigest()},
        identities=[IDENTITY],
    )
    (folder / "a.age").write_bytes(content)
    assert run(checked) == {}
    content[-1] ^= 1
    (folder / "a.age").write_bytes(content)
    with pytest.raises(TransferError, match=message):
        run(checked)


CHANGES = f"{'a' * 40}-100-200-1-2.changes.zst"


@pytest.mark.parametrize("ending", ["", ".age"])
def test_changes_are_read_completely_with_the_files_of_their_backup(run: Run, folder: Path, ending: str) -> None:
    plain = [b"\x28\xb5\x2f\xfd", bytes(3 * age.CHUNK_BYTES)]
    content = b"".join(age.encrypt(plain, [RECIPIENT]) if ending else plain)
    (folder / "a.rdb").write_bytes(b"REDIS0011")
    (folder / f"{CHANGES}{ending}").write_bytes(content)
    checked = CheckFiles(
        location=MountPoint(path=str(folder)),
        paths=[f"{CHANGES}{ending}", "a.rdb"],
        sha256={"a.rdb": hashlib.sha256(b"REDIS0011").hexdigest()},
        identities=[IDENTITY],
    )
    assert run(checked) == {}
    assert "check-changes" in Path("mover-commands.log").read_text()
    for behavior, message in (
        ({"error": {"code": "file-corrupted", "message": "the changes end early"}, "status": 1}, "end early"),
        ({"changes": {"start": 101}}, "contains other changes than its name says"),
        ({"changes": {"replication_id": "b" * 40}}, "contains other changes than its name says"),
    ):
        with pytest.raises(TransferError, match=message) as caught:
            run(checked, **behavior)
        assert caught.value.code == "file-corrupted"
        assert CHANGES in str(caught.value)
    assert run(checked.model_copy(update={"sha256": {}}), status=1) == {}, "only the beginning is read"


def test_incomplete_encrypted_changes_are_detected(run: Run, folder: Path) -> None:
    content = b"".join(age.encrypt([b"\x28\xb5\x2f\xfd", bytes(3 * age.CHUNK_BYTES)], [RECIPIENT]))
    (folder / f"{CHANGES}.age").write_bytes(content[:-1])
    checked = CheckFiles(
        location=MountPoint(path=str(folder)), paths=[f"{CHANGES}.age"], sha256={"a": "0" * 64}, identities=[IDENTITY]
    )
    with pytest.raises(TransferError, match=r"\.age is incomplete or was changed"):
        run(checked)


def test_checksums_are_compared_without_a_private_key(run: Run, folder: Path) -> None:
    content = bytearray(b"".join(age.encrypt([b"REDIS0011"], [RECIPIENT])))
    contents = {"a.age": content, "manifest.json": b"{}"}
    for name, each in contents.items():
        (folder / name).write_bytes(each)
    checked = CheckFiles(
        location=MountPoint(path=str(folder)),
        paths=list(contents),
        sha256={name: hashlib.sha256(each).hexdigest() for name, each in contents.items()},
        only_checksums=True,
    )
    assert run(checked) == {}
    for name, each in contents.items():
        (folder / name).write_bytes(each[:-1])
        with pytest.raises(TransferError, match=f"The content of {name} has changed"):
            run(checked)
        (folder / name).write_bytes(each)


@pytest.mark.parametrize("cut", [1, age.CHUNK_BYTES + age.TAG_BYTES])
def test_incomplete_files_are_detected(run: Run, folder: Path, cut: int) -> None:
    content = bytes(2 * age.CHUNK_BYTES)
    (folder / "a.age").write_bytes(b"".join(age.encrypt([content], [RECIPIENT]))[:-cut])
    with pytest.raises(TransferError, match=r"a\.age is incomplete or was changed") as caught:
        run(Inspect(location=MountPoint(path=str(folder)), files=[RestoreFile(path="a.age")], identities=[IDENTITY]))
    assert caught.value.code == "file-corrupted"


def test_encrypted_files_that_are_not_snapshots_are_rejected(run: Run, folder: Path) -> None:
    (folder / "a.age").write_bytes(b"".join(age.encrypt([b"text"], [RECIPIENT])))
    with pytest.raises(TransferError, match="neither an RDB file"):
        run(CheckFiles(location=MountPoint(path=str(folder)), paths=["a.age"], identities=[IDENTITY]))


def test_private_keys_are_removed_from_messages(folder: Path) -> None:
    transfer = CheckFiles(location=MountPoint(path=str(folder)), paths=["a"], identities=[IDENTITY])
    assert IDENTITY in secrets_of(Specification(transfer=transfer))
    assert IDENTITY not in repr(transfer)
