"""Resharding from 3 to 6 primaries under load: duration at both paces and effects on a client, compared with `valkey-cli` on the
same machine.
"""

import secrets
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import hiredis
import psutil

from perf.clusters.creation import create, delete, grant_all_to_default_user
from perf.kit.client_processes import ClientRecord, traffic, without_autogroup
from perf.kit.cluster_client import value_of
from perf.kit.report import Report
from perf.kit.scale import SMOKE, counted, scaled
from shardboard.agent.databases import shard_config
from shardboard.contract import BdbSpec, ShardSpec
from shardboard.domain.placement import slots
from shardboard.domain.placement.resharding_estimate import ReshardingPace
from shardboard.local.cluster import LocalCluster, ok, private_cluster

KEYS = counted("KEYS", 1_000_000, 2_000)
BEFORE_SECONDS = scaled(30, 2)
"""Seconds of client traffic before anything moves."""
GROWN_PAIRS = scaled(6, 4)
"""Number of primaries at the end."""
CHUNK = 10_000


def reshard(report: Report, directory: Path) -> None:
    """Measure both paces, then valkey-cli, each with replicas and the same client."""
    size = f"3 to {GROWN_PAIRS} primaries, each with a replica, {KEYS} keys, under load"
    cluster = private_cluster(directory / "console", nodes=3)
    try:
        with without_autogroup() as fair_scheduling:
            cluster.start_console()
            cluster.start_agents()
            own_result = _reshard_with_console(cluster, "gentle")
            fast = _reshard_with_console(cluster, "fast")
            report.fact(f"{size}{fair_scheduling}, from the request to the end", [own_result.seconds], "s")
            report.fact("the same at fast pace", [fast.seconds], "s")
            cluster.kill_shards()
            cli_result = _reshard_with_cli(directory / "cli", cluster.addresses)
        report.fact("the same with valkey-cli --cluster rebalance", [cli_result.seconds], "s")
    finally:
        cluster.stop()
        cluster.kill_shards()
    report.limit("ratio", own_result.seconds / cli_result.seconds, 1, "x")
    report.limit("ratio at fast pace", fast.seconds / cli_result.seconds, 0.1, "x")
    report.fact(f"P99 at the client{cli_result.latency()}, valkey-cli", [cli_result.ratio()], "x")
    report.limit("P99 at the client, while slots move / before", own_result.ratio(), 3, "x", own_result.latency())
    report.fact(f"P99 at the client{fast.latency()}, fast pace", [fast.ratio()], "x")
    errors = own_result.errors + fast.errors
    report.limit("errors at the client", len(errors), 0, "errors", f" {sorted(set(errors))[:3]}")
    report.limit("keys lost or wrong", own_result.wrong + fast.wrong, 0, "keys")


class ObservedChange:
    """One change and its effects on the client."""

    def __init__(self, seen: ClientRecord, begun: float, ended: float) -> None:
        self.seconds = ended - begun
        self.errors, self.wrong = seen.errors, seen.wrong
        self._before, self._during = seen.between(0, begun), seen.between(begun, ended)

    def ratio(self) -> float:
        return self._during.p99 / self._before.p99

    def latency(self) -> str:
        before, during = self._before, self._during
        return f" ({before.p99:.1f} ms before, {during.p99:.1f} ms during,  {during.worst:.0f} ms at worst)"


def _watch(host: str, port: int, change: Callable[[], None]) -> ObservedChange:
    """Perform the change while a client is active."""
    with traffic(host, port, KEYS) as client:
        time.sleep(BEFORE_SECONDS)
        start = time.time()
        change()
        end = time.time()
        return ObservedChange(client.end(), start, end)


def _reshard_with_console(cluster: LocalCluster, pace: ReshardingPace) -> ObservedChange:
    ok(cluster.api.put("/v1/cluster/policy", json={"resharding_pace": pace}))
    uid, _ = create(cluster, 3, replication=True)
    rows = [row for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards")) if row["role"] == "master"]
    _fill([((row["address"], row["port"]), slots.parse(row["assigned_slots"])) for row in rows])
    endpoint = ok(cluster.api.get(f"/v1/bdbs/{uid}"))["endpoints"][0]

    def change() -> None:
        ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"shards_count": GROWN_PAIRS}))
        cluster.wait_until(lambda: _status(cluster, uid) == "active", "the slots did not move", 3600)
        bdb = ok(cluster.api.get(f"/v1/bdbs/{uid}"))
        if bdb["status_detail"]:
            raise RuntimeError(bdb["status_detail"])

    client_result = _watch(endpoint["addr"][0], endpoint["port"], change)
    delete(cluster, uid)
    return client_result


def _status(cluster: LocalCluster, uid: int) -> str:
    status: str = ok(cluster.api.get(f"/v1/bdbs/{uid}", params={"fields": "status"}))["status"]
    return status


