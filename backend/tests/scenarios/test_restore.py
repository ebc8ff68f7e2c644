"""A console whose store was restored from a backup leaves databases alone that are newer than the backup, and reports and repairs
databases that have changed since. Without a backup, databases keep serving, and the steps of the troubleshooting guide work.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
import valkey
from backend.tests.scenarios import database_helpers

from shardboard.local.cluster import LocalCluster, ok

pytestmark = pytest.mark.slow

BACKUP = "console.age"
KEY, VALUE = "order:1", b"paid"
GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "trouble.md"
KEYS = [f"key:{number}" for number in range(200)]


@dataclass
class Orders:
    """A database that the restored store does not contain."""

    endpoint: tuple[str, int]
    node_uid: int
    directory: Path
    pid: int

    def check(self, cluster: LocalCluster) -> None:
        """Check that the database is served by the same process from the same directory."""
        assert self.directory.is_dir()
        assert self.pid in {process.pid for process in cluster.engines()}
        host, port = self.endpoint
        with valkey.Valkey(host=host, port=port, socket_timeout=5) as client:
            assert client.get(KEY) == VALUE


def run_command(cluster: LocalCluster, *arguments: str) -> None:
    command = [sys.executable, "-m", "shardboard", *arguments]
    subprocess.run(command, env=cluster.environment, check=True)


def back_up(cluster: LocalCluster) -> None:
    """Back up the running console."""
    file = cluster.directory / BACKUP
    file.unlink(missing_ok=True)
    run_command(cluster, "backup-console", str(file))


def restore(cluster: LocalCluster) -> None:
    """Stop the console, restore the backup, and start the console."""
    cluster.children["console"].terminate()
    cluster.children.pop("console").wait(60)
    run_command(cluster, "restore-console", str(cluster.directory / BACKUP), "--replace")
    cluster.start_console()


@contextmanager
def restored_store(cluster: LocalCluster) -> Iterator[Orders]:
    """Back up the store, create the database `orders`, write to it, and restore the backup. Remove its shard at the end."""
    back_up(cluster)
    uid = database_helpers.create(cluster, database_helpers.request_body(1, name="orders", data_persistence="aof"))
    bdb = database_helpers.wait_until_settled(cluster, uid)
    assert bdb["status"] == "active"
    [row] = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    endpoint = _endpoint(bdb)
    with valkey.Valkey(host=endpoint[0], port=endpoint[1], socket_timeout=5) as client:
        client.set(KEY, VALUE)
    directory = cluster.directory / "agents" / row["address"] / "shards" / str(row["uid"])
    [pid] = [process.pid for process in cluster.engines() if Path(process.cwd()) == directory.resolve()]
    restore(cluster)
    commands = Orders(endpoint, int(row["node_uid"]), directory, pid)
    try:
        yield commands
        commands.check(cluster)
    finally:
        for engine in cluster.engines():
            if engine.pid == pid:
                remove_unknown_shard(cluster, engine)


def remove_unknown_shard(cluster: LocalCluster, engine: psutil.Process) -> None:
    """Remove a shard that the store does not contain, as the guide describes."""
    directory = Path(engine.cwd())
    node = directory.parents[1].name
    cluster.kill(node)
    engine.kill()
    engine.wait(10)
    shutil.rmtree(directory)
    (cluster.directory / "agents" / node / "proxy" / "state.json").unlink(missing_ok=True)
    cluster.start_agents()


def _endpoint(bdb: dict[str, Any]) -> tuple[str, int]:
    [endpoint] = bdb["endpoints"]
    return endpoint["addr"][0], endpoint["port"]


@pytest.mark.parametrize("shards", [1, 4], ids=["same shape", "another shape"])
def test_a_database_newer_than_the_backup_is_untouched_by_creations(cluster: LocalCluster, shards: int) -> None:
    with restored_store(cluster) as commands:
        uid = database_helpers.create(
            cluster, database_helpers.request_body(shards, name="carts", data_persistence="aof")
        )
        carts = database_helpers.wait_until_settled(cluster, uid)
        commands.check(cluster)
        assert carts["status"] == "active", carts["status_detail"]
        keys = set()
        for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards")):
            with valkey.Valkey(**database_helpers.connection_options(cluster, row), socket_timeout=5) as client:
                keys |= set(client.keys("*"))
        assert keys == set()
        with valkey.Valkey(host=carts["endpoints"][0]["addr"][0], port=carts["endpoints"][0]["port"]) as client:
            assert shards > 1 or client.get(KEY) is None
        alarms = [
            event
            for event in ok(cluster.api.get("/v1/logs"))
            if event["type"] == "alarm_unknown_shards" and event["open"]
        ]
        assert commands.node_uid in {alarm["node_uid"] for alarm in alarms}
        database_helpers.delete(cluster, uid)
        commands.check(cluster)


def test_a_database_newer_than_the_backup_is_untouched_by_resharding(cluster: LocalCluster) -> None:
    older = database_helpers.create(cluster, database_helpers.request_body(2, name="older"))
    assert database_helpers.wait_until_settled(cluster, older)["status"] == "active"
    with restored_store(cluster) as commands:
        ok(cluster.api.put(f"/v1/bdbs/{older}", json={"shards_count": 3}))

        def has_ended() -> bool:
            bdb = ok(cluster.api.get(f"/v1/bdbs/{older}"))
            return bdb["status"] == "active"

        cluster.wait_until(has_ended, "the database is not resharded")
        assert len(ok(cluster.api.get(f"/v1/bdbs/{older}/shards"))) == 3
        commands.check(cluster)
        database_helpers.delete(cluster, older)
        commands.check(cluster)


def write_keys(endpoint: tuple[str, int]) -> None:
    with valkey.Valkey(host=endpoint[0], port=endpoint[1], socket_timeout=5) as client:
        for key in KEYS:
            client.set(key, key)


def served_keys(endpoint: tuple[str, int]) -> int:
    """Return the number of keys that clients can read; 0 if a slot is not served."""
    with valkey.Valkey(host=endpoint[0], port=endpoint[1], socket_timeout=5) as client:
        try:
            return sum(client.get(key) == key.encode() for key in KEYS)
        except valkey.ResponseError:
            return 0


def mismatch(cluster: LocalCluster, uid: int) -> str:
    return str(ok(cluster.api.get(f"/v1/bdbs/{uid}")).get("mismatch", ""))


def open_alarms(cluster: LocalCluster, type_: str) -> list[dict[str, Any]]:
    return [each for each in ok(cluster.api.get("/v1/logs")) if each["type"] == type_ and each["open"]]


def repair(cluster: LocalCluster, uid: int, **body: str) -> None:
    """Repair the database and wait until the store and the agents agree."""
    action = ok(cluster.api.post(f"/v1/bdbs/{uid}/actions/repair", json=body))["action_uid"]

    def ended() -> bool:
        found = ok(cluster.api.get(f"/v2/actions/{action}"))
        assert found["status"] != "failed", found["additional_info"]
        return bool(found["status"] == "completed")

    cluster.wait_until(ended, "the repair does not end")
    cluster.wait_until(
        lambda: cluster.api.get(f"/v1/bdbs/{uid}/availability").status_code == 200, "the database is not available"
    )
    assert open_alarms(cluster, "alarm_store_mismatch") == []


def test_a_database_deleted_since_the_backup_is_reported_and_repaired_empty(cluster: LocalCluster) -> None:
    uid = database_helpers.create(cluster, database_helpers.request_body(2, name="deleted", replication=True))
    database = database_helpers.wait_until_settled(cluster, uid)
    assert database["status"] == "active"
    back_up(cluster)
    database_helpers.delete(cluster, uid)
    restore(cluster)

    def reported() -> bool:
        """The agents still have samples from before the deletion, which can be processed after the shards were compared."""
        found = ok(cluster.api.get(f"/v1/bdbs/{uid}"))
        return (found["shards_in_sync"], found["shards_down"], found["primaries_down"]) == (0, 4, 2)

    cluster.wait_until(reported, "the missing shards are not reported")
    assert "Agents did not have 4 shards" in mismatch(cluster, uid)
    assert cluster.api.get(f"/v1/bdbs/{uid}/availability").json()["error_code"] == "bdb_unavailable_shard_unreachable"
    [alarm] = open_alarms(cluster, "alarm_store_mismatch")
    assert (alarm["bdb_uid"], alarm["severity"]) == (uid, "ERROR")
    refused = cluster.api.post(f"/v1/bdbs/{uid}/actions/repair", json={})
    assert (refused.status_code, refused.json().get("field")) == (400, "confirm"), refused.text
    repair(cluster, uid, confirm=f"database {uid}")
    host, port = _endpoint(database)
    with valkey.ValkeyCluster(host=host, port=port, socket_timeout=5) as client:
        client.set("repaired", "yes")
        assert client.get("repaired") == b"yes"
    database_helpers.delete(cluster, uid)


@pytest.mark.parametrize(("before", "after"), [(3, 2), (2, 3)], ids=["fewer shards", "more shards"])
def test_a_database_resharded_since_the_backup_is_reported_and_repaired(
    cluster: LocalCluster, before: int, after: int
) -> None:
    fields = database_helpers.request_body(before, name="resharded", oss_cluster=False, proxy_policy="single")
    uid = database_helpers.create(cluster, fields)
    database = database_helpers.wait_until_settled(cluster, uid)
    assert database["status"] == "active"
    host, port = _endpoint(database)
    write_keys((host, port))
    back_up(cluster)
    ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"shards_count": after}))
    cluster.wait_until(
        lambda: ok(cluster.api.get(f"/v1/bdbs/{uid}"))["status"] == "active", "the database is not resharded"
    )
    assert len(ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))) == after
    restore(cluster)
    cluster.wait_until(lambda: bool(mismatch(cluster, uid)), "the differences are not reported")
    [alarm] = open_alarms(cluster, "alarm_store_mismatch")
    assert (alarm["severity"], alarm["empty"]) == ("WARNING", [])
    repair(cluster, uid)
    assert len(ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))) == after
    assert ok(cluster.api.get(f"/v1/bdbs/{uid}"))["shards_count"] == after
    cluster.wait_until(lambda: served_keys((host, port)) == len(KEYS), "some slots are not served")
    assert open_alarms(cluster, "alarm_unknown_shards") == []
    database_helpers.delete(cluster, uid)


def test_a_shard_whose_files_were_lost_is_started_empty_and_the_others_keep_their_data(cluster: LocalCluster) -> None:
    fields = database_helpers.request_body(2, name="lost", oss_cluster=False, proxy_policy="single")
    uid = database_helpers.create(cluster, fields)
    database = database_helpers.wait_until_settled(cluster, uid)
    host, port = _endpoint(database)
    write_keys((host, port))
    lost, kept = sorted(ok(cluster.api.get(f"/v1/bdbs/{uid}/shards")), key=lambda row: int(row["uid"]))
    directory = cluster.directory / "agents" / lost["address"] / "shards" / str(lost["uid"])
    cluster.kill(lost["address"])
    for process in cluster.engines(lost["address"]):
        if Path(process.cwd()) == directory.resolve():
            process.kill()
            process.wait(10)
    shutil.rmtree(directory)
    cluster.start_agents()
    cluster.wait_until(lambda: bool(mismatch(cluster, uid)), "the missing shard is not reported")
    repair(cluster, uid, confirm=f"database {uid}")
    with valkey.Valkey(**database_helpers.connection_options(cluster, kept), socket_timeout=5) as client:
        remaining = client.dbsize()
    assert 0 < remaining < len(KEYS)
    cluster.wait_until(lambda: served_keys((host, port)) == remaining, "some slots are not served")
    database_helpers.delete(cluster, uid)


def copy_script(source: tuple[str, int], target: tuple[str, int]) -> str:
    """Return the script of the guide that copies a database, with these endpoints."""
    script = "import valkey\n" + GUIDE.read_text().partition("```python\nimport valkey\n")[2].partition("```")[0]
    for placeholder, (host, port) in {'"10.0.0.5", 12000': source, '"10.0.0.6", 12001': target}.items():
        assert placeholder in script
        script = script.replace(placeholder, f'"{host}", {port}')
    return script


def lose_state(cluster: LocalCluster) -> None:
    """Stop the console, delete its state directory except the subdirectory of the agents, and start a new console."""
    cluster.children["console"].terminate()
    cluster.children.pop("console").wait(60)
    for path in cluster.directory.iterdir():
        if path.name not in ("agents", "logs", "processes.json"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    cluster.start_console()


def restart_agent_with_token(cluster: LocalCluster, address: str) -> None:
    token = ok(cluster.api.post("/v1/join_tokens", json={"address": address}))["token"]
    arguments, _, _ = cluster._commands[address]
    cluster.kill(address)
    cluster.spawn(address, arguments, environment={"SHARDBOARD_JOIN_TOKEN": token})


def test_databases_of_a_lost_console_keep_serving_until_they_are_removed(cluster: LocalCluster) -> None:
    fields = database_helpers.request_body(2, name="orders", oss_cluster=False, proxy_policy="single")
    uid = database_helpers.create(cluster, fields)
    database = database_helpers.wait_until_settled(cluster, uid)
    [endpoint] = database["endpoints"]
    old = (endpoint["addr"][0], endpoint["port"])
    write_keys(old)
    shards = {engine.pid for engine in cluster.engines()}

    lose_state(cluster)
    address = old[0]
    restart_agent_with_token(cluster, address)
    cluster.wait_until(
        lambda: "This agent belongs to a different console than" in cluster.log_of(address).read_text(),
        "the agent does not report that it belongs to another console",
    )
    cluster.wait_until(
        lambda: "node_join_conflict" in {each["type"] for each in ok(cluster.api.get("/v1/logs"))},
        "the console does not report the agent",
    )
    assert ok(cluster.api.get("/v1/nodes")) == []

    for node in cluster.addresses:
        cluster.kill(node)
        (cluster.directory / "agents" / node / "agent.json").unlink()
        cluster.start_agent(node)
    cluster.wait_until(
        lambda: len(open_alarms(cluster, "alarm_unknown_shards")) == 2, "the unknown shards are not reported"
    )
    assert served_keys(old) == len(KEYS)
    assert {engine.pid for engine in cluster.engines()} == shards

    new_uid = database_helpers.create(cluster, {**fields, "name": "orders-2"})
    assert new_uid > uid
    created = database_helpers.wait_until_settled(cluster, new_uid)
    assert created["status"] == "active", created["status_detail"]
    [endpoint] = created["endpoints"]
    new = (endpoint["addr"][0], endpoint["port"])
    assert served_keys(old) == len(KEYS), "the new database does not close the endpoint"
    subprocess.run([sys.executable, "-c", copy_script(old, new)], check=True, timeout=60)
    assert served_keys(new) == len(KEYS)

    for engine in cluster.engines():
        if engine.pid in shards:
            remove_unknown_shard(cluster, engine)
    cluster.children["console"].terminate()
    cluster.children.pop("console").wait(60)
    cluster.start_console()
    cluster.wait_until(
        lambda: not open_alarms(cluster, "alarm_unknown_shards"), "the removed shards are still reported"
    )
    assert served_keys(new) == len(KEYS)
    with pytest.raises(valkey.ConnectionError), valkey.Valkey(host=old[0], port=old[1], socket_timeout=5) as client:
        client.ping()
