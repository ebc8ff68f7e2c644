"""Processes that are killed in the middle of an upload, to a folder and to an object store."""

import random
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import psutil
import pytest
from backend.tests.scenarios import database_helpers
from backend.tests.scenarios.data.test_backup import back_up, client_of, contents, restore, transfers_on_nodes, wait_for
from backend.tests.scenarios.database_helpers import create, request_body, wait_until_settled
from backend.tests.support import storage_servers
from backend.tests.support.storage_servers import PASSWORD, USER

from shardboard.local.cluster import LocalCluster, ok

pytestmark = pytest.mark.slow

VALUES, VALUE_BYTES = 36, 4_000_000
"""Each file has several parts of an upload."""
LIMIT = 4_000_000
"""Bytes per second of a node, so that uploads last for seconds."""


@pytest.fixture
def database(cluster: LocalCluster) -> int:
    uid = create(cluster, request_body(3, replication=True, memory_size=1_000_000_000))
    assert wait_until_settled(cluster, uid)["status"] == "active"
    client = client_of(cluster, uid)
    for number in range(VALUES):
        client.set(f"large:{number}", random.Random(number).randbytes(VALUE_BYTES))
    database_helpers.wait_until_replicated(cluster, uid)
    return uid


class FolderStore:
    """A location of type `mount_point`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.location = {"type": "mount_point", "path": str(folder)}

    def files(self) -> set[str]:
        """Return the paths of all visible files. Names of incomplete ones start with a dot."""
        paths = (path.relative_to(self._folder) for path in self._folder.rglob("*") if path.is_file())
        return {str(path) for path in paths if not path.name.startswith(".")}

    def all_files(self) -> set[str]:
        return {str(path.relative_to(self._folder)) for path in self._folder.rglob("*") if path.is_file()}


class BucketStore:
    """A location of type `s3`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.location = {
            "type": "s3",
            "bucket_name": "bucket",
            "access_key_id": USER,
            "secret_access_key": PASSWORD,
            "endpoint": url,
            "path_style": True,
        }

    def files(self) -> set[str]:
        with urllib.request.urlopen(f"{self._url}/bucket?list-type=2") as reply:  # noqa: S310
            tree = ElementTree.fromstring(reply.read())  # noqa: S314 - from the server of this test
        return {str(element.text) for element in tree.iter() if element.tag.endswith("}Key")}

    def all_files(self) -> set[str]:
        """Parts of incomplete uploads are no files: a life-cycle rule removes them."""
        return self.files()


@pytest.fixture(scope="module")
def s3_url() -> Iterator[str]:
    with storage_servers.s3_server() as url:
        yield url


@pytest.fixture(scope="module", params=["mount_point", "s3"])
def stored(request: pytest.FixtureRequest, cluster: LocalCluster, folder: Path) -> Iterator[FolderStore | BucketStore]:
    is_folder = request.param == "mount_point"
    store = FolderStore(folder) if is_folder else BucketStore(request.getfixturevalue("s3_url"))
    location = ok(cluster.api.post("/v1/backup_locations", json={"name": request.param, "location": store.location}))
    yield store
    for backup in ok(cluster.api.get("/v1/backups")):
        ok(cluster.api.delete(f"/v1/backups/{backup['uid']}"))
    cluster.wait_until(lambda: not ok(cluster.api.get("/v1/backups")), "the backups are not deleted")
    assert store.all_files() == set(), "the deletion leaves nothing"
    ok(cluster.api.delete(f"/v1/backup_locations/{location['uid']}"))


def processes(cluster: LocalCluster, kind: str) -> list[psutil.Process]:
    """Return the transfer processes, or the movers, of all nodes."""
    folders = str(cluster.directory / "agents")
    found = []
    for process in psutil.process_iter(["name", "cwd", "cmdline"]):
        is_here = (process.info["cwd"] or "").startswith(folders)
        is_mover = (process.info["name"] or "").startswith("shardboard-mov")
        is_transfer = "shardboard.transfer" in (process.info["cmdline"] or ())
        if is_here and (is_mover if kind == "mover" else is_transfer):
            found.append(process)
    return found


def is_uploading(backup: dict[str, Any]) -> bool:
    """Return whether each shard has written a part of its file."""
    return all(file["raw_bytes"] > VALUE_BYTES for file in backup["files"])


def limit_rate(cluster: LocalCluster, bytes_per_second: int) -> None:
    ok(cluster.api.put("/v1/cluster/policy", json={"backup_max_bytes_per_second": bytes_per_second}))


@pytest.mark.parametrize("killed", ["console", "agents", "transfers", "mover", "everything"])
def test_a_killed_upload_leaves_nothing_and_is_repeated_per_file(
    cluster: LocalCluster, database: int, stored: FolderStore | BucketStore, killed: str
) -> None:
    before = contents(cluster, database)
    known = stored.files()
    limit_rate(cluster, LIMIT)
    backup_uid = back_up(cluster, database)
    path = f"/v1/backups/{backup_uid}"
    cluster.wait_until(lambda: is_uploading(ok(cluster.api.get(path))), "the upload does not start", 30)
    assert stored.files() == known, "incomplete files are not visible"
    limit_rate(cluster, 0)  # of the snapshots that are repeated
    ended = kill(cluster, killed)
    backup = wait_for(cluster, path, seconds=120)
    assert backup["keys"] == len(before)
    folder = backup["path"]
    written = {name for name in stored.all_files() - known if not name.endswith("/manifest.json")}
    assert len(written) == 3, written
    assert all(name.startswith(f"{folder}/") for name in written)
    repeated = {name for name in written if name.rpartition("/")[2].count("-") > 1}
    # A file that was completed in the moment of the kill is not written again.
    assert min(1, ended) <= len(repeated) <= ended, written
    result = wait_for(cluster, f"/v1/restores/{restore(cluster, database, backup_uid)}", seconds=120)
    assert result["mismatched_slots"] == 0
    assert contents(cluster, database) == before
    cluster.wait_until(lambda: not transfers_on_nodes(cluster), "nodes still store transfers")


def kill(cluster: LocalCluster, killed: str) -> int:
    """Kill processes, and start console and agents again. Return how many uploads were killed."""
    uploads: list[psutil.Process] = []
    if killed in ("console", "everything"):
        cluster.kill("console")
    if killed in ("agents", "everything"):
        for address in cluster.addresses:
            cluster.kill(address)
    if killed in ("transfers", "everything"):
        uploads = processes(cluster, "transfer")
    if killed == "mover":
        uploads = processes(cluster, "mover")[:1]
    for process in uploads:
        process.kill()
    if killed in ("console", "everything"):
        cluster.start_console()
    cluster.start_agents()
    return len(uploads)
