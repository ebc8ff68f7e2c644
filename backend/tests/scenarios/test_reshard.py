"""Resharding from 3 to 6 primaries and back under load, without client errors or lost keys, while processes are killed."""

import random
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
import valkey
from backend.tests.scenarios import database_helpers, movement_helpers
from valkey.cluster import ValkeyCluster

from shardboard.domain.placement import slots
from shardboard.local.cluster import LocalCluster, ok

SEED = 7
KEYS = 20_000


class Load:
    """A cluster client of the endpoint that reads keys and increments counters. It must never get an error."""

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
        """Return the keys with a missing or wrong value."""
        keys = {f"key:{number}": number for number in range(KEYS)} | self._counted
        return [key for key, number in keys.items() if self._client.get(key) != str(number)]

    def _run(self) -> None:
        while not self._stop.wait(0.002):
            number = self._choice.randrange(KEYS)
            counter = f"counter:{number % 300}"
            try:
                if self._client.get(f"key:{number}") != str(number):
                    self.wrong.append(f"key:{number}")
                count = int(self._client.incr(counter))
                if count != self._counted.get(counter, 0) + 1:
                    self.wrong.append(counter)
                self._counted[counter] = count
                self.requests += 2
            except valkey.ValkeyError as error:
                self.errors.append(f"{type(error).__name__}: {error}")


@pytest.fixture(autouse=True)
def fast_resharding(cluster: LocalCluster) -> None:
    ok(cluster.api.put("/v1/cluster/policy", json={"resharding_pace": "fast"}))


@pytest.mark.older
@pytest.mark.slow
def test_resharding_under_load_survives_a_killed_console_and_agent(cluster: LocalCluster) -> None:
    uid = database_helpers.create(cluster, database_helpers.request_body(3, replication=True))
    bdb = database_helpers.wait_until_settled(cluster, uid)
    assert bdb["status"] == "active", bdb["status_detail"]
    before = {row["uid"] for row in movement_helpers.shard_rows(cluster, uid)}
    load = Load(bdb)
    load.fill()
    with load:
        progress = SlotProgress(cluster, uid)
        grow_action = _start_change(cluster, uid, 6)
        progress.until(grow_action, 1500)
        cluster.kill("console")
        cluster.start_console()
        other_request = cluster.api.put(f"/v1/bdbs/{uid}", json={"shards_count": 4}, params={"dry_run": "true"})
        movement_helpers.check_rejected_or_completed(cluster, other_request, grow_action, "busy")
        _wait_until_completed(cluster, grow_action)
        _check_database(cluster, uid, 6)
        progress = SlotProgress(cluster, uid)
        shrink_action = _start_change(cluster, uid, 3)
        progress.until(shrink_action, 1500)
        cluster.kill(cluster.addresses[1])
        cluster.start_agents()
        _wait_until_completed(cluster, shrink_action)
        _check_database(cluster, uid, 3)
    assert (load.errors, load.wrong) == ([], [])
    assert load.requests > 100
    assert load.missing() == []
    assert {row["uid"] for row in movement_helpers.shard_rows(cluster, uid)} == before
    movement_helpers.wait_until_shards_agree(cluster, uid)
    database_helpers.delete(cluster, uid)


@pytest.mark.slow
def test_resharding_an_empty_database_raises_no_alarm(cluster: LocalCluster) -> None:
    uid = database_helpers.create(cluster, database_helpers.request_body(2, replication=True))
    database_helpers.wait_until_settled(cluster, uid)
    newest = ok(cluster.api.get("/v1/logs", params={"order": "desc", "limit": 1}))[0]["uid"]
    for count in (5, 2):
        _wait_until_completed(cluster, _start_change(cluster, uid, count))
    events = ok(cluster.api.get("/v1/logs", params={"bdb_uid": uid}))
    alarms = [each for each in events if each["uid"] > newest and each["type"].startswith("alarm_")]
    assert alarms == []
    database_helpers.delete(cluster, uid)


