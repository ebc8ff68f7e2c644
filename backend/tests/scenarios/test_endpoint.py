"""Clients use one address. It stays the same through failovers, restarts and changes, and no acknowledged write is lost."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import valkey
from backend.tests.scenarios import database_helpers

from shardboard.local.cluster import LocalCluster, ok

HIDDEN = {"oss_cluster": False, "proxy_policy": "all-nodes"}
PASSWORD = "correct-horse"


class Writer:
    """A plain client that writes one key per number, and records the acknowledged and the replicated writes."""

    def __init__(self, host: str, port: int) -> None:
        self.client = valkey.Valkey(host=host, port=port, socket_timeout=10, decode_responses=True)
        self.written = 0
        self.replicated: list[int] = []
        self.errors: list[str] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        number = 0
        while not self._stopping.is_set():
            number += 1
            try:
                self.client.set(f"n:{number}", number)
                self.written += 1
                # A primary can die with writes that are not replicated, and some shards have no replica while a node is down.
                if self.client.wait(1, 20):
                    self.replicated.append(number)
            except valkey.ValkeyError as error:
                self.errors.append(str(error))

    @contextmanager
    def writing(self) -> Iterator["Writer"]:
        self._thread.start()
        try:
            yield self
        finally:
            self._stopping.set()
            self._thread.join(60)
        assert not self._thread.is_alive(), "the client is stuck"

    def lost(self) -> list[int]:
        return [number for number in self.replicated if self.client.get(f"n:{number}") != str(number)]


def create_served_database(cluster: LocalCluster, fields: dict[str, Any]) -> dict[str, Any]:
    bdb = database_helpers.wait_until_settled(cluster, database_helpers.create(cluster, fields))
    assert bdb["status"] == "active", bdb["status_detail"]
    return bdb


def wait_for_writes(cluster: LocalCluster, writer: Writer, by: int = 200) -> None:
    """Wait until this many more writes are acknowledged."""
    count = writer.written + by
    cluster.wait_until(lambda: writer.written > count, f"writes stopped: {writer.errors[-1:]}")


@pytest.mark.slow
def test_a_plain_client_continues_while_another_node_dies(cluster: LocalCluster) -> None:
    bdb = create_served_database(cluster, database_helpers.request_body(3, replication=True, **HIDDEN))
    endpoint = bdb["endpoints"][0]
    assert endpoint["addr"] == list(cluster.addresses)
    writer = Writer(cluster.addresses[0], endpoint["port"])
    with writer.writing():
        wait_for_writes(cluster, writer)
        cluster.kill_node(cluster.addresses[1])
        wait_for_writes(cluster, writer)
    # A write that is in progress when the shard dies gets an error. The proxy never repeats it.
    assert len(writer.errors) <= 3, writer.errors
    assert writer.lost() == []
    cluster.wait_until(
        lambda: (
            ok(cluster.api.get(f"/v1/bdbs/{bdb['uid']}"))["endpoints"][0]["addr"]
            == [*cluster.addresses[:1], *cluster.addresses[2:]]
        ),
        "the dead node is still one of the addresses",
    )


@pytest.mark.slow
def test_a_database_of_one_shard_keeps_its_address_when_its_primary_moves(cluster: LocalCluster) -> None:
    bdb = create_served_database(cluster, database_helpers.request_body(1, replication=True))
    [address], port = bdb["endpoints"][0]["addr"], bdb["endpoints"][0]["port"]
    writer = Writer(address, port)
    with writer.writing():
        wait_for_writes(cluster, writer, 50)
        rows = ok(cluster.api.get(f"/v1/bdbs/{bdb['uid']}/shards"))
        primary = next(row for row in rows if row["actual_role"] == "master")
        ok(cluster.api.post(f"/v1/shards/{primary['uid']}/actions/failover", json={}))

        def has_moved() -> bool:
            shard = ok(cluster.api.get(f"/v1/shards/{primary['uid']}"))
            return bool(shard["actual_role"] == "slave")

        cluster.wait_until(has_moved, "the primary did not move")
        wait_for_writes(cluster, writer, 50)
        assert ok(cluster.api.get(f"/v1/bdbs/{bdb['uid']}"))["endpoints"][0]["addr"] == [address]
    assert writer.lost() == []
    assert writer.client.mset({"a": "1", "b": "2"}), "one command can use keys of different slots"


@pytest.mark.slow
def test_thread_changes_and_agent_restarts_cause_no_client_error(cluster: LocalCluster) -> None:
    bdb = create_served_database(cluster, database_helpers.request_body(3, replication=True, **HIDDEN))
    writer = Writer(cluster.addresses[0], bdb["endpoints"][0]["port"])
    with writer.writing():
        wait_for_writes(cluster, writer)
        ok(cluster.api.put("/v1/proxies/1", json={"allow_restart": True, "proxy": {"threads": 3}}))
        wait_for_writes(cluster, writer)
        cluster.kill(cluster.addresses[0])
        wait_for_writes(cluster, writer)
        cluster.start_agents()
        wait_for_writes(cluster, writer)
        cluster.wait_until(
            lambda: ok(cluster.api.get("/v1/proxies/1"))["threads"] == 3, "the number of threads is not applied"
        )
    assert writer.errors == []
    assert writer.lost() == []


def test_traffic_is_stopped_and_resumed(cluster: LocalCluster) -> None:
    bdb = create_served_database(cluster, database_helpers.request_body(3, replication=False, **HIDDEN))
    path, port = f"/v1/bdbs/{bdb['uid']}", bdb["endpoints"][0]["port"]
    connection = socket.create_connection((cluster.addresses[0], port), timeout=10)
    connection.sendall(b"SET kept 1\r\n")
    assert connection.recv(64) == b"+OK\r\n"

    ok(cluster.api.post(f"{path}/actions/stop_traffic"))
    stopped_bdb = database_helpers.wait_until_settled(cluster, bdb["uid"])
    assert (stopped_bdb["traffic_manually_disabled"], stopped_bdb["shards_in_sync"]) == (True, 3)
    assert connection.recv(64) == b"", "existing connections are closed"
    for address in cluster.addresses:
        with pytest.raises(valkey.ConnectionError):
            valkey.Valkey(host=address, port=port, socket_timeout=10).ping()
    assert cluster.api.get(f"{path}/availability").status_code == 503

    ok(cluster.api.post(f"{path}/actions/resume_traffic"))
    assert not database_helpers.wait_until_settled(cluster, bdb["uid"])["traffic_manually_disabled"]
    for address in cluster.addresses:
        assert valkey.Valkey(host=address, port=port).get("kept") == b"1"
    assert cluster.api.get(f"{path}/availability").status_code == 200


def test_a_killed_proxy_is_restarted_automatically(cluster: LocalCluster) -> None:
    bdb = create_served_database(cluster, database_helpers.request_body(3, replication=True, **HIDDEN))
    writer = Writer(cluster.addresses[0], bdb["endpoints"][0]["port"])
    with writer.writing():
        wait_for_writes(cluster, writer, 50)
        [proxy] = cluster.proxies(cluster.addresses[0])
        proxy.kill()
        wait_for_writes(cluster, writer, 50)
    assert writer.lost() == []


def test_latency_and_requests_of_clients_are_measured(cluster: LocalCluster) -> None:
    bdb = create_served_database(cluster, database_helpers.request_body(3, replication=False, **HIDDEN))
    client = valkey.Valkey(host=cluster.addresses[0], port=bdb["endpoints"][0]["port"])

    metric_names = [f"{share}_read_latency" for share in ("p50", "p99", "p999")]
    values: dict[str, float] = {}

    def is_measured() -> bool:
        """Return whether the newest second has all values. It may be a second before the first request."""
        for number in range(50):
            client.set(f"k{number}", "v")
            client.get(f"k{number}")
        values.clear()
        values.update(ok(cluster.api.get("/v1/bdbs/stats/last")).get(str(bdb["uid"]), {}))
        return {"p99_latency", *metric_names} <= values.keys() and values.get("conns") == 1

    cluster.wait_until(is_measured, "no latency is measured, or the connection is not counted")
    assert 0 < values[metric_names[0]] <= values[metric_names[1]] <= values[metric_names[2]]

    def is_stored() -> bool:
        intervals = ok(cluster.api.get("/v1/endpoints/stats", params={"interval": "1sec"}))
        return any("avg_latency" in entry for endpoint in intervals for entry in endpoint["intervals"])

    cluster.wait_until(is_stored, "the endpoint's latency is not stored")
    text = cluster.api.get("/metrics").text  # totals, not values of one second
    assert "endpoint_read_requests_latency_histogram_bucket{" in text
    assert "endpoint_client_connections{" in text


def test_users_have_the_permissions_of_their_roles(cluster: LocalCluster) -> None:
    """The engine enforces the rules through the endpoint, from the creation of a user to its deletion."""
    api = cluster.api
    acl = ok(api.post("/v1/redis_acls", json={"name": "cache", "acl": "+@read +@write +@keyspace ~cache:* &*"}))["uid"]
    role = ok(api.post("/v1/roles", json={"name": "writers", "management": "none"}))["uid"]
    permissions = {"roles_permissions": [{"role_uid": role, "redis_acl_uid": acl}]}
    bdb = create_served_database(
        cluster, database_helpers.request_body(3, replication=True, default_user=False, **HIDDEN, **permissions)
    )
    ann = {"email": "ann", "name": "", "password": PASSWORD, "role_uids": [role]}
    user = ok(api.post("/v1/users", json=ann))["uid"]
    [endpoint] = bdb["endpoints"]

    def connect(password: str) -> valkey.Valkey:
        return valkey.Valkey(endpoint["addr"][0], endpoint["port"], username="ann", password=password)

    def succeeds(operation: Callable[[valkey.Valkey], object], password: str = PASSWORD) -> bool:
        try:
            with connect(password) as client:
                operation(client)
        except valkey.ValkeyError:
            return False
        return True

    # The keys are on all shards, because shards get the user at different moments.
    values = {f"cache:{number}": number for number in range(50)}
    cluster.wait_until(lambda: succeeds(lambda client: client.mset(values)), "Ann gets no access")
    with connect(PASSWORD) as client:
        assert client.mget([f"cache:{number}" for number in range(50)])[49] == b"49"
        for refused in (("GET", "orders:1"), ("CONFIG", "GET", "*"), ("ACL", "LIST"), ("EVAL", "return 1", "0")):
            with pytest.raises(valkey.ResponseError):
                client.execute_command(*refused)
    assert not succeeds(lambda client: client.ping(), "wrong")
    ok(api.put(f"/v1/redis_acls/{acl}", json={"acl": "+@read ~cache:*"}))
    cluster.wait_until(lambda: not succeeds(lambda client: client.set("cache:1", "y")), "the changed ACL has no effect")
    assert succeeds(lambda client: client.get("cache:1"))
    ok(api.put(f"/v1/users/{user}", json={"password": "another horse"}))
    cluster.wait_until(
        lambda: succeeds(lambda client: client.get("cache:1"), "another horse"), "the new password is not accepted"
    )
    cluster.wait_until(lambda: not succeeds(lambda client: client.get("cache:1")), "the old password is still accepted")
    ok(api.delete(f"/v1/users/{user}"))
    cluster.wait_until(
        lambda: not succeeds(lambda client: client.get("cache:1"), "another horse"), "Ann still has access"
    )
    events = [row["type"] for row in ok(api.get("/v1/logs"))]
    assert "bdb_access_failed" not in events
    database_helpers.delete(cluster, bdb["uid"])
    ok(api.delete(f"/v1/roles/{role}"))
    ok(api.delete(f"/v1/redis_acls/{acl}"))
