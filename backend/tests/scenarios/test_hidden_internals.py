"""Users of a database cannot read addresses and paths of its shards, and INFO works through the endpoint."""

from typing import Any

import pytest
import valkey
from backend.tests.scenarios import database_helpers

from shardboard.local.cluster import LocalCluster, ok

PASSWORD = "correct-horse"
READS = (
    ("INFO",),
    ("INFO", "server"),
    ("INFO", "everything"),
    ("CLUSTER", "NODES"),
    ("CLUSTER", "SLOTS"),
    ("CLUSTER", "SHARDS"),
)


def are_scripts_refused(client: Any) -> bool:
    """Return whether scripts on every shard may run none of the commands."""
    return all(is_refused(client, key, read) for key in "abcdefgh" for read in READS)


def is_refused(client: Any, key: str, read: tuple[str, ...]) -> bool:
    try:
        client.eval("return redis.call(unpack(ARGV))", 1, key, *read)
    except valkey.ResponseError as error:
        return "no permissions" in str(error)
    return False


@pytest.mark.slow
def test_scripts_cannot_read_internals_and_info_works_through_the_endpoint(cluster: LocalCluster) -> None:
    ok(cluster.api.put("/v1/cluster/policy", json={"canary_writes_per_second": 0}))
    try:
        fields = database_helpers.request_body(2, oss_cluster=False, authentication_redis_pass=PASSWORD)
        fields["roles_permissions"] = [{"role_uid": 4, "redis_acl_uid": 1}]
        user = {"email": "app@example.org", "name": "app", "password": PASSWORD, "role_uids": [4]}
        ok(cluster.api.post("/v1/users", json=user))
        bdb = database_helpers.wait_until_settled(cluster, database_helpers.create(cluster, fields))
        address = {"host": cluster.addresses[0], "port": bdb["endpoints"][0]["port"], "decode_responses": True}
        names = (None, "app", user["email"])
        clients: list[Any] = [valkey.Valkey(username=name, password=PASSWORD, **address) for name in names]

        def can_read_info() -> bool:
            try:
                return all(client.info("server")["tcp_port"] == address["port"] for client in clients)
            except valkey.ValkeyError:  # not authenticated yet
                return False

        cluster.wait_until(can_read_info, "users cannot read INFO without canary writes")
        assert not any(are_scripts_refused(client) for client in clients), "proxies send no section"
        ok(cluster.api.put("/v1/cluster/policy", json={"canary_writes_per_second": 10}))
        cluster.wait_until(lambda: all(map(are_scripts_refused, clients)), "scripts can read internals")
        cluster.wait_until(can_read_info, "users lost INFO when canary writes were turned on")
        assert all(map(are_scripts_refused, clients))
        for client in clients:
            info = client.info("everything")
            assert info["tcp_port"] == address["port"]
            assert not info.get("config_file")
            assert client.execute_command("INFO", "memory", "stats")
            # Both show the section with which proxies send INFO.
            for command in (("SLOWLOG", "GET"), ("MONITOR",)):
                with pytest.raises(valkey.ResponseError, match="no permissions"):
                    client.execute_command(*command)
            client.connection_pool.disconnect()
        ok(cluster.api.put("/v1/cluster/policy", json={"canary_writes_per_second": 0}))
        cluster.wait_until(can_read_info, "users lost INFO when canary writes were turned off")
    finally:
        ok(cluster.api.put("/v1/cluster/policy", json={"canary_writes_per_second": 10}))
