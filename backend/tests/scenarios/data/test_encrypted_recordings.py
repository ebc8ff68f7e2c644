"""Encrypted recordings of changes with real processes: restores to a point in time, and verifications without the private key."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from backend.tests.scenarios.data.test_backup import client_of, contents, fill, wait_for
from backend.tests.scenarios.data.test_point_in_time import change, moment_of, recorded, wait_until_recorded, windows
from backend.tests.scenarios.database_helpers import create, request_body, wait_until_settled

from shardboard.kit import age, age_keys
from shardboard.local.cluster import LocalCluster, ok

__all__ = ["recorded"]
IDENTITY = age_keys.generate_identity()


@pytest.fixture(scope="module")
def location(cluster: LocalCluster, folder: Path) -> int:
    """A location whose files are encrypted. The console does not store the private key."""
    body = {
        "name": "encrypted",
        "location": {"type": "mount_point", "path": str(folder)},
        "recipients": [age_keys.recipient_of(IDENTITY)],
    }
    uid: int = ok(cluster.api.post("/v1/backup_locations", json=body))["uid"]
    return uid


def restore(cluster: LocalCluster, target: int, body: dict[str, Any], **more: Any) -> dict[str, Any]:
    reply = ok(cluster.api.post(f"/v1/bdbs/{target}/actions/restore", json={**body, "identities": IDENTITY}))
    return wait_for(cluster, f"/v1/restores/{reply['restore_uid']}", seconds=240, **more)


def verify(cluster: LocalCluster, backup_uid: int) -> dict[str, Any]:
    """Verify a backup again. Return the result."""
    path = f"/v1/backups/{backup_uid}"
    before = ok(cluster.api.get(path))["verified"]
    ok(cluster.api.post(f"{path}/actions/verify"))
    cluster.wait_until(lambda: ok(cluster.api.get(path))["verified"] != before, "the verification did not end", 120)
    result: dict[str, Any] = ok(cluster.api.get(path))["verified"]
    return result


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def decrypted(path: Path, key: Path) -> bytes:
    plain = subprocess.run(["age", "-d", "-i", str(key), str(path)], capture_output=True, check=True).stdout
    return subprocess.run(["zstd", "-dc"], input=plain, capture_output=True, check=True).stdout


@pytest.mark.slow
def test_encrypted_changes_are_restored_with_the_private_key(
    cluster: LocalCluster, recorded: int, folder: Path, tmp_path: Path
) -> None:
    client = client_of(cluster, recorded)
    fill(client)
    change(client)
    moment, expected = moment_of(cluster, recorded)
    ok(cluster.api.put(f"/v1/bdbs/{recorded}/flush"))
    wait_until_settled(cluster, recorded)
    wait_until_recorded(cluster, recorded, moment)
    key = tmp_path / "key.txt"
    key.write_text(IDENTITY)
    files = list(folder.rglob("*.changes.zst*"))
    assert files
    assert all(path.name.endswith(".changes.zst.age") for path in files)
    assert all(path.read_bytes().startswith(age.VERSION) for path in files)
    assert all(decrypted(path, key).startswith(b"#CHANGES:1 ") for path in files)
    assert any(b"string:1" in decrypted(path, key) for path in files)
    until = {"until": moment.isoformat(), "source_bdb_uid": recorded}
    for identities, code in (("", "missing_backup_key"), (age_keys.generate_identity(), "wrong_backup_key")):
        body = {**until, "identities": identities}
        reply = cluster.api.post(f"/v1/bdbs/{recorded}/actions/restore", json=body)
        assert (reply.status_code, reply.json()["error_code"]) == (406, code)
    assert restore(cluster, recorded, until)["replayed"] > 0
    assert contents(cluster, recorded) == expected
    target = create(cluster, request_body(2))
    assert wait_until_settled(cluster, target)["status"] == "active"
    restore(cluster, target, until)
    assert contents(cluster, target) == expected, "with another number of shards"

    for path in files:
        damage(path)
    failed = restore(cluster, target, until, status="failed")
    assert ".changes.zst.age" in failed["detail"]
    assert not failed["erased"]
    assert contents(cluster, target) == expected, "a damaged file costs no keys"

    backup_uid = windows(cluster, recorded)[0]["backup_uid"]
    verified = verify(cluster, backup_uid)
    assert (verified["ok"], verified["method"]) == (True, "checksums"), verified
    assert "3 encrypted files and the manifest have the checksums" in verified["detail"]
    backup = folder / ok(cluster.api.get(f"/v1/backups/{backup_uid}"))["path"]
    for path in (backup / "manifest.json", next(backup.glob("*.rdb.zst.age"))):
        intact = path.read_bytes()
        damage(path)
        verified = verify(cluster, backup_uid)
        assert not verified["ok"]
        assert path.name in verified["detail"]
        path.write_bytes(intact)
