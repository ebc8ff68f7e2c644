"""A database grows from 3 to 6 primaries and shrinks back under load: no error at its clients, no lost key, whoever is killed."""

import random
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
import valkey
from backend.tests.scenarios import databases, movement
from valkey.cluster import ValkeyCluster

from shardboard.domain import slots
from shardboard.local import LocalCluster, ok

SEED = 7
KEYS = 20_000


class Load:
    """A cluster client at the endpoint that reads what is there and counts up; it must never see an error."""

    def __init__(self, bdb: dict[str, Any]) -> None:
        endpoint = bdb["endpoints"][0]
        self._client = ValkeyCluster(
            host=endpoint["addr"][0], port=endpoint["port"], decode_responses=True, socket_timeout=30
        )
        self._choice = random.Random(SEED)
        self._counted: dict[str, int] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.errors: list[str] = []
        self.wrong: list[str] = []
        self.requests = 0

    def fill(self) -> None:
        for start in range(0, KEYS, 1000):
            pipeline = self._client.pipeline()
            for number in range(start, start + 1000):
                pipeline.set(f"key:{number}", number)
            pipeline.execute()

    def __enter__(self) -> "Load":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def missing(self) -> list[str]:
        """Keys that are not what they should be."""
        keys = {f"key:{number}": number for number in range(KEYS)} | self._counted
        return [key for key, number in keys.items() if self._client.get(key) != str(number)]

    def _run(self) -> None:
        while not self._stop.wait(0.002):
            number = self._choice.randrange(KEYS)
            counter = f"counter:{number % 300}"
            try:
                if self._client.get(f"key:{number}") != str(number):
                    self.wrong.append(f"key:{number}")
                counted = int(self._client.incr(counter))
                if counted != self._counted.get(counter, 0) + 1:
                    self.wrong.append(counter)
                self._counted[counter] = counted
                self.requests += 2
            except valkey.ValkeyError as error:
                self.errors.append(f"{type(error).__name__}: {error}")


@pytest.fixture(autouse=True)
def hurry(cluster: LocalCluster) -> None:
    ok(cluster.api.put("/v1/cluster/policy", json={"resharding_pace": "fast"}))


@pytest.mark.older
@pytest.mark.slow
def test_growing_and_shrinking_under_load_while_the_console_and_an_agent_are_killed(cluster: LocalCluster) -> None:
    uid = databases.create(cluster, databases.body(3, replication=True))
    bdb = databases.settled(cluster, uid)
    assert bdb["status"] == "active", bdb["status_detail"]
    before = {row["uid"] for row in movement.rows(cluster, uid)}
    load = Load(bdb)
    load.fill()
    with load:
        moved = Moved(cluster, uid)
        grown = _order(cluster, uid, 6)
        moved.until(grown, 1500)
        cluster.kill("console")
        cluster.start_console()
        another = cluster.api.put(f"/v1/bdbs/{uid}", json={"shards_count": 4}, params={"dry_run": "true"})
        movement.refused_or_over(cluster, another, grown, "busy")
        _completed(cluster, grown)
        _check(cluster, uid, 6)
        moved = Moved(cluster, uid)
        shrunk = _order(cluster, uid, 3)
        moved.until(shrunk, 1500)
        cluster.kill(cluster.addresses[1])
        cluster.start_agents()
        _completed(cluster, shrunk)
        _check(cluster, uid, 3)
    assert (load.errors, load.wrong) == ([], [])
    assert load.requests > 100
    assert load.missing() == []
    assert {row["uid"] for row in movement.rows(cluster, uid)} == before
    movement.until_only_known(cluster, uid)
    databases.delete(cluster, uid)


