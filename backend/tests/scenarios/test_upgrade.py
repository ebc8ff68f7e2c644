"""The engine of a database is upgraded under writes, from the distribution's Valkey to the one that the set-up built."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from backend.tests.scenarios import databases, movement

from shardboard.agent.engine import engine_path, engine_version
from shardboard.local import LocalCluster, ok


def _older() -> str | None:
    """The distribution's engine, where it is another than ours."""
    own = str(Path(sys.executable).parent)
    for directory in os.environ["PATH"].split(os.pathsep):
        found = Path(directory) / "valkey-server"
        if directory != own and os.access(found, os.X_OK):
            other = engine_version(str(found)) != engine_version("valkey-server")
            return str(found) if other else None
    return None


def _versions(cluster: LocalCluster, uid: int) -> set[str]:
    return {row.get("engine_version", "") for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))}


def _installed(cluster: LocalCluster) -> set[str]:
    return {row["engine_version"] for row in ok(cluster.api.get("/v1/nodes"))}


@pytest.mark.skipif(_older() is None, reason="there is only one engine on this machine")
@pytest.mark.slow
def test_no_write_is_lost_while_every_shard_is_replaced(cluster: LocalCluster) -> None:
    older, newer = engine_version(str(_older())), engine_version("valkey-server")
    databases.use_engine(cluster, str(_older()))
    cluster.until(lambda: _installed(cluster) == {older}, "the agents do not tell of the older engine")
    uid = databases.create(cluster, databases.body(2, replication=True))
    assert databases.settled(cluster, uid)["status"] == "active"
    cluster.until(lambda: _versions(cluster, uid) == {older}, "the shards' version is not seen")

    databases.use_engine(cluster, str(engine_path("valkey-server")))
    cluster.until(lambda: _installed(cluster) == {newer}, "the agents do not tell of the newer engine", 120)
    before = _layout(cluster, uid)
    with movement.Writer(cluster, uid) as writer:
        plan = ok(cluster.api.post(f"/v1/bdbs/{uid}/upgrade", params={"dry_run": "true"}))
        assert len(plan["steps"]) == 4
        ok(cluster.api.post(f"/v1/bdbs/{uid}/upgrade"))
        cluster.until(lambda: _status(cluster, uid) == "active", "the upgrade does not end", 120)
    assert ok(cluster.api.get(f"/v1/bdbs/{uid}"))["status_detail"] == ""
    assert writer.lost() == []
    cluster.until(lambda: _versions(cluster, uid) == {newer}, "a shard was left behind")
    assert _layout(cluster, uid) == before, "every shard stays on its node, in its role"
    ended = [event["type"] for event in ok(cluster.api.get("/v1/logs")) if event["type"].startswith("bdb_upgrade")]
    assert sorted(ended) == ["bdb_upgrade_completed", "bdb_upgrade_request"]
    movement.until_only_known(cluster, uid)


def _status(cluster: LocalCluster, uid: int) -> str:
    return str(ok(cluster.api.get(f"/v1/bdbs/{uid}", params={"fields": "status"}))["status"])


def _layout(cluster: LocalCluster, uid: int) -> list[tuple[Any, ...]]:
    rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    return sorted((row["node_uid"], row["pair"], row["role"]) for row in rows)
