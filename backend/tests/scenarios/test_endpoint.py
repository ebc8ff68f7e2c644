"""One address for clients: it stays through failovers, restarts and changes, and nothing acknowledged is lost."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import valkey
from backend.tests.scenarios import databases

from shardboard.local import LocalCluster, ok

HIDDEN = {"oss_cluster": False, "proxy_policy": "all-nodes"}
FIRST = "correct-horse"


class Writer:
    """A plain client that counts up, one key a number, and remembers what was written, and what replicas had, too."""

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
                # A primary may die with what it has not replicated yet, and while a node is down some have no replica.
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


def served(cluster: LocalCluster, wanted: dict[str, Any]) -> dict[str, Any]:
    bdb = databases.settled(cluster, databases.create(cluster, wanted))
    assert bdb["status"] == "active", bdb["status_detail"]
    return bdb


def grown(cluster: LocalCluster, writer: Writer, by: int = 200) -> None:
    """Wait until more was written."""
    goal = writer.written + by
    cluster.until(lambda: writer.written > goal, f"writes stopped: {writer.errors[-1:]}")


@pytest.mark.slow
def test_a_plain_client_goes_on_while_another_node_dies(cluster: LocalCluster) -> None:
    bdb = served(cluster, databases.body(3, replication=True, **HIDDEN))
    endpoint = bdb["endpoints"][0]
    assert endpoint["addr"] == list(cluster.addresses)
    writer = Writer(cluster.addresses[0], endpoint["port"])
    with writer.writing():
        grown(cluster, writer)
        cluster.kill_node(cluster.addresses[1])
        grown(cluster, writer)
    # A write that was under way when the shard died is answered with an error, never repeated silently.
    assert len(writer.errors) <= 3, writer.errors
    assert writer.lost() == []
    cluster.until(
        lambda: (
            ok(cluster.api.get(f"/v1/bdbs/{bdb['uid']}"))["endpoints"][0]["addr"]
            == [*cluster.addresses[:1], *cluster.addresses[2:]]
        ),
        "the dead node is among the addresses still",
    )


@pytest.mark.slow
def test_a_database_of_one_shard_keeps_its_address_when_its_primary_moves(cluster: LocalCluster) -> None:
    bdb = served(cluster, databases.body(1, replication=True))
    [address], port = bdb["endpoints"][0]["addr"], bdb["endpoints"][0]["port"]
    writer = Writer(address, port)
    with writer.writing():
        grown(cluster, writer, 50)
        rows = ok(cluster.api.get(f"/v1/bdbs/{bdb['uid']}/shards"))
        primary = next(row for row in rows if row["actual_role"] == "master")
        ok(cluster.api.post(f"/v1/shards/{primary['uid']}/actions/failover", json={}))

        def moved() -> bool:
            now = ok(cluster.api.get(f"/v1/shards/{primary['uid']}"))
            return bool(now["actual_role"] == "slave")

        cluster.until(moved, "the primary did not move")
        grown(cluster, writer, 50)
        assert ok(cluster.api.get(f"/v1/bdbs/{bdb['uid']}"))["endpoints"][0]["addr"] == [address]
    assert writer.lost() == []
    assert writer.client.mset({"a": "1", "b": "2"}), "keys of different slots in one command"


@pytest.mark.slow
def test_threads_change_and_agents_restart_without_a_client_noticing(cluster: LocalCluster) -> None:
    bdb = served(cluster, databases.body(3, replication=True, **HIDDEN))
    writer = Writer(cluster.addresses[0], bdb["endpoints"][0]["port"])
    with writer.writing():
        grown(cluster, writer)
        ok(cluster.api.put("/v1/proxies/1", json={"allow_restart": True, "proxy": {"threads": 3}}))
        grown(cluster, writer)
        cluster.kill(cluster.addresses[0])
        grown(cluster, writer)
        cluster.start_agents()
        grown(cluster, writer)
        cluster.until(lambda: ok(cluster.api.get("/v1/proxies/1"))["threads"] == 3, "the threads were forgotten")
    assert writer.errors == []
    assert writer.lost() == []


def test_traffic_is_stopped_and_resumed(cluster: LocalCluster) -> None:
    bdb = served(cluster, databases.body(3, replication=False, **HIDDEN))
    path, port = f"/v1/bdbs/{bdb['uid']}", bdb["endpoints"][0]["port"]
    inside = socket.create_connection((cluster.addresses[0], port), timeout=10)
    inside.sendall(b"SET kept 1\r\n")
    assert inside.recv(64) == b"+OK\r\n"

    ok(cluster.api.post(f"{path}/actions/stop_traffic"))
    stopped = databases.settled(cluster, bdb["uid"])
    assert (stopped["traffic_manually_disabled"], stopped["shards_in_sync"]) == (True, 3)
    assert inside.recv(64) == b"", "who is connected is disconnected"
    for address in cluster.addresses:
        with pytest.raises(valkey.ConnectionError):
            valkey.Valkey(host=address, port=port, socket_timeout=10).ping()
    assert cluster.api.get(f"{path}/availability").status_code == 503

    ok(cluster.api.post(f"{path}/actions/resume_traffic"))
    assert not databases.settled(cluster, bdb["uid"])["traffic_manually_disabled"]
    for address in cluster.addresses:
        assert valkey.Valkey(host=address, port=port).get("kept") == b"1"
    assert cluster.api.get(f"{path}/availability").status_code == 200


def test_a_killed_proxy_is_back_by_itself(cluster: LocalCluster) -> None:
    bdb = served(cluster, databases.body(3, replication=True, **HIDDEN))
    writer = Writer(cluster.addresses[0], bdb["endpoints"][0]["port"])
    with writer.writing():
        grown(cluster, writer, 50)
        [proxy] = cluster.proxies(cluster.addresses[0])
        proxy.kill()
        grown(cluster, writer, 50)
    assert writer.lost() == []


def test_latency_and_requests_are_those_of_clients(cluster: LocalCluster) -> None:
    bdb = served(cluster, databases.body(3, replication=False, **HIDDEN))
    client = valkey.Valkey(host=cluster.addresses[0], port=bdb["endpoints"][0]["port"])

    read = [f"{share}_read_latency" for share in ("p50", "p99", "p999")]
    found: dict[str, float] = {}

    def measured() -> bool:
        """Whether the newest second has all: it may be one in which this client had not begun."""
        for number in range(50):
            client.set(f"k{number}", "v")
            client.get(f"k{number}")
        found.clear()
        found.update(ok(cluster.api.get("/v1/bdbs/stats/last")).get(str(bdb["uid"]), {}))
        return {"p99_latency", *read} <= found.keys() and found.get("conns") == 1

    cluster.until(measured, "no latency was measured, or the connection is not counted")
    assert 0 < found[read[0]] <= found[read[1]] <= found[read[2]]

    def stored() -> bool:
        intervals = ok(cluster.api.get("/v1/endpoints/stats", params={"interval": "1sec"}))
        return any("avg_latency" in entry for endpoint in intervals for entry in endpoint["intervals"])

    cluster.until(stored, "the endpoint's latency is not stored")
    text = cluster.api.get("/metrics").text  # what was counted so far, not that of one second
    assert "endpoint_read_requests_latency_histogram_bucket{" in text
    assert "endpoint_client_connections{" in text


def test_users_may_do_what_their_roles_let_them(cluster: LocalCluster) -> None:
    """Through the endpoint, by the engine's own judgement, from the order to the end of a user's access."""
    api = cluster.api
    acl = ok(api.post("/v1/redis_acls", json={"name": "cache", "acl": "+@read +@write +@keyspace ~cache:* &*"}))["uid"]
    role = ok(api.post("/v1/roles", json={"name": "writers", "management": "none"}))["uid"]
    allowed = {"roles_permissions": [{"role_uid": role, "redis_acl_uid": acl}]}
    bdb = served(cluster, databases.body(3, replication=True, default_user=False, **HIDDEN, **allowed))
    ann = {"email": "ann", "name": "", "password": FIRST, "role_uids": [role]}
    user = ok(api.post("/v1/users", json=ann))["uid"]
    [endpoint] = bdb["endpoints"]

    def opened(password: str) -> valkey.Valkey:
        return valkey.Valkey(endpoint["addr"][0], endpoint["port"], username="ann", password=password)

    def can(do: Callable[[valkey.Valkey], object], password: str = FIRST) -> bool:
        try:
            with opened(password) as client:
                do(client)
        except valkey.ValkeyError:
            return False
        return True

    # By every shard: one may hear of her a moment before another.
    everywhere = {f"cache:{number}": number for number in range(50)}
    cluster.until(lambda: can(lambda client: client.mset(everywhere)), "Ann is never let in")
    with opened(FIRST) as client:
        assert client.mget([f"cache:{number}" for number in range(50)])[49] == b"49"
        for refused in (("GET", "orders:1"), ("CONFIG", "GET", "*"), ("ACL", "LIST"), ("EVAL", "return 1", "0")):
            with pytest.raises(valkey.ResponseError):
                client.execute_command(*refused)
    assert not can(lambda client: client.ping(), "wrong")
    ok(api.put(f"/v1/redis_acls/{acl}", json={"acl": "+@read ~cache:*"}))
    cluster.until(lambda: not can(lambda client: client.set("cache:1", "y")), "the change of the list is not heard of")
    assert can(lambda client: client.get("cache:1"))
    ok(api.put(f"/v1/users/{user}", json={"password": "another horse"}))
    cluster.until(lambda: can(lambda client: client.get("cache:1"), "another horse"), "the new password is never right")
    cluster.until(lambda: not can(lambda client: client.get("cache:1")), "the old password stays right")
    ok(api.delete(f"/v1/users/{user}"))
    cluster.until(lambda: not can(lambda client: client.get("cache:1"), "another horse"), "Ann stays")
    events = [row["type"] for row in ok(api.get("/v1/logs"))]
    assert "bdb_access_failed" not in events
    databases.delete(cluster, bdb["uid"])
    ok(api.delete(f"/v1/roles/{role}"))
    ok(api.delete(f"/v1/redis_acls/{acl}"))
