"""The engine of a database is upgraded under writes, from the distribution's Valkey to the one that the set-up built."""

import os
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
import pytest
import valkey
from backend.tests.scenarios import databases, movement
from backend.tests.scenarios.test_reshard import Load

from shardboard.agent.engine import engine_path, engine_version
from shardboard.domain.slots import SLOTS
from shardboard.local import LocalCluster, LocalError, ok


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
    (uid,), newer = _old_databases_on_new_nodes(cluster, 1), engine_version("valkey-server")
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


@pytest.mark.skipif(_older() is None, reason="there is only one engine on this machine")
@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True], ids=["undisturbed", "the console is killed in the middle"])
def test_meanwhile_replicas_are_newer_than_their_primaries_and_clients_see_no_error(
    cluster: LocalCluster, killed: bool
) -> None:
    (uid,), newer = _old_databases_on_new_nodes(cluster, 1), engine_version("valkey-server")
    bdb = ok(cluster.api.get(f"/v1/bdbs/{uid}"))
    load = Load({"endpoints": [_covering(cluster, bdb)]})
    load.fill()
    with load, Ages(cluster, uid) as ages:
        action = ok(cluster.api.post(f"/v1/bdbs/{uid}/upgrade"))["action_uid"]
        if killed:
            cluster.until(lambda: len(_versions(cluster, uid) - {""}) == 2, "no shard is replaced", 120)
            assert movement.status(cluster, action) == "running"
            cluster.kill("console")
            cluster.start_console()
        ended = movement.ended(cluster, action, 240)
        assert ended["status"] == "completed", ended["additional_info"]
        cluster.until(lambda: _versions(cluster, uid) == {newer}, "a shard was left behind")
    assert (load.errors, load.wrong) == ([], [])
    assert load.requests > 100
    assert load.missing() == []
    assert ages.faults == []
    assert ages.mixed, "no replica was seen to be newer than its primary"
    movement.until_only_known(cluster, uid)
    databases.delete(cluster, uid)


@pytest.mark.skipif(_older() is None, reason="there is only one engine on this machine")
@pytest.mark.slow
def test_all_databases_of_a_node_are_upgraded_by_one_order(cluster: LocalCluster) -> None:
    uids, newer = _old_databases_on_new_nodes(cluster, 2), engine_version("valkey-server")
    (node,) = {
        row["node_uid"] for row in movement.rows(cluster, uids[0]) if row["pair"] == 0 and row["role"] == "master"
    }
    with movement.Writer(cluster, uids[0]) as first, movement.Writer(cluster, uids[1]) as second:
        told = ok(cluster.api.post(f"/v1/nodes/{node}/upgrade"))["databases"]
        assert [(each["bdb_uid"], each["refused"]) for each in told] == [(uid, "") for uid in uids]
        for each in told:
            ended = movement.ended(cluster, each["action_uid"], 240)
            assert ended["status"] == "completed", ended["additional_info"]
    assert (first.lost(), second.lost()) == ([], [])
    for uid in uids:
        cluster.until(lambda uid=uid: _versions(cluster, uid) == {newer}, "a shard was left behind")  # type: ignore[misc]
        movement.until_only_known(cluster, uid)
        databases.delete(cluster, uid)


class Ages:
    """Looks at the versions within each pair again and again, as samples tell them, while they are replaced.

    The one older shard that may follow a newer primary is the former primary, which is on its way out: whoever else follows must
    be able to read what the new one writes, and what once led with a newer engine never gives the lead to an older one.
    """

    def __init__(self, cluster: LocalCluster, uid: int) -> None:
        self._cluster = cluster
        self._uid = uid
        self._first: set[str] = set()
        self._led: dict[int, list[tuple[str, tuple[int, ...]]]] = {}
        """Who led each pair, with the version, in their order."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.faults: list[str] = []
        self.mixed = False
        """Whether a replica was newer than its primary."""

    def __enter__(self) -> "Ages":
        self._first = {row["uid"] for row in movement.rows(self._cluster, self._uid)}
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
                rows = movement.rows(self._cluster, self._uid)
            except (httpx.HTTPError, LocalError):
                continue  # the console was killed
            for pair in {row["pair"] for row in rows}:
                self._look(pair, [row for row in rows if row["pair"] == pair and row.get("engine_version")])

    def _look(self, pair: int, rows: list[dict[str, Any]]) -> None:
        ages = {row["uid"]: tuple(map(int, row["engine_version"].split("."))) for row in rows}
        leading = [row["uid"] for row in rows if row["role"] == "master"]
        if len(leading) != 1:
            return
        leads, led = leading[0], self._led.setdefault(pair, [])
        if not led or led[-1][0] != leads:
            if led and led[-1][1] > ages[leads]:
                self.faults.append(f"pair {pair}: the lead went from {led[-1]} back to {ages[leads]}")
            led.append((leads, ages[leads]))
        former = {uid for uid, _ in led[:-1]}
        for uid, age in ages.items():
            self.mixed |= age > ages[leads]
            if age < ages[leads] and uid not in former:
                self.faults.append(f"pair {pair}: redis:{uid} {age} follows redis:{leads} {ages[leads]}")
            if uid not in self._first and age < max(ages.values()):
                self.faults.append(f"pair {pair}: redis:{uid} was started with {age}")


def _old_databases_on_new_nodes(cluster: LocalCluster, count: int) -> list[int]:
    """Uids of databases whose shards all run the older engine, while their nodes have the newer one."""
    older, newer = engine_version(str(_older())), engine_version("valkey-server")
    databases.use_engine(cluster, str(_older()))
    cluster.until(lambda: _installed(cluster) == {older}, "the agents do not tell of the older engine")
    uids = [databases.create(cluster, databases.body(2, replication=True)) for _ in range(count)]
    for uid in uids:
        assert databases.settled(cluster, uid)["status"] == "active"
        cluster.until(lambda uid=uid: _versions(cluster, uid) == {older}, "the shards' version is not seen")  # type: ignore[misc]
    databases.use_engine(cluster, str(engine_path("valkey-server")))
    cluster.until(lambda: _installed(cluster) == {newer}, "the agents do not tell of the newer engine", 120)
    return uids


def _covering(cluster: LocalCluster, bdb: dict[str, Any]) -> dict[str, Any]:
    """The first address of the endpoint that shows all slots, once there is one."""
    endpoint = bdb["endpoints"][0]
    found: list[str] = []

    def some() -> bool:
        found.extend(address for address in endpoint["addr"] if _shown(address, endpoint["port"]) == SLOTS)
        return bool(found)

    cluster.until(some, "no address of the endpoint shows all slots")
    return {"addr": found[:1], "port": endpoint["port"]}


def _shown(address: str, port: int) -> int:
    """How many slots it shows; 0 when it does not answer."""
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
