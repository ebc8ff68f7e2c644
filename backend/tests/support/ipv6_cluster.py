"""Steps of `local/test_ipv6.py`: `python -m … DIRECTORY ADDRESS…` on a machine without IPv4. Prints each step that is done."""

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import valkey
from backend.tests.scenarios import database_helpers
from valkey.cluster import ValkeyCluster

from shardboard.agent.benchmarks import load_generators
from shardboard.kit.addresses import host_port
from shardboard.local.cluster import LocalCluster, ok

HTTPS_PORT, HTTP_PORT = 9443, 8080


def main(directory: Path, *addresses: str) -> None:
    cluster = LocalCluster(
        directory,
        user="admin@example.org",
        password="correct-horse",
        https_port=HTTPS_PORT,
        http_port=HTTP_PORT,
        addresses=addresses,
    )
    cluster.url = f"https://{host_port('::1', HTTPS_PORT)}"
    with database_helpers.running(cluster):
        check_console(cluster)
        check_sharded(cluster)
        check_hidden(cluster)
        check_failover(cluster)


def check_console(cluster: LocalCluster) -> None:
    """Check the loopback port, and the host of the join command."""
    assert httpx.get(f"http://{host_port('::1', HTTP_PORT)}/v1/ca").status_code == 200
    command = ok(cluster.api.post("/v1/join_tokens", json={"address": "FD00:0::20"}))["command"]
    assert f"--join 'https://[::1]:{HTTPS_PORT}' " in command, command
    assert command.endswith("--address fd00::20"), command
    report("joined")


def check_sharded(cluster: LocalCluster) -> None:
    """Use a database in cluster mode through its endpoints, also while its slots move."""
    bdb = create(cluster, name="sharded", replication=True)
    port = bdb["endpoints"][0]["port"]
    places = [(address, port) for address in cluster.addresses]
    assert {tuple(node[:2]) for _, _, node in slots(places[0])} == set(places)
    moved = next(reply for place in places if (reply := plain(place, "SET mover 1")).startswith("-MOVED"))
    assert any(moved.endswith(f" {address}:{port}") for address in cluster.addresses), moved
    client = ValkeyCluster(host=places[0][0], port=port, decode_responses=True, socket_timeout=30)
    for number in range(500):
        client.set(f"key:{number}", number)
    check_load_generator(places)
    report("sharded")

    action = ok(cluster.api.put(f"/v1/bdbs/{bdb['uid']}", json={"shards_count": 4}))["action_uid"]
    cluster.wait_until(
        lambda: ok(cluster.api.get(f"/v1/actions/{action}"))["status"] == "completed", "the slots are not moved"
    )
    assert [client.get(f"key:{number}") for number in range(500)] == [str(number) for number in range(500)]
    report("resharded")


def check_load_generator(places: list[tuple[str, int]]) -> None:
    (host, port), *others = places
    seeds = ",".join(host_port(*other) for other in others)
    program = load_generators.find()
    assert program is not None
    arguments = [f"--server={host}", f"--port={port}", "--cluster-mode", f"--seeds={seeds}", "--requests=50"]
    subprocess.run([program, *arguments, "--threads=1", "--clients=2"], capture_output=True, check=True, timeout=30)


def check_hidden(cluster: LocalCluster) -> None:
    """Use a database whose shards are hidden behind one address, on a node without its primary."""
    bdb = create(cluster, name="hidden", oss_cluster=False, proxy_policy="all-nodes")
    port = bdb["endpoints"][0]["port"]
    for address in cluster.addresses:
        client = valkey.Valkey(host=address, port=port, decode_responses=True, socket_timeout=10)
        client.mset({f"{address}:{number}": number for number in range(50)})
        assert len(client.keys(f"{address}:*")) == 50
        client.close()
        assert f"laddr={host_port(address, port)} " in plain((address, port), "CLIENT INFO")
    report("hidden")


def check_failover(cluster: LocalCluster) -> None:
    """Kill a node with primaries of the first database. Witnesses on the other nodes confirm it, and replicas are promoted."""
    bdb = next(row for row in ok(cluster.api.get("/v1/bdbs")) if row["name"] == "sharded")
    database_helpers.wait_until_replicated(cluster, bdb["uid"])
    cluster.kill_node(cluster.addresses[2])
    client = ValkeyCluster(
        host=cluster.addresses[0], port=bdb["endpoints"][0]["port"], decode_responses=True, socket_timeout=30
    )

    def is_complete() -> bool:
        try:
            return all(client.set(f"key:{number}", "new") for number in range(500))
        except valkey.ValkeyError:
            return False

    cluster.wait_until(is_complete, "not all slots accept writes")
    events = ok(cluster.api.get("/v1/logs"))
    assert any(event["type"] == "node_failed" for event in events)
    report("failed-over")


def create(cluster: LocalCluster, **fields: Any) -> dict[str, Any]:
    bdb = database_helpers.wait_until_settled(
        cluster, database_helpers.create(cluster, database_helpers.request_body(3, **fields))
    )
    assert bdb["status"] == "active", bdb["status_detail"]
    return bdb


def slots(place: tuple[str, int]) -> list[Any]:
    client = valkey.Valkey(*place, decode_responses=True, socket_timeout=10)
    client.set_response_callback("CLUSTER SLOTS", lambda reply, **_: reply)
    found: list[Any] = client.execute_command("CLUSTER SLOTS")
    client.close()
    return found


def plain(place: tuple[str, int], line: str) -> str:
    """Return the reply to an inline command, without redirection."""
    with socket.create_connection(place, 10) as connection:
        connection.sendall(f"{line}\r\n".encode())
        return connection.recv(1000).decode().strip()


def report(step: str) -> None:
    sys.stdout.write(f"{step}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
