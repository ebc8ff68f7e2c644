"""A console whose store was restored from a backup leaves databases alone that are newer than the backup."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import valkey
from backend.tests.scenarios import database_helpers

from shardboard.local.cluster import LocalCluster, ok

KEY, VALUE = "order:1", b"paid"


@dataclass
class Orders:
    """A database that the restored store does not contain."""

    endpoint: tuple[str, int]
    node_uid: int
    directory: Path
    pid: int

    def check(self, cluster: LocalCluster) -> None:
        """Check that the database is served by the same process from the same directory."""
        assert self.directory.is_dir()
        assert self.pid in {process.pid for process in cluster.engines()}
        host, port = self.endpoint
        with valkey.Valkey(host=host, port=port, socket_timeout=5) as client:
            assert client.get(KEY) == VALUE


@contextmanager
def restored_store(cluster: LocalCluster) -> Iterator[Orders]:
    """Back up the store, create the database `orders`, write to it, and restore the backup."""
    copy = cluster.directory / "backup.db"
    copy.unlink(missing_ok=True)
    store = cluster.directory / "console.db"
    with closing(sqlite3.connect(store)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    uid = database_helpers.create(cluster, database_helpers.request_body(1, name="orders", data_persistence="aof"))
    bdb = database_helpers.wait_until_settled(cluster, uid)
    assert bdb["status"] == "active"
    [row] = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    endpoint = _endpoint(bdb)
    with valkey.Valkey(host=endpoint[0], port=endpoint[1], socket_timeout=5) as client:
        client.set(KEY, VALUE)
    directory = cluster.directory / "agents" / row["address"] / "shards" / str(row["uid"])
    [pid] = [process.pid for process in cluster.engines() if Path(process.cwd()) == directory.resolve()]
    cluster.children["console"].terminate()
    cluster.children.pop("console").wait(60)
    for file_name in ("console.db-wal", "console.db-shm"):
        (cluster.directory / file_name).unlink(missing_ok=True)
    store.write_bytes(copy.read_bytes())
    cluster.start_console()
    orders = Orders(endpoint, int(row["node_uid"]), directory, pid)
    try:
        yield orders
        orders.check(cluster)
    finally:
        for process in cluster.engines():
            if process.pid == pid:
                process.kill()


def _endpoint(bdb: dict[str, Any]) -> tuple[str, int]:
    [endpoint] = bdb["endpoints"]
    return endpoint["addr"][0], endpoint["port"]


@pytest.mark.parametrize("shards", [1, pytest.param(4, marks=pytest.mark.slow)], ids=["same shape", "another shape"])
def test_a_database_newer_than_the_backup_is_untouched_by_creations(cluster: LocalCluster, shards: int) -> None:
    with restored_store(cluster) as orders:
        uid = database_helpers.create(
            cluster, database_helpers.request_body(shards, name="carts", data_persistence="aof")
        )
        carts = database_helpers.wait_until_settled(cluster, uid)
        orders.check(cluster)
        assert carts["status"] == "active", carts["status_detail"]
        keys = set()
        for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards")):
            with valkey.Valkey(**database_helpers.connection_options(cluster, row), socket_timeout=5) as client:
                keys |= set(client.keys("*"))
        assert keys == set()
        with valkey.Valkey(host=carts["endpoints"][0]["addr"][0], port=carts["endpoints"][0]["port"]) as client:
            assert shards > 1 or client.get(KEY) is None
        alarms = [
            event
            for event in ok(cluster.api.get("/v1/logs"))
            if event["type"] == "alarm_unknown_shards" and event["open"]
        ]
        assert orders.node_uid in {alarm["node_uid"] for alarm in alarms}
        database_helpers.delete(cluster, uid)
        orders.check(cluster)


@pytest.mark.slow
def test_a_database_newer_than_the_backup_is_untouched_by_resharding(cluster: LocalCluster) -> None:
    older = database_helpers.create(cluster, database_helpers.request_body(2, name="older"))
    assert database_helpers.wait_until_settled(cluster, older)["status"] == "active"
    with restored_store(cluster) as orders:
        ok(cluster.api.put(f"/v1/bdbs/{older}", json={"shards_count": 3}))

        def ended() -> bool:
            bdb = ok(cluster.api.get(f"/v1/bdbs/{older}"))
            return bdb["status"] == "active"

        cluster.wait_until(ended, "the database is not resharded")
        assert len(ok(cluster.api.get(f"/v1/bdbs/{older}/shards"))) == 3
        orders.check(cluster)
        database_helpers.delete(cluster, older)
        orders.check(cluster)
