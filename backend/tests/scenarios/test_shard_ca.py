"""The CA of a database's shards is replaced while clients write, an agent is stopped, and a shard is restarted."""

from pathlib import Path
from typing import Any

import pytest
from backend.tests.scenarios import database_helpers, movement_helpers
from backend.tests.scenarios.test_endpoint import HIDDEN, Writer, create_served_database, wait_for_writes

from shardboard.local.cluster import LocalCluster, ok

pytestmark = pytest.mark.slow


def bdb_certificates(cluster: LocalCluster) -> dict[str, Any]:
    [status] = ok(cluster.api.get("/v1/cluster/certificates"))["data_internode_encryption"]
    return dict(status)


def trusted_ca_counts(cluster: LocalCluster, uid: int, stopped_agent: str) -> set[int]:
    """Return the numbers of CAs that shards on other nodes trust."""
    files = [
        Path(database_helpers.connection_options(cluster, row)["ssl_ca_certs"])
        for row in movement_helpers.shard_rows(cluster, uid)
        if row["address"] != stopped_agent
    ]
    return {file.read_text().count("BEGIN") for file in files}


def test_a_ca_replacement_causes_no_client_error(cluster: LocalCluster) -> None:
    bdb = create_served_database(cluster, database_helpers.request_body(3, replication=True, **HIDDEN))
    before = bdb_certificates(cluster)
    stopped_agent = cluster.addresses[1]
    writer = Writer(cluster.addresses[0], bdb["endpoints"][0]["port"])
    with writer.writing():
        wait_for_writes(cluster, writer)
        # Its shards keep running. They could not connect to shards that are more than one step ahead.
        cluster.kill(stopped_agent)
        cluster.wait_until(
            lambda: stopped_agent not in cluster.connected(), "the killed agent still counts as connected"
        )
        ok(cluster.api.post("/v1/cluster/certificates/rotate", json={"authority": True}))
        cluster.wait_until(
            lambda: trusted_ca_counts(cluster, bdb["uid"], stopped_agent) == {2},
            "the first step does not reach the shards",
        )
        wait_for_writes(cluster, writer)
        assert bdb_certificates(cluster)["replacing"] == "announced"
        cluster.start_agents()
        cluster.wait_until(lambda: bdb_certificates(cluster)["replacing"] == "", "the CA is not replaced")
        wait_for_writes(cluster, writer)
    assert writer.errors == []
    assert bdb_certificates(cluster)["authority"] != before["authority"]
    # A restarted replica opens new replication links.
    replica = next(row for row in movement_helpers.shard_rows(cluster, bdb["uid"]) if row["role"] == "slave")
    [process] = [each for each in cluster.engines(replica["address"]) if each.pid == replica["pid"]]
    process.kill()

    def in_sync_again() -> bool:
        status = ok(cluster.api.get(f"/v1/shards/{replica['uid']}"))
        return bool(status.get("pid", replica["pid"]) != replica["pid"] and status["sync"]["status"] == "idle")

    cluster.wait_until(in_sync_again, "the replica is not in sync again")
    assert writer.lost() == []
    database_helpers.delete(cluster, bdb["uid"])