def test_all_slots_are_served_after_a_dead_primary_and_a_cancellation(cluster: LocalCluster) -> None:
    uid = database_helpers.create(cluster, database_helpers.request_body(3, replication=True))
    bdb = database_helpers.wait_until_settled(cluster, uid)
    load = Load(bdb)
    load.fill()
    # Only replicated writes survive the primary, so all writes end before it is killed.
    database_helpers.wait_until_replicated(cluster, uid)
    victim = next(
        row for row in movement_helpers.shard_rows(cluster, uid) if row["role"] == "master" and row["pair"] == 1
    )
    [process] = [each for each in cluster.engines() if Path(each.cwd()).name == victim["uid"]]
    progress = SlotProgress(cluster, uid)
    action = _start_change(cluster, uid, 4)
    progress.until(action, random.Random(SEED).randrange(100, 600))
    process.kill()
    cluster.wait_until(lambda: _is_replaced(cluster, victim), "the dead primary is not replaced")
    progress.until(action, 1500)
    movement_helpers.cancel(cluster, action)
    bdb = ok(cluster.api.get(f"/v1/bdbs/{uid}"))
    assert (bdb["status"], bdb["shards_count"]) == ("active", 4)
    cluster.wait_until(lambda: _in_sync(cluster, uid) == 8, "the replicas are not restarted in sync")
    # The action that restarts a replica may still be open after the replica is in sync.
    cluster.wait_until(lambda: not movement_helpers.open_actions(cluster), "actions do not end")
    assert _slots(cluster, uid) == list(range(slots.SLOTS))
    reply = ok(cluster.api.put(f"/v1/bdbs/{uid}/actions/revamp", json={"shards_count": 4}))
    if reply["action_uid"] is not None:  # null if all slots had moved by then
        _wait_until_completed(cluster, reply["action_uid"])
    _check_database(cluster, uid, 4)
    assert load.missing() == []
    database_helpers.delete(cluster, uid)


def _start_change(cluster: LocalCluster, uid: int, count: int) -> str:
    action: str = ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"shards_count": count}))["action_uid"]
    return action


class SlotProgress:
    """Counts the slots that have moved to another pair, as the engines report them. The console reports only every 2 s, which is
    too late on a fast machine."""

    def __init__(self, cluster: LocalCluster, uid: int) -> None:
        self._cluster = cluster
        self._uid = uid
        self._before = self._pairs()

    def until(self, action: str, count: int) -> None:
        """Wait until this many slots have moved."""

        def enough_moved() -> bool:
            is_over = movement_helpers.action_status(self._cluster, action) not in ("queued", "running")
            pairs = self._pairs()
            moved_count = sum(pairs.get(slot) not in (None, pair) for slot, pair in self._before.items())
            assert moved_count >= count or not is_over, f"the action ended after {moved_count} slots"
            return moved_count >= count

        self._cluster.wait_until(enough_moved, "no slots move", 120)

    def _pairs(self) -> dict[int, int]:
        """Return the pair by slot, as the first primary that answers reports it."""
        rows = movement_helpers.shard_rows(self._cluster, self._uid)
        pairs = {(row["address"], row["port"]): row["pair"] for row in rows}
        for row in rows:
            if row["role"] != "master":
                continue
            try:
                with database_helpers.admin_client(self._cluster, row, decode_responses=True) as client:
                    reply = client.execute_command("CLUSTER SLOTS")
            except (valkey.ValkeyError, FileNotFoundError):
                continue
            if reply:
                return {
                    slot: pairs[host, port]
                    for first, last, (host, port, *_), *_ in reply
                    for slot in range(first, last + 1)
                    if (host, port) in pairs
                }
        return {}


def _wait_until_completed(cluster: LocalCluster, action: str) -> None:
    ended_action = movement_helpers.wait_for_end(cluster, action, 240)
    assert ended_action["status"] == "completed", ended_action["additional_info"].get("error")


def _check_database(cluster: LocalCluster, uid: int, count: int) -> None:
    """Check that there are `count` pairs with evenly distributed slots, each slot is served once, and all replicas are in sync."""
    bdb = ok(cluster.api.get(f"/v1/bdbs/{uid}"))
    assert (bdb["status"], bdb["status_detail"], bdb["shards_count"]) == ("active", "", count)
    cluster.wait_until(lambda: _in_sync(cluster, uid) == 2 * count, "not all replicas are in sync")
    sizes = [
        len(list(slots.each(slots.parse(row["assigned_slots"]))))
        for row in movement_helpers.shard_rows(cluster, uid)
        if row["role"] == "master"
    ]
    assert len(sizes) == count
    assert max(sizes) - min(sizes) <= 1
    assert _slots(cluster, uid) == list(range(slots.SLOTS))


def _slots(cluster: LocalCluster, uid: int) -> list[int]:
    primaries = [row for row in movement_helpers.shard_rows(cluster, uid) if row["role"] == "master"]
    return sorted(slot for row in primaries for slot in slots.each(slots.parse(row["assigned_slots"])))


def _in_sync(cluster: LocalCluster, uid: int) -> int:
    shards_in_sync: int = ok(cluster.api.get(f"/v1/bdbs/{uid}"))["shards_in_sync"]
    return shards_in_sync


def _is_replaced(cluster: LocalCluster, victim: dict[str, Any]) -> bool:
    return any(
        row["role"] == "master" and row["pair"] == victim["pair"] and row["uid"] != victim["uid"]
        for row in movement_helpers.shard_rows(cluster, victim["bdb_uid"])
        if row["detailed_status"] == "ok"
    )
