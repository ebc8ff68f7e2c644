"""Operations of scenarios on databases over REST, and helpers to inspect the real processes and files."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import valkey

from shardboard.agent.databases import peer_tls
from shardboard.agent.databases.shard_config import ADMIN
from shardboard.local.cluster import LocalCluster, ok

POLL_SECONDS = 0.15
"""Pause between polls. A poll is a request that takes about 7 ms of CPU time, and several scenarios wait at a time."""
STANDARD = [{"regex": ".*\\{(?<tag>.*)\\}.*"}, {"regex": "(?<tag>.*)"}]


@contextmanager
def running(cluster: LocalCluster) -> Iterator[LocalCluster]:
    """Run the console and the agents until the end of the block."""
    cluster.poll_seconds = POLL_SECONDS
    try:
        cluster.start_console()
        cluster.start_agents()
        yield cluster
    finally:
        cluster.stop()
        cluster.kill_shards()


def request_body(shards: int, *, replication: bool = False, **more: Any) -> dict[str, Any]:
    """Return the JSON body that creates a database."""
    return {
        "name": f"db-{shards}",
        "memory_size": 300_000_000,
        "sharding": shards > 1,
        "shards_count": shards,
        "replication": replication,
        "shards_placement": "sparse",
        **(
            {"oss_cluster": True, "proxy_policy": "all-master-shards", "shard_key_regex": STANDARD}
            if shards > 1
            else {}
        ),
        **more,
    }


def use_engine(cluster: LocalCluster, engine: str) -> None:
    """Restart the agents so that they start shards with this engine."""
    cluster.environment["SHARDBOARD_ENGINE"] = engine
    for address in cluster.addresses:
        cluster.kill(address)
    cluster.wait_until(lambda: not cluster.connected(), "killed agents still count as connected")
    cluster.start_agents()


def create(cluster: LocalCluster, fields: dict[str, Any]) -> int:
    """Request a database. Return its uid; it is not active yet."""
    uid: int = ok(cluster.api.post("/v1/bdbs?allow_duplicate_name", json=fields))["uid"]
    return uid


def wait_until_settled(cluster: LocalCluster, uid: int, seconds: float = 60) -> dict[str, Any]:
    """Wait until the database is active or its creation has failed. Return it."""
    bdb: dict[str, Any] = {}

    def has_ended() -> bool:
        bdb.update(ok(cluster.api.get(f"/v1/bdbs/{uid}")))
        return bdb["status"] in ("active", "creation-failed")

    cluster.wait_until(has_ended, f"database {uid} is still {bdb.get('status')}", seconds)
    return bdb


def delete(cluster: LocalCluster, uid: int) -> None:
    """Delete the database and wait until it no longer exists."""
    ok(cluster.api.delete(f"/v1/bdbs/{uid}"))
    cluster.wait_until(lambda: cluster.api.get(f"/v1/bdbs/{uid}").status_code == 404, f"database {uid} is not deleted")


BUILT_IN = 16
"""Highest uid of the built-in roles and ACLs."""


def delete_users_and_roles(cluster: LocalCluster) -> None:
    """Delete the users, roles and ACLs that a test has added."""
    for path, count in (("users", 1), ("roles", BUILT_IN), ("redis_acls", BUILT_IN)):
        for row in ok(cluster.api.get(f"/v1/{path}")):
            if row["uid"] > count:
                ok(cluster.api.delete(f"/v1/{path}/{row['uid']}"))


def delete_databases(cluster: LocalCluster) -> None:
    """Start all agents and delete all databases. Busy databases are waited for."""
    if "console" not in cluster.children:
        cluster.start_console()
    remaining: list[int] = [row["uid"] for row in ok(cluster.api.get("/v1/bdbs"))]
    if not remaining:
        return
    cluster.start_agents()
    for uid in remaining:
        cluster.wait_until(
            lambda uid=uid: cluster.api.delete(f"/v1/bdbs/{uid}").status_code in (200, 404),  # type: ignore[misc]
            f"database {uid} cannot be deleted",
        )
        cluster.wait_until(
            lambda uid=uid: cluster.api.get(f"/v1/bdbs/{uid}").status_code == 404,  # type: ignore[misc]
            f"database {uid} is not deleted",
        )


def shard_directories(cluster: LocalCluster) -> list[Path]:
    return sorted(cluster.directory.glob("agents/*/shards/*"))


def connection_options(cluster: LocalCluster, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a client that connects to the shard directly, as another shard of its database does."""
    directory = cluster.directory / "agents" / row["address"] / "shards" / str(row["uid"])
    options = {"host": row["address"], "port": row["port"]}
    if not peer_tls.uses_tls(directory):
        return options
    identity = str(directory / peer_tls.IDENTITY)
    tls = {
        "ssl": True,
        "ssl_ca_certs": str(directory / peer_tls.CA_FILE),
        "ssl_certfile": identity,
        "ssl_keyfile": identity,
    }
    return {**options, **tls, "ssl_check_hostname": False}


def admin_options(cluster: LocalCluster, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a client that is authenticated with the internal password of the database.

    Users may not run CLUSTER and INFO on shards, which clients of all shards need.
    """
    directory = cluster.directory / "agents" / row["address"] / "shards" / str(row["uid"])
    settings = dict(line.split(" ", 1) for line in (directory / "valkey.conf").read_text().splitlines() if " " in line)
    password = (settings.get("masterauth") or settings["primaryauth"]).strip('"')  # the engine writes the newer name
    return {**connection_options(cluster, row), "username": ADMIN, "password": password}


def admin_client(cluster: LocalCluster, row: Mapping[str, Any], **options: Any) -> valkey.Valkey:
    """Return a client of the shard that is authenticated with the internal password of the database."""
    return valkey.Valkey(**admin_options(cluster, row), socket_timeout=5, **options)


def wait_until_replicated(cluster: LocalCluster, uid: int) -> None:
    """Wait until every replica has confirmed all current data of its primary. Only that survives a kill of the primary."""
    for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards")):
        if row["role"] == "master":
            with admin_client(cluster, row) as client:
                offset = client.info("replication")["master_repl_offset"]
                cluster.wait_until(
                    lambda client=client, offset=offset: _confirmed(client) >= offset,  # type: ignore[misc]
                    f"the replica of shard {row['uid']} does not catch up",
                )


def _confirmed(client: "valkey.Valkey") -> int:
    """Return the replication offset that all replicas have reached, or -1 without a replica. Recordings have port 0."""
    replication = client.info("replication")
    connected = [replication[f"slave{number}"] for number in range(replication["connected_slaves"])]
    replicas = [each for each in connected if each["port"]]
    return min((each["offset"] for each in replicas if each["state"] == "online"), default=-1)


def history(cluster: LocalCluster, uid: int, metric: str, seconds: int = 120) -> dict[int, float | None]:
    """Return a metric of a database by second, from its first known value on, as the stream sends it first."""
    with cluster.api.stream("GET", "/v1/stream", params={"topics": "bdbs", "history": seconds}) as reply:
        event = ""
        for line in reply.iter_lines():
            if line.startswith("event: "):
                event = line[7:]
            elif line.startswith("data: ") and event == "history":
                frame = json.loads(line[6:])
                column = frame["series"].get(str(uid), [[]] * len(frame["metrics"]))[frame["metrics"].index(metric)]
                first_index = next((index for index, value in enumerate(column) if value is not None), len(column))
                return {frame["from"] + index: value for index, value in enumerate(column) if index >= first_index}
    raise AssertionError("the stream ended without history")
