"""What scenarios of movement share: a writer that knows what was acknowledged, ends of actions, and what engines remember."""

import threading
from types import TracebackType
from typing import Any

import httpx
import valkey
from backend.tests.scenarios import databases
from valkey.backoff import ConstantBackoff
from valkey.cluster import ValkeyCluster
from valkey.exceptions import ValkeyClusterException
from valkey.retry import Retry

from shardboard.local import LocalCluster, LocalError, ok

KEYS = 500
CONFIRMED_MS = 20
"""How long a write waits for a replica; while a node is down some have none."""


def ended(cluster: LocalCluster, action_uid: str, seconds: float = 120) -> dict[str, Any]:
    """The action once it has ended, well or not."""
    assert action_uid, "nothing was ordered"
    found: dict[str, Any] = {}

    def over() -> bool:
        found.update(ok(cluster.api.get(f"/v2/actions/{action_uid}")))
        return found["status"] not in ("queued", "running")

    cluster.until(over, f"action {action_uid} does not end", seconds)
    return found


def status(cluster: LocalCluster, action_uid: str) -> str:
    """Of an action, as it is now."""
    found: str = ok(cluster.api.get(f"/v2/actions/{action_uid}"))["status"]
    return found


def under_way(cluster: LocalCluster) -> list[dict[str, Any]]:
    """Actions that have not ended, those that the console orders by itself, too."""
    return [each for each in ok(cluster.api.get("/v2/actions")) if each["status"] in ("queued", "running")]


def refused_or_over(cluster: LocalCluster, reply: httpx.Response, action_uid: str, code: str) -> None:
    """A reply that refuses with 409 and `code`, because the action is under way; or it is over by now, and was completed."""
    if reply.status_code == 409:
        assert reply.json()["error_code"] == code
    else:
        assert status(cluster, action_uid) == "completed", reply.text


def cancel(cluster: LocalCluster, action_uid: str) -> str:
    """Ask an action to end early, and wait until it has: `cancelled`, or `completed` when it was over sooner."""
    reply = cluster.api.delete(f"/v1/actions/{action_uid}")
    assert reply.status_code == 200 or reply.json()["error_code"] == "not_running", reply.text
    action = ended(cluster, action_uid)
    assert action["status"] in ("cancelled", "completed"), action
    found: str = action["status"]
    return found


def rows(cluster: LocalCluster, uid: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    return found


def by_role(cluster: LocalCluster, uid: int, role: str) -> dict[int, str]:
    """Node by pair."""
    return {row["pair"]: row["node_uid"] for row in rows(cluster, uid) if row["role"] == role}


def fill(cluster: LocalCluster, uid: int, megabytes: int) -> None:
    """Some data to copy."""
    client = _client(cluster, uid)
    for number in range(megabytes):
        client.set(f"bulk:{number}", "x" * 2**20)
    client.close()


def slow_down(cluster: LocalCluster, shards: list[dict[str, Any]], seconds: float) -> None:
    """From now on a full copy of the data of these shards takes so long, however fast the machine."""
    for row in shards:
        with databases.as_administrator(cluster, row) as client:
            assert client.dbsize() > 0
            client.config_set("rdb-key-save-delay", round(1e6 * seconds / client.dbsize()))


def until_only_known(cluster: LocalCluster, uid: int) -> None:
    """Wait until every engine of a database in cluster mode lists just the shards that there are."""
    present = rows(cluster, uid)
    if len({row["pair"] for row in present}) < 2:
        return

    def agreed() -> bool:
        present = rows(cluster, uid)
        addresses = {f"{row['address']}:{row['port']}" for row in present}
        return all(_listed(cluster, row) == addresses for row in present)

    cluster.until(agreed, "the engines remember shards that are no more, or do not know all")


def _listed(cluster: LocalCluster, row: dict[str, Any]) -> set[str]:
    """Nobody when the shard does not answer: it may be about to go, or to come back."""
    client = valkey.Valkey(**databases.at(cluster, row), socket_timeout=5, decode_responses=True)
    try:
        return set(client.cluster("nodes"))
    except valkey.ValkeyError:
        return set()
    finally:
        client.close()


class Writer:
    """Writes counters one after the other until told to stop, remembers what was acknowledged.

    A handover loses nothing of that. A primary that is killed may take with it what no replica has: where one is, only what
    was `confirmed` by a replica counts.
    """

    def __init__(self, cluster: LocalCluster, uid: int, *, confirmed: bool = False) -> None:
        self._cluster = cluster
        self._uid = uid
        self._confirmed = confirmed
        self._acknowledged: dict[str, int] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Writer":
        self._thread.start()
        try:
            self._cluster.until(lambda: len(self._acknowledged) > 10, "nothing is written")
        except BaseException:
            self._stop.set()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        gave_up = not self._thread.is_alive()
        self._stop.set()
        self._thread.join()
        assert kind is not None or not gave_up, "the writer failed"

    def lost(self) -> list[str]:
        """Keys whose value is older than what was acknowledged."""
        client = _client(self._cluster, self._uid)
        try:
            return [key for key, number in self._acknowledged.items() if int(client.get(key) or -1) < number]
        finally:
            client.close()

    def _run(self) -> None:
        client = None
        number = 0
        while not self._stop.is_set():
            number += 1
            key = f"key:{number % KEYS}"
            try:
                client = client or _client(self._cluster, self._uid)
                client.set(key, number)
                if not self._confirmed or _holder(client, key).wait(1, CONFIRMED_MS):
                    self._acknowledged[key] = number
            except (valkey.ValkeyError, ValkeyClusterException, LocalError, httpx.HTTPError, OSError, StopIteration):
                if client is not None:
                    client.close()
                client = None


def _holder(client: Any, key: str) -> Any:
    """The client of the shard that `key` was just written to; with one thread that is the same connection."""
    if not isinstance(client, ValkeyCluster):
        return client
    return client.get_valkey_connection(client.get_node_from_key(key))


def _client(cluster: LocalCluster, uid: int) -> Any:
    present = rows(cluster, uid)
    primary = next(row for row in present if row["role"] == "master")
    if len({row["pair"] for row in present}) == 1:
        return valkey.Valkey(**databases.at(cluster, primary), socket_timeout=5, decode_responses=True)
    return ValkeyCluster(
        **databases.at(cluster, primary),
        socket_timeout=5,
        decode_responses=True,
        retry=Retry(ConstantBackoff(0.05), 3),
    )
