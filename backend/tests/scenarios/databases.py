"""What scenarios do with databases over REST, and how they look at what is really there."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import valkey

from shardboard.agent import sealed
from shardboard.agent.render import ADMIN
from shardboard.local import LocalCluster, ok

POLL_SECONDS = 0.15
"""A look is a request that takes some 7 ms of processor, and several scenarios wait at a time."""
STANDARD = [{"regex": ".*\\{(?<tag>.*)\\}.*"}, {"regex": "(?<tag>.*)"}]


@contextmanager
def running(made: LocalCluster) -> Iterator[LocalCluster]:
    """With its console and its agents, until the end of the block."""
    made.poll_seconds = POLL_SECONDS
    try:
        made.start_console()
        made.start_agents()
        yield made
    finally:
        made.stop()
        made.kill_shards()


def body(shards: int, *, replication: bool = False, **more: Any) -> dict[str, Any]:
    """The JSON to create a database with."""
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
    """Agents that start that engine from now on."""
    cluster.environment["SHARDBOARD_ENGINE"] = engine
    for address in cluster.addresses:
        cluster.kill(address)
    cluster.until(lambda: not cluster.connected(), "the agents' end is not noticed")
    cluster.start_agents()


def create(cluster: LocalCluster, wanted: dict[str, Any]) -> int:
    """Uid of the new database, which is not active yet."""
    uid: int = ok(cluster.api.post("/v1/bdbs", json=wanted))["uid"]
    return uid


def settled(cluster: LocalCluster, uid: int, seconds: float = 60) -> dict[str, Any]:
    """The database once its creation has ended, well or not."""
    found: dict[str, Any] = {}

    def ended() -> bool:
        found.update(ok(cluster.api.get(f"/v1/bdbs/{uid}")))
        return found["status"] in ("active", "creation-failed")

    cluster.until(ended, f"database {uid} is still {found.get('status')}", seconds)
    return found


def delete(cluster: LocalCluster, uid: int) -> None:
    """Delete and wait until it is gone."""
    ok(cluster.api.delete(f"/v1/bdbs/{uid}"))
    cluster.until(lambda: cluster.api.get(f"/v1/bdbs/{uid}").status_code == 404, f"database {uid} is not deleted")


BUILT_IN = 16
"""Greatest uid that roles and lists of rules may have that nobody has added."""


def delete_access(cluster: LocalCluster) -> None:
    """Users, roles and lists of rules that a test has added."""
    for path, kept in (("users", 1), ("roles", BUILT_IN), ("redis_acls", BUILT_IN)):
        for row in ok(cluster.api.get(f"/v1/{path}")):
            if row["uid"] > kept:
                ok(cluster.api.delete(f"/v1/{path}/{row['uid']}"))


def delete_all(cluster: LocalCluster) -> None:
    """Delete whatever there is, with every agent up; what is busy is waited for."""
    if "console" not in cluster.children:
        cluster.start_console()
    left: list[int] = [row["uid"] for row in ok(cluster.api.get("/v1/bdbs"))]
    if not left:
        return
    cluster.start_agents()
    for uid in left:
        cluster.until(
            lambda uid=uid: cluster.api.delete(f"/v1/bdbs/{uid}").status_code in (200, 404),  # type: ignore[misc]
            f"database {uid} cannot be deleted",
        )
        cluster.until(
            lambda uid=uid: cluster.api.get(f"/v1/bdbs/{uid}").status_code == 404,  # type: ignore[misc]
            f"database {uid} is not deleted",
        )


def shard_directories(cluster: LocalCluster) -> list[Path]:
    return sorted(cluster.directory.glob("agents/*/shards/*"))


def at(cluster: LocalCluster, row: Mapping[str, Any]) -> dict[str, Any]:
    """How a client reaches a shard itself, as another shard of its database does."""
    directory = cluster.directory / "agents" / row["address"] / "shards" / str(row["uid"])
    where = {"host": row["address"], "port": row["port"]}
    if not sealed.is_sealed(directory):
        return where
    own = str(directory / sealed.IDENTITY)
    seal = {"ssl": True, "ssl_ca_certs": str(directory / sealed.AUTHORITIES), "ssl_certfile": own, "ssl_keyfile": own}
    return {**where, **seal, "ssl_check_hostname": False}


def as_administrator(cluster: LocalCluster, row: Mapping[str, Any]) -> valkey.Valkey:
    """A client of a shard itself who has the console's own password there."""
    directory = cluster.directory / "agents" / row["address"] / "shards" / str(row["uid"])
    settings = dict(line.split(" ", 1) for line in (directory / "valkey.conf").read_text().splitlines() if " " in line)
    password = (settings.get("masterauth") or settings["primaryauth"]).strip('"')  # an engine writes the newer name
    return valkey.Valkey(**at(cluster, row), username=ADMIN, password=password, socket_timeout=5)


def copied(cluster: LocalCluster, uid: int) -> None:
    """Wait until every replica has confirmed what its primary holds by now: only that survives a kill of the primary."""
    for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards")):
        if row["role"] == "master":
            with valkey.Valkey(**at(cluster, row), socket_timeout=5) as client:
                goal = client.info("replication")["master_repl_offset"]
                cluster.until(
                    lambda client=client, goal=goal: _confirmed(client) >= goal,  # type: ignore[misc]
                    f"the replica of shard {row['uid']} stays behind",
                )


def _confirmed(client: "valkey.Valkey") -> int:
    """The replication offset that every replica has; -1 without one."""
    told = client.info("replication")
    replicas = [told[f"slave{number}"] for number in range(told["connected_slaves"])]
    return min((each["offset"] for each in replicas if each["state"] == "online"), default=-1)


def history(cluster: LocalCluster, uid: int, metric: str, seconds: int = 120) -> dict[int, float | None]:
    """One metric of a database by second, from its first known one on, as the stream sends it at first."""
    with cluster.api.stream("GET", "/v1/stream", params={"topics": "bdbs", "history": seconds}) as reply:
        event = ""
        for line in reply.iter_lines():
            if line.startswith("event: "):
                event = line[7:]
            elif line.startswith("data: ") and event == "history":
                frame = json.loads(line[6:])
                column = frame["series"].get(str(uid), [[]] * len(frame["metrics"]))[frame["metrics"].index(metric)]
                known = next((index for index, value in enumerate(column) if value is not None), len(column))
                return {frame["from"] + index: value for index, value in enumerate(column) if index >= known}
    raise AssertionError("the stream ended without history")