def _fill(primaries: Sequence[tuple[tuple[str, int], slots.Ranges]]) -> None:
    """Write all keys, each to the shard of its slot."""
    address_by_slot = {slot: address for address, ranges in primaries for slot in slots.each(ranges)}
    connections = {address: socket.create_connection(address) for address, _ in primaries}
    for start in range(0, KEYS, CHUNK):
        commands: dict[tuple[str, int], list[bytes]] = {address: [] for address in connections}
        for number in range(start, min(KEYS, start + CHUNK)):
            key = f"key:{number}"
            commands[address_by_slot[slots.slot_of(key)]].append(hiredis.pack_command(("SET", key, value_of(number))))  # type: ignore[arg-type]
        for address, packed in commands.items():
            connections[address].sendall(b"".join(packed))
            bytes_pending = len(b"+OK\r\n") * len(packed)
            while bytes_pending:
                bytes_pending -= len(connections[address].recv(65536))
    for connection in connections.values():
        connection.close()


def _reshard_with_cli(directory: Path, addresses: Sequence[str]) -> ObservedChange:
    """Measure the same processes and settings with valkey-cli: six primaries and their replicas, three of each without slots."""
    endpoints = [(addresses[index % 3], 20100 + index) for index in range(12)]
    with _processes(directory, endpoints):
        hosts = [f"{address}:{port}" for address, port in endpoints]
        _manage("create", *hosts[:3], *hosts[6:9], "--cluster-replicas", "1", "--cluster-yes")
        ids = {}
        for primary, replica in zip(hosts[3:GROWN_PAIRS], hosts[9 : GROWN_PAIRS + 6], strict=True):
            for host in (primary, replica):
                _manage("add-node", host, hosts[0])
                ids[host] = _execute(*_place(host), "CLUSTER", "MYID")
                _wait_until_settled(endpoints, 6 + len(ids))
            # Not with add-node, which does not wait until the replica knows its primary.
            follow = ("CLUSTER", "REPLICATE", ids[primary])
            _wait_until(lambda host=replica, argv=follow: _execute(*_place(host), *argv) == "OK")  # type: ignore[misc]
        _wait_until_settled(endpoints, 6 + len(ids))
        shares = zip(endpoints[:3], slots.split(3), strict=True)
        _fill([(address, (share,)) for address, share in shares])

        def change() -> None:
            if SMOKE:
                slot_arguments = ("--cluster-slots", "30", "--cluster-yes")
                _manage("reshard", hosts[0], "--cluster-from", "all", "--cluster-to", ids[hosts[3]], *slot_arguments)
            else:
                _manage("rebalance", hosts[0], "--cluster-use-empty-masters")

        return _watch(*endpoints[0], change)


@contextmanager
def _processes(directory: Path, places: Sequence[tuple[str, int]]) -> Iterator[None]:
    bdb = BdbSpec(
        uid=1,
        cluster=True,
        peers=[],
        admin_password=secrets.token_urlsafe(),
        client_password="",
        maxmemory=0,
        eviction_policy="volatile-lru",
        appendonly=False,
        appendfsync="everysec",
        save=[],
        node_timeout_ms=5000,
        hz=10,
        maxclients=10000,
    )
    processes: list[psutil.Popen] = []
    try:
        for index, (address, port) in enumerate(places):
            home = directory / str(index)
            home.mkdir(parents=True)
            shard = ShardSpec(
                uid=index, bdb_uid=1, engine_id=f"{index:040x}", port=port, bus_port=port + 5000, role="master"
            )
            (home / "valkey.conf").write_text(grant_all_to_default_user(shard_config.valkey_conf(bdb, shard, address)))
            processes.append(psutil.Popen(["valkey-server", "valkey.conf"], cwd=home, stdout=subprocess.DEVNULL))
        _wait_until(lambda: all(_execute(*address, "PING") == "PONG" for address in places))
        yield
    finally:
        for process in processes:
            process.kill()
        psutil.wait_procs(processes, timeout=10)


def _place(host: str) -> tuple[str, int]:
    address, _, port = host.partition(":")
    return address, int(port)


def _wait_until_settled(places: Sequence[tuple[str, int]], count: int) -> None:
    """Wait until `count` nodes have joined, all know each other, and all replicas are connected."""

    def agree() -> bool:
        views = [_execute(*address, "CLUSTER", "NODES") for address in places]
        joined = [view for view in views if len(view.splitlines()) > 1]
        links = [_execute(*address, "INFO", "replication") for address in places]
        return (
            [len(view.splitlines()) for view in joined] == [count] * count
            and not any("handshake" in view or "fail" in view for view in joined)
            and not any("master_link_status:down" in link for link in links)
        )

    _wait_until(agree)


def _manage(command: str, *argv: str) -> None:
    result = subprocess.run(
        ["valkey-cli", "--cluster", command, *argv],
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    if result.returncode:
        raise RuntimeError(f"valkey-cli --cluster {command}: {(result.stdout + result.stderr)[-500:]}")


def _execute(address: str, port: int, *argv: str) -> str:
    command = ["valkey-cli", "-h", address, "-p", str(port), *argv]
    return subprocess.run(command, capture_output=True, text=True, timeout=10, check=False).stdout.strip()


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("valkey-cli's cluster did not become ready")
        time.sleep(0.1)
