"""The engine of a database is upgraded under writes, from the Valkey of the distribution to the Valkey that the setup built."""

import os
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
import pytest
import valkey
from backend.tests.scenarios import database_helpers, movement_helpers
from backend.tests.scenarios.test_reshard import Load

from shardboard.agent.databases.engine import engine_path, engine_version
from shardboard.domain.placement.slots import SLOTS
from shardboard.local.cluster import LocalCluster, LocalError, ok


def _older_engine() -> str | None:
    """Return the path of the engine of the distribution if its version differs from the built one."""
    own = str(Path(sys.executable).parent)
    for directory in os.environ["PATH"].split(os.pathsep):
        binary = Path(directory) / "valkey-server"
        if directory != own and os.access(binary, os.X_OK):
            other = engine_version(str(binary)) != engine_version("valkey-server")
            return str(binary) if other else None
    return None


def _versions(cluster: LocalCluster, uid: int) -> set[str]:
    return {row.get("engine_version", "") for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))}


def _installed_versions(cluster: LocalCluster) -> set[str]:
    return {row["engine_version"] for row in ok(cluster.api.get("/v1/nodes"))}


@pytest.mark.skipif(_older_engine() is None, reason="there is only one engine on this machine")
@pytest.mark.slow
def test_an_upgrade_loses_no_write(cluster: LocalCluster) -> None:
    (uid,), newer = _old_databases_on_new_nodes(cluster, 1), engine_version("valkey-server")
    before = _layout(cluster, uid)
    with movement_helpers.Writer(cluster, uid) as writer:
        plan = ok(cluster.api.post(f"/v1/bdbs/{uid}/upgrade", params={"dry_run": "true"}))
        assert len(plan["steps"]) == 4
        ok(cluster.api.post(f"/v1/bdbs/{uid}/upgrade"))
        cluster.wait_until(lambda: _status(cluster, uid) == "active", "the upgrade does not end", 120)
    assert ok(cluster.api.get(f"/v1/bdbs/{uid}"))["status_detail"] == ""
    assert writer.lost() == []
    cluster.wait_until(lambda: _versions(cluster, uid) == {newer}, "a shard was not upgraded")
    assert _layout(cluster, uid) == before, "every shard keeps its node and its role"
    event_types = [
        event["type"] for event in ok(cluster.api.get("/v1/logs")) if event["type"].startswith("bdb_upgrade")
    ]
    assert sorted(event_types) == ["bdb_upgrade_completed", "bdb_upgrade_request"]
    movement_helpers.wait_until_shards_agree(cluster, uid)


@pytest.mark.skipif(_older_engine() is None, reason="there is only one engine on this machine")
@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True], ids=["undisturbed", "console killed"])
def test_an_upgrade_replaces_replicas_first_without_client_errors(cluster: LocalCluster, killed: bool) -> None:
    (uid,), newer = _old_databases_on_new_nodes(cluster, 1), engine_version("valkey-server")
    bdb = ok(cluster.api.get(f"/v1/bdbs/{uid}"))
    load = Load({"endpoints": [_complete_endpoint(cluster, bdb)]})
    load.fill()
    with load, VersionWatch(cluster, uid) as versions:
        action_uid = ok(cluster.api.post(f"/v1/bdbs/{uid}/upgrade"))["action_uid"]
        if killed:
            cluster.wait_until(lambda: len(_versions(cluster, uid) - {""}) == 2, "no shard is replaced", 120)
            assert movement_helpers.action_status(cluster, action_uid) == "running"
            cluster.kill("console")
            cluster.start_console()
        action = movement_helpers.wait_for_end(cluster, action_uid, 240)
        assert action["status"] == "completed", action["additional_info"]
        cluster.wait_until(lambda: _versions(cluster, uid) == {newer}, "a shard was not upgraded")
    assert (load.errors, load.wrong) == ([], [])
    assert load.requests > 100
    assert load.missing() == []
    assert versions.errors == []
    assert versions.mixed, "no replica was observed with a newer version than its primary"
    movement_helpers.wait_until_shards_agree(cluster, uid)
    database_helpers.delete(cluster, uid)


@pytest.mark.skipif(_older_engine() is None, reason="there is only one engine on this machine")
@pytest.mark.slow
def test_one_request_upgrades_all_databases_of_a_node(cluster: LocalCluster) -> None:
    uids, newer = _old_databases_on_new_nodes(cluster, 2), engine_version("valkey-server")
    (node,) = {
        row["node_uid"]
        for row in movement_helpers.shard_rows(cluster, uids[0])
        if row["pair"] == 0 and row["role"] == "master"
    }
    with movement_helpers.Writer(cluster, uids[0]) as first, movement_helpers.Writer(cluster, uids[1]) as second:
        results = ok(cluster.api.post(f"/v1/nodes/{node}/upgrade"))["databases"]
        assert [(each["bdb_uid"], each["refused"]) for each in results] == [(uid, "") for uid in uids]
        for each in results:
            action = movement_helpers.wait_for_end(cluster, each["action_uid"], 240)
            assert action["status"] == "completed", action["additional_info"]
    assert (first.lost(), second.lost()) == ([], [])
    for uid in uids:
        cluster.wait_until(lambda uid=uid: _versions(cluster, uid) == {newer}, "a shard was not upgraded")  # type: ignore[misc]
        movement_helpers.wait_until_shards_agree(cluster, uid)
        database_helpers.delete(cluster, uid)


