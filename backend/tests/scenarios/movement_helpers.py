"""Helpers for scenarios that move shards: waits for actions and members, and a writer that records acknowledged writes."""

import threading
from types import TracebackType
from typing import Any

import httpx
import valkey
from backend.tests.scenarios import database_helpers
from valkey.backoff import ConstantBackoff
from valkey.cluster import ValkeyCluster
from valkey.exceptions import ValkeyClusterException
from valkey.retry import Retry

from shardboard.local.cluster import LocalCluster, LocalError, ok

KEYS = 500
CONFIRMED_MS = 20
"""Timeout of the wait for a replica. Some shards have no replica while a node is down."""


def wait_for_end(cluster: LocalCluster, action_uid: str, seconds: float = 120) -> dict[str, Any]:
    """Wait until the action has ended, successfully or not. Return it."""
    assert action_uid, "no action was requested"
    action_state: dict[str, Any] = {}

    def is_over() -> bool:
        action_state.update(ok(cluster.api.get(f"/v2/actions/{action_uid}")))
        return action_state["status"] not in ("queued", "running")

    cluster.wait_until(is_over, f"action {action_uid} does not end", seconds)
    return action_state


def action_status(cluster: LocalCluster, action_uid: str) -> str:
    """Return the current status of an action."""
    status: str = ok(cluster.api.get(f"/v2/actions/{action_uid}"))["status"]
    return status


def open_actions(cluster: LocalCluster) -> list[dict[str, Any]]:
    """Return the actions that have not ended, including those that the console started automatically."""
    return [each for each in ok(cluster.api.get("/v2/actions")) if each["status"] in ("queued", "running")]


def check_rejected_or_completed(cluster: LocalCluster, reply: httpx.Response, action_uid: str, code: str) -> None:
    """Check that the reply is 409 with `code` because the action is running, or that the action has completed by now."""
    if reply.status_code == 409:
        assert reply.json()["error_code"] == code
    else:
        assert action_status(cluster, action_uid) == "completed", reply.text


def cancel(cluster: LocalCluster, action_uid: str) -> str:
    """Cancel an action and wait for its end. Return `cancelled`, or `completed` if it ended before."""
    reply = cluster.api.delete(f"/v1/actions/{action_uid}")
    assert reply.status_code == 200 or reply.json()["error_code"] == "not_running", reply.text
    action = wait_for_end(cluster, action_uid)
    assert action["status"] in ("cancelled", "completed"), action
    status: str = action["status"]
    return status


def shard_rows(cluster: LocalCluster, uid: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    return rows


def nodes_by_pair(cluster: LocalCluster, uid: int, role: str) -> dict[int, str]:
    """Return the node of the shard with this role, by pair."""
    return {row["pair"]: row["node_uid"] for row in shard_rows(cluster, uid) if row["role"] == role}


def fill(cluster: LocalCluster, uid: int, megabytes: int) -> None:
    """Write this many megabytes, so that a sync has data to copy."""
    client = _client(cluster, uid)
    for number in range(megabytes):
        client.set(f"bulk:{number}", "x" * 2**20)
    client.close()


def slow_down(cluster: LocalCluster, shards: list[dict[str, Any]], seconds: float) -> None:
    """Make each full sync from these shards take this long, however fast the machine is."""
    for row in shards:
        with database_helpers.admin_client(cluster, row) as client:
            assert client.dbsize() > 0
            client.config_set("rdb-key-save-delay", round(1e6 * seconds / client.dbsize()))


def wait_until_shards_agree(cluster: LocalCluster, uid: int) -> None:
    """Wait until every engine of a database in cluster mode lists exactly the existing shards."""
    rows = shard_rows(cluster, uid)
    if len({row["pair"] for row in rows}) < 2:
        return

    def agree() -> bool:
        rows = shard_rows(cluster, uid)
        addresses = {f"{row['address']}:{row['port']}" for row in rows}
        return all(_listed(cluster, row) == addresses for row in rows)

    cluster.wait_until(agree, "the engines list removed shards or do not list all shards")


def _listed(cluster: LocalCluster, row: dict[str, Any]) -> set[str]:
    """Return the members that the shard lists; empty if it does not answer because it is being removed or restarted."""
    try:
        with database_helpers.admin_client(cluster, row, decode_responses=True) as client:
            return set(client.cluster("nodes"))
    except (valkey.ValkeyError, FileNotFoundError):
        return set()


class Writer:
    """Writes counters until the end of the block, and records acknowledged writes.

    A planned failover loses no acknowledged write. A primary that is killed can lose writes that no replica has. If a test kills
    one, it sets `confirmed`, and only writes that a replica has confirmed are recorded.
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
            self._cluster.wait_until(lambda: len(self._acknowledged) > 10, "no write is acknowledged")
        except BaseException:
            self._stop.set()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stopped_early = not self._thread.is_alive()
        self._stop.set()
        self._thread.join()
        assert kind is not None or not stopped_early, "the writer failed"

    def lost(self) -> list[str]:
        """Return the keys whose value is older than the last acknowledged write."""
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
    """Return the connection that `key` was just written over. With one thread, it is always the same one."""
    if not isinstance(client, ValkeyCluster):
        return client
    return client.get_valkey_connection(client.get_node_from_key(key))


def _client(cluster: LocalCluster, uid: int) -> Any:
    rows = shard_rows(cluster, uid)
    primary = next(row for row in rows if row["role"] == "master")
    if len({row["pair"] for row in rows}) == 1:
        return valkey.Valkey(
            **database_helpers.connection_options(cluster, primary), socket_timeout=5, decode_responses=True
        )
    return ValkeyCluster(
        **database_helpers.admin_options(cluster, primary),
        socket_timeout=5,
        decode_responses=True,
        retry=Retry(ConstantBackoff(0.05), 3),
    )
