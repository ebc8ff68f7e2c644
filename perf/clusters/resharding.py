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
GROWN = scaled(6, 4)
"""Number of primaries at the end."""
CHUNK = 10_000


def reshard(report: Report, directory: Path) -> None:
    """Measure both paces, then valkey-cli, each with replicas and the same client."""
    size = f"3 to {GROWN} primaries, each with a replica, {KEYS} keys, under load"
    cluster = private_cluster(directory / "console", nodes=3)
    try:
        with without_autogroup() as sharing:
            cluster.start_console()
            cluster.start_agents()
            ours = _ours(cluster, "gentle")
            fast = _ours(cluster, "fast")
            report.fact(f"{size}{sharing}, from the request to the end", [ours.seconds], "s")
            report.fact("the same at fast pace", [fast.seconds], "s")
            cluster.kill_shards()
            theirs = _theirs(directory / "cli", cluster.addresses)
        report.fact("the same with valkey-cli --cluster rebalance", [theirs.seconds], "s")
    finally:
        cluster.stop()
        cluster.kill_shards()
    report.limit("ratio", ours.seconds / theirs.seconds, 1, "x")
    report.limit("ratio at fast pace", fast.seconds / theirs.seconds, 0.1, "x")
    report.fact(f"P99 at the client{theirs.latency()}, valkey-cli", [theirs.ratio()], "x")
    report.limit("P99 at the client, while slots move / before", ours.ratio(), 3, "x", ours.latency())
    report.fact(f"P99 at the client{fast.latency()}, fast pace", [fast.ratio()], "x")
    errors = ours.errors + fast.errors
    report.limit("errors at the client", len(errors), 0, "errors", f" {sorted(set(errors))[:3]}")
    report.limit("keys lost or wrong", ours.wrong + fast.wrong, 0, "keys")


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
        begun = time.time()
        change()
        ended = time.time()
        return ObservedChange(client.end(), begun, ended)


def _ours(cluster: LocalCluster, pace: ReshardingPace) -> ObservedChange:
    ok(cluster.api.put("/v1/cluster/policy", json={"resharding_pace": pace}))
    uid, _ = create(cluster, 3, replication=True)
    rows = [row for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards")) if row["role"] == "master"]
    _fill([((row["address"], row["port"]), slots.parse(row["assigned_slots"])) for row in rows])
    endpoint = ok(cluster.api.get(f"/v1/bdbs/{uid}"))["endpoints"][0]

    def change() -> None:
        ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"shards_count": GROWN}))
        cluster.wait_until(lambda: _status(cluster, uid) == "active", "the slots did not move", 3600)
        bdb = ok(cluster.api.get(f"/v1/bdbs/{uid}"))
        if bdb["status_detail"]:
            raise RuntimeError(bdb["status_detail"])

    seen = _watch(endpoint["addr"][0], endpoint["port"], change)
    delete(cluster, uid)
    return seen


def _status(cluster: LocalCluster, uid: int) -> str:
    status: str = ok(cluster.api.get(f"/v1/bdbs/{uid}", params={"fields": "status"}))["status"]
    return status


def _fill(primaries: Sequence[tuple[tuple[str, int], slots.Ranges]]) -> None:
    """Write all keys, each to the shard of its slot."""
    home = {slot: place for place, held in primaries for slot in slots.each(held)}
    connections = {place: socket.create_connection(place) for place, _ in primaries}
    for start in range(0, KEYS, CHUNK):
        commands: dict[tuple[str, int], list[bytes]] = {place: [] for place in connections}
        for number in range(start, min(KEYS, start + CHUNK)):
            key = f"key:{number}"
            commands[home[slots.slot_of(key)]].append(hiredis.pack_command(("SET", key, value_of(number))))  # type: ignore[arg-type]
        for place, packed in commands.items():
            connections[place].sendall(b"".join(packed))
            waiting = len(b"+OK\r\n") * len(packed)
            while waiting:
                waiting -= len(connections[place].recv(65536))
    for connection in connections.values():
        connection.close()


def _theirs(directory: Path, addresses: Sequence[str]) -> ObservedChange:
    """Measure the same processes and settings with valkey-cli: six primaries and their replicas, three of each without slots."""
    places = [(addresses[index % 3], 20100 + index) for index in range(12)]
    with _processes(directory, places):
        hosts = [f"{address}:{port}" for address, port in places]
        _manage("create", *hosts[:3], *hosts[6:9], "--cluster-replicas", "1", "--cluster-yes")
        ids = {}
        for primary, replica in zip(hosts[3:GROWN], hosts[9 : GROWN + 6], strict=True):
            for host in (primary, replica):
                _manage("add-node", host, hosts[0])
                ids[host] = _execute(*_place(host), "CLUSTER", "MYID")
                _settled(places, 6 + len(ids))
            # Not with add-node, which does not wait until the replica knows its primary.
            follow = ("CLUSTER", "REPLICATE", ids[primary])
            _until(lambda host=replica, argv=follow: _execute(*_place(host), *argv) == "OK")  # type: ignore[misc]
        _settled(places, 6 + len(ids))
        shares = zip(places[:3], slots.split(3), strict=True)
        _fill([(place, (share,)) for place, share in shares])

        def change() -> None:
            if SMOKE:
                few = ("--cluster-slots", "30", "--cluster-yes")
                _manage("reshard", hosts[0], "--cluster-from", "all", "--cluster-to", ids[hosts[3]], *few)
            else:
                _manage("rebalance", hosts[0], "--cluster-use-empty-masters")

        return _watch(*places[0], change)


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
    running: list[psutil.Popen] = []
    try:
        for index, (address, port) in enumerate(places):
            home = directory / str(index)
            home.mkdir(parents=True)
            shard = ShardSpec(
                uid=index, bdb_uid=1, engine_id=f"{index:040x}", port=port, bus_port=port + 5000, role="master"
            )
            (home / "valkey.conf").write_text(grant_all_to_default_user(shard_config.valkey_conf(bdb, shard, address)))
            running.append(psutil.Popen(["valkey-server", "valkey.conf"], cwd=home, stdout=subprocess.DEVNULL))
        _until(lambda: all(_execute(*place, "PING") == "PONG" for place in places))
        yield
    finally:
        for process in running:
            process.kill()
        psutil.wait_procs(running, timeout=10)


def _place(host: str) -> tuple[str, int]:
    address, _, port = host.partition(":")
    return address, int(port)


def _settled(places: Sequence[tuple[str, int]], count: int) -> None:
    """Wait until `count` nodes have joined, all know each other, and all replicas are connected."""

    def agreed() -> bool:
        views = [_execute(*place, "CLUSTER", "NODES") for place in places]
        joined = [view for view in views if len(view.splitlines()) > 1]
        links = [_execute(*place, "INFO", "replication") for place in places]
        return (
            [len(view.splitlines()) for view in joined] == [count] * count
            and not any("handshake" in view or "fail" in view for view in joined)
            and not any("master_link_status:down" in link for link in links)
        )

    _until(agreed)


def _manage(command: str, *argv: str) -> None:
    done = subprocess.run(
        ["valkey-cli", "--cluster", command, *argv],
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"valkey-cli --cluster {command}: {(done.stdout + done.stderr)[-500:]}")


def _execute(address: str, port: int, *argv: str) -> str:
    command = ["valkey-cli", "-h", address, "-p", str(port), *argv]
    return subprocess.run(command, capture_output=True, text=True, timeout=10, check=False).stdout.strip()


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("valkey-cli's cluster did not become ready")
        time.sleep(0.1)
