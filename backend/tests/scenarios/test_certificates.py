"""The authority of a database's shards is replaced while clients write, an agent is away, and a shard is started anew."""

from pathlib import Path
from typing import Any

import pytest
from backend.tests.scenarios import databases, movement
from backend.tests.scenarios.test_endpoint import HIDDEN, Writer, grown, served

from shardboard.local import LocalCluster, ok

pytestmark = pytest.mark.slow


def of_bdb(cluster: LocalCluster) -> dict[str, Any]:
    [told] = ok(cluster.api.get("/v1/cluster/certificates"))["data_internode_encryption"]
    return dict(told)


def trusted(cluster: LocalCluster, uid: int, away: str) -> set[int]:
    """How many authorities shards on other nodes trust."""
    files = [
        Path(databases.at(cluster, row)["ssl_ca_certs"])
        for row in movement.rows(cluster, uid)
        if row["address"] != away
    ]
    return {file.read_text().count("BEGIN") for file in files}


def test_the_authority_is_replaced_and_no_client_notices(cluster: LocalCluster) -> None:
    bdb = served(cluster, databases.body(3, replication=True, **HIDDEN))
    before = of_bdb(cluster)
    away = cluster.addresses[1]
    writer = Writer(cluster.addresses[0], bdb["endpoints"][0]["port"])
    with writer.writing():
        grown(cluster, writer)
        # Its shards live on, and could not speak to those that are further than one step.
        cluster.kill(away)
        cluster.until(lambda: away not in cluster.connected(), "the agent's end is not noticed")
        ok(cluster.api.post("/v1/cluster/certificates/rotate", json={"authority": True}))
        cluster.until(lambda: trusted(cluster, bdb["uid"], away) == {2}, "the first step is not told")
        grown(cluster, writer)
        assert of_bdb(cluster)["replacing"] == "announced"
        cluster.start_agents()
        cluster.until(lambda: of_bdb(cluster)["replacing"] == "", "the authority is not replaced")
        grown(cluster, writer)
    assert writer.errors == []
    assert of_bdb(cluster)["authority"] != before["authority"]
    # Links that are made anew.
    replica = next(row for row in movement.rows(cluster, bdb["uid"]) if row["role"] == "slave")
    [process] = [each for each in cluster.engines(replica["address"]) if each.pid == replica["pid"]]
    process.kill()

    def in_sync_again() -> bool:
        told = ok(cluster.api.get(f"/v1/shards/{replica['uid']}"))
        return bool(told.get("pid", replica["pid"]) != replica["pid"] and told["sync"]["status"] == "idle")

    cluster.until(in_sync_again, "the replica does not copy")
    assert writer.lost() == []
    databases.delete(cluster, bdb["uid"])