class VersionWatch:
    """Polls the sampled versions within each pair while its shards are replaced.

    Only the former primary, which is about to be removed, may replicate from a newer primary. All other replicas must be able to
    read what the new primary writes, and a newer primary must never be replaced by an older one.
    """

    def __init__(self, cluster: LocalCluster, uid: int) -> None:
        self._cluster = cluster
        self._uid = uid
        self._initial_shards: set[str] = set()
        self._primaries_by_pair: dict[int, list[tuple[str, tuple[int, ...]]]] = {}
        """The primaries of each pair with their versions, in order."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.errors: list[str] = []
        self.mixed = False
        """Whether a replica was newer than its primary."""

    def __enter__(self) -> "VersionWatch":
        self._initial_shards = {row["uid"] for row in movement_helpers.shard_rows(self._cluster, self._uid)}
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(0.05):
            try:
                rows = movement_helpers.shard_rows(self._cluster, self._uid)
            except (httpx.HTTPError, LocalError):
                continue  # the console was killed
            for pair in {row["pair"] for row in rows}:
                self._check_pair(pair, [row for row in rows if row["pair"] == pair and row.get("engine_version")])

    def _check_pair(self, pair: int, rows: list[dict[str, Any]]) -> None:
        versions = {row["uid"]: tuple(map(int, row["engine_version"].split("."))) for row in rows}
        primaries = [row["uid"] for row in rows if row["role"] == "master"]
        if len(primaries) != 1:
            return
        primary, history = primaries[0], self._primaries_by_pair.setdefault(pair, [])
        if not history or history[-1][0] != primary:
            if history and history[-1][1] > versions[primary]:
                self.errors.append(f"pair {pair}: the primary role went from {history[-1]} back to {versions[primary]}")
            history.append((primary, versions[primary]))
        former = {uid for uid, _ in history[:-1]}
        for uid, version in versions.items():
            self.mixed |= version > versions[primary]
            if version < versions[primary] and uid not in former:
                self.errors.append(f"pair {pair}: redis:{uid} {version} follows redis:{primary} {versions[primary]}")
            if uid not in self._initial_shards and version < max(versions.values()):
                self.errors.append(f"pair {pair}: redis:{uid} was started with {version}")


def _old_databases_on_new_nodes(cluster: LocalCluster, count: int) -> list[int]:
    """Create databases whose shards run the older engine on nodes that have the newer one. Return their uids."""
    older, newer = engine_version(str(_older_engine())), engine_version("valkey-server")
    database_helpers.use_engine(cluster, str(_older_engine()))
    cluster.wait_until(lambda: _installed_versions(cluster) == {older}, "the agents do not report the older engine")
    uids = [database_helpers.create(cluster, database_helpers.request_body(2, replication=True)) for _ in range(count)]
    for uid in uids:
        assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
        cluster.wait_until(
            lambda uid=uid: _versions(cluster, uid) == {older}, "the version of the shards is not reported"
        )  # type: ignore[misc]
    database_helpers.use_engine(cluster, str(engine_path("valkey-server")))
    cluster.wait_until(
        lambda: _installed_versions(cluster) == {newer}, "the agents do not report the newer engine", 120
    )
    return uids


def _complete_endpoint(cluster: LocalCluster, bdb: dict[str, Any]) -> dict[str, Any]:
    """Wait until an address of the endpoint lists all slots. Return an endpoint with only this address."""
    endpoint = bdb["endpoints"][0]
    addresses: list[str] = []

    def is_found() -> bool:
        addresses.extend(address for address in endpoint["addr"] if _visible_slots(address, endpoint["port"]) == SLOTS)
        return bool(addresses)

    cluster.wait_until(is_found, "no address of the endpoint lists all slots")
    return {"addr": addresses[:1], "port": endpoint["port"]}


def _visible_slots(address: str, port: int) -> int:
    """Return how many slots the address lists, or 0 if it does not answer."""
    client = valkey.Valkey(address, port, socket_timeout=5)
    try:
        return sum(last - first + 1 for first, last, *_ in client.execute_command("CLUSTER SLOTS"))
    except valkey.ValkeyError:
        return 0
    finally:
        client.close()


def _status(cluster: LocalCluster, uid: int) -> str:
    return str(ok(cluster.api.get(f"/v1/bdbs/{uid}", params={"fields": "status"}))["status"])


def _layout(cluster: LocalCluster, uid: int) -> list[tuple[Any, ...]]:
    rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    return sorted((row["node_uid"], row["pair"], row["role"]) for row in rows)