def test_a_primary_dies_while_slots_move_and_cancelling_leaves_all_slots_served(cluster: LocalCluster) -> None:
    uid = databases.create(cluster, databases.body(3, replication=True))
    bdb = databases.settled(cluster, uid)
    load = Load(bdb)
    load.fill()
    # Only what a primary has sent to its replica survives it: nothing is written meanwhile.
    databases.copied(cluster, uid)
    victim = next(row for row in movement.rows(cluster, uid) if row["role"] == "master" and row["pair"] == 1)
    [process] = [each for each in cluster.engines() if Path(each.cwd()).name == victim["uid"]]
    moved = Moved(cluster, uid)
    action = _order(cluster, uid, 4)
    moved.until(action, random.Random(SEED).randrange(100, 600))
    process.kill()
    cluster.until(lambda: _replaced(cluster, victim), "the dead primary is not replaced")
    moved.until(action, 1500)
    movement.cancel(cluster, action)
    bdb = ok(cluster.api.get(f"/v1/bdbs/{uid}"))
    assert (bdb["status"], bdb["shards_count"]) == ("active", 4)
    cluster.until(lambda: _in_sync(cluster, uid) == 8, "the replicas do not come back")
    # In sync, a replica may still be about to be told so by the action that brought it back.
    cluster.until(lambda: not movement.under_way(cluster), "actions do not end")
    assert _slots(cluster, uid) == list(range(slots.SLOTS))
    reply = ok(cluster.api.put(f"/v1/bdbs/{uid}/actions/revamp", json={"shards_count": 4}))
    if reply["action_uid"] is not None:  # null when all had moved by then
        _completed(cluster, reply["action_uid"])
    _check(cluster, uid, 4)
    assert load.missing() == []
    databases.delete(cluster, uid)


def _order(cluster: LocalCluster, uid: int, count: int) -> str:
    action: str = ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"shards_count": count}))["action_uid"]
    return action


class Moved:
    """How many slots have another pair than in the beginning, by the engines' own word: the console tells every 2 s only, and
    on a fast machine much is over by then."""

    def __init__(self, cluster: LocalCluster, uid: int) -> None:
        self._cluster = cluster
        self._uid = uid
        self._before = self._pairs()

    def until(self, action: str, count: int) -> None:
        """Wait until so many slots have moved."""

        def some() -> bool:
            over = movement.status(self._cluster, action) not in ("queued", "running")
            pairs = self._pairs()
            moved = sum(pairs.get(slot) not in (None, pair) for slot, pair in self._before.items())
            assert moved >= count or not over, f"it ended after {moved} slots"
            return moved >= count

        self._cluster.until(some, "no slots move", 120)

    def _pairs(self) -> dict[int, int]:
        """Pair by slot, as the first primary that answers sees it."""
        rows = movement.rows(self._cluster, self._uid)
        pairs = {(row["address"], row["port"]): row["pair"] for row in rows}
        for row in rows:
            client = valkey.Valkey(**databases.at(self._cluster, row), socket_timeout=5, decode_responses=True)
            try:
                told = client.execute_command("CLUSTER SLOTS") if row["role"] == "master" else []
            except valkey.ValkeyError:
                continue
            finally:
                client.close()
            if told:
                return {
                    slot: pairs[host, port]
                    for first, last, (host, port, *_), *_ in told
                    for slot in range(first, last + 1)
                    if (host, port) in pairs
                }
        return {}


def _completed(cluster: LocalCluster, action: str) -> None:
    ended = movement.ended(cluster, action, 240)
    assert ended["status"] == "completed", ended["additional_info"].get("error")


def _check(cluster: LocalCluster, uid: int, count: int) -> None:
    """As many pairs as asked for, each slot once, shared out evenly, every replica in sync."""
    bdb = ok(cluster.api.get(f"/v1/bdbs/{uid}"))
    assert (bdb["status"], bdb["status_detail"], bdb["shards_count"]) == ("active", "", count)
    cluster.until(lambda: _in_sync(cluster, uid) == 2 * count, "not all replicas are in sync")
    sizes = [
        len(list(slots.each(slots.parse(row["assigned_slots"]))))
        for row in movement.rows(cluster, uid)
        if row["role"] == "master"
    ]
    assert len(sizes) == count
    assert max(sizes) - min(sizes) <= 1
    assert _slots(cluster, uid) == list(range(slots.SLOTS))


def _slots(cluster: LocalCluster, uid: int) -> list[int]:
    primaries = [row for row in movement.rows(cluster, uid) if row["role"] == "master"]
    return sorted(slot for row in primaries for slot in slots.each(slots.parse(row["assigned_slots"])))


def _in_sync(cluster: LocalCluster, uid: int) -> int:
    found: int = ok(cluster.api.get(f"/v1/bdbs/{uid}"))["shards_in_sync"]
    return found


def _replaced(cluster: LocalCluster, victim: dict[str, Any]) -> bool:
    return any(
        row["role"] == "master" and row["pair"] == victim["pair"] and row["uid"] != victim["uid"]
        for row in movement.rows(cluster, victim["bdb_uid"])
        if row["detailed_status"] == "ok"
    )
