"""What scenarios of movement share: a writer that knows what was acknowledged, ends of actions, and what engines remember."""

import threading
from types import TracebackType
from typing import Any

import httpx
import valkey
from valkey.backoff import ConstantBackoff
from valkey.cluster import ValkeyCluster
from valkey.exceptions import ValkeyClusterException
from valkey.retry import Retry

from shardboard.local import LocalCluster, ok

KEYS = 500


def ended(cluster: LocalCluster, action_uid: str, seconds: float = 120) -> dict[str, Any]:
    """The action once it has ended, well or not."""
    found: dict[str, Any] = {}

    def over() -> bool:
        found.update(ok(cluster.api.get(f"/v2/actions/{action_uid}")))
        return found["status"] not in ("queued", "running")

    cluster.until(over, f"action {action_uid} does not end", seconds)
    return found


def rows(cluster: LocalCluster, uid: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    return found


def by_role(cluster: LocalCluster, uid: int, role: str) -> dict[int, str]:
    """Node by pair."""
    return {row["pair"]: row["node_uid"] for row in rows(cluster, uid) if row["role"] == role}


def fill(cluster: LocalCluster, uid: int, megabytes: int) -> None:
    """Enough data that a copy takes a while."""
    client = _client(cluster, uid)
    for number in range(megabytes):
        client.set(f"bulk:{number}", "x" * 2**20)
    client.close()


def until_only_known(cluster: LocalCluster, uid: int) -> None:
    """Wait until every engine of a database in cluster mode lists just the shards that there are."""
    present = rows(cluster, uid)
    if len({row["pair"] for row in present}) < 2:
        return

    def agreed() -> bool:
        addresses = {f"{row['address']}:{row['port']}" for row in rows(cluster, uid)}
        return all(_listed(row) == addresses for row in rows(cluster, uid))

    cluster.until(agreed, "the engines remember shards that are no more, or do not know all")


def _listed(row: dict[str, Any]) -> set[str]:
    client = valkey.Valkey(host=row["address"], port=row["port"], socket_timeout=5, decode_responses=True)
    try:
        return set(client.cluster("nodes"))
    finally:
        client.close()


class Writer:
    """Writes counters one after the other until told to stop, remembers what was acknowledged."""

    def __init__(self, cluster: LocalCluster, uid: int) -> None:
        self._cluster = cluster
        self._uid = uid
        self._acknowledged: dict[str, int] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Writer":
        self._thread.start()
        self._cluster.until(lambda: len(self._acknowledged) > 10, "nothing is written")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

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
                self._acknowledged[key] = number
            except (valkey.ValkeyError, ValkeyClusterException, httpx.HTTPError, OSError, StopIteration):
                if client is not None:
                    client.close()
                client = None


def _client(cluster: LocalCluster, uid: int) -> Any:
    present = rows(cluster, uid)
    primary = next(row for row in present if row["role"] == "master")
    if len({row["pair"] for row in present}) == 1:
        return valkey.Valkey(host=primary["address"], port=primary["port"], socket_timeout=5, decode_responses=True)
    return ValkeyCluster(
        host=primary["address"],
        port=primary["port"],
        socket_timeout=5,
        decode_responses=True,
        retry=Retry(ConstantBackoff(0.05), 3),
    )
