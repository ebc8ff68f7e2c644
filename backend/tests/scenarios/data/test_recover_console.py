"""A console whose store is lost is rebuilt from the copies of agents while clients use the databases, without a client error and
without a restart of shards or proxies."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
import valkey
from backend.tests.scenarios import database_helpers
from backend.tests.scenarios.test_reshard import Load

from shardboard.contract.recovery_copies import CopyVersion, RecoveryCopy
from shardboard.local.cluster import LocalCluster, ok, private_cluster
from shardboard.pki.recovery_seal import CA_COLUMN, Envelope, unseal
from shardboard.pki.signer import CertificateAuthority
from shardboard.store.store_key import FileStoreKeys

pytestmark = pytest.mark.slow

PASSWORD = "correct horse battery"
OBSERVED = {
    "nodes": {"free_ram", "last_seen", "persistent_storage_size", "probes_per_second", "system_time", "uptime"},
    "bdbs": set[str](),
    "shards": {"report_timestamp", "used_memory"},
}
"""Fields of REST objects that agents report all the time. Databases contain their endpoints."""


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with database_helpers.running(private_cluster(tmp_path_factory.mktemp("cluster"), nodes=3)) as running_cluster:
        yield running_cluster


@pytest.fixture(autouse=True)
def without_leftovers() -> None:
    """Keep what a test created: its cluster has no other test."""


class UserLoad:
    """A user with access to data that increments a counter, each time over a new connection. It must never get an error."""

    def __init__(self, bdb: dict[str, Any]) -> None:
        self._endpoint = bdb["endpoints"][0]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.errors: list[str] = []
        self.count = 0

    def __enter__(self) -> "UserLoad":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def connect(self) -> valkey.Valkey:
        address, port = self._endpoint["addr"][0], self._endpoint["port"]
        return valkey.Valkey(address, port, username="ann", password=PASSWORD, socket_timeout=30)

    def _run(self) -> None:
        while not self._stop.wait(0.02):
            try:
                with self.connect() as client:
                    found = int(client.incr("counter"))  # type: ignore[arg-type]
            except valkey.ValkeyError as error:
                self.errors.append(f"{type(error).__name__}: {error}")
                continue
            if found != self.count + 1:
                self.errors.append(f"{found} after {self.count}")
            self.count = found


def create(cluster: LocalCluster, fields: dict[str, Any]) -> dict[str, Any]:
    bdb = database_helpers.wait_until_settled(cluster, database_helpers.create(cluster, fields))
    assert bdb["status"] == "active", bdb["status_detail"]
    return bdb


def objects(cluster: LocalCluster) -> dict[str, list[dict[str, Any]]]:
    """Return the REST objects without observed fields."""
    return {
        path: [
            {name: value for name, value in row.items() if name not in observed}
            for row in ok(cluster.api.get(f"/v1/{path}"))
        ]
        for path, observed in OBSERVED.items()
    }


def processes(cluster: LocalCluster) -> set[int]:
    return {process.pid for process in (*cluster.engines(), *cluster.proxies())}


def copied(cluster: LocalCluster, address: str) -> dict[str, Any]:
    """Return the content of the copy of the cluster that an agent has; empty without one."""
    file = copy_file(cluster, address)
    if not file.exists():
        return {}
    head, _, content = file.read_text().partition("\n")
    copy = RecoveryCopy(**CopyVersion.model_validate_json(head).model_dump(), content=content)
    keys = FileStoreKeys(cluster.directory / "store.key")
    ca = keys.decrypt(Envelope.parse(content).ca_for_store_key, CA_COLUMN).encode()
    found: dict[str, Any] = json.loads(unseal(CertificateAuthority.read(ca, ca), copy))
    return found


def copy_file(cluster: LocalCluster, address: str) -> Path:
    return cluster.directory / "agents" / address / "recovery" / "cluster"


def wait_until_copied(cluster: LocalCluster, *users: str) -> None:
    """Wait until all agents have copies with these users with access to data, and thus of all earlier changes."""
    cluster.wait_until(
        lambda: all(
            [user["email"] for user in copied(cluster, address).get("users", [])] == list(users)
            for address in cluster.addresses
        ),
        "the agents do not have the newest copies",
    )


def lose_store(cluster: LocalCluster, *, with_key: bool = False) -> None:
    """Kill the console and delete its state, with or without the store key, of which administrators may have a copy."""
    cluster.kill("console")
    kept = {"agents", "logs", "processes.json"} | (set() if with_key else {"store.key"})
    for path in cluster.directory.iterdir():
        if path.name not in kept:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def recovery(cluster: LocalCluster, *arguments: str, nodes: int = 1) -> subprocess.Popen[str]:
    """Start the recovery with the address of one node and the copies of some. The password of the administrator stays the same."""
    password = cluster.directory / "first-password"
    with os.fdopen(os.open(password, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(cluster.login[1])
    source = ["--node", cluster.addresses[0]]
    for address in cluster.addresses[:nodes]:
        source += ["--copy", str(copy_file(cluster, address))]
    return subprocess.Popen(
        [sys.executable, "-m", "shardboard", "recover-console", *source, *arguments],
        env={**cluster.environment, "SHARDBOARD_ADMIN_PASSWORD_FILE": str(password)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def recover_with_kills(cluster: LocalCluster) -> None:
    """Kill the recovery at later and later moments until it is complete."""
    store, kills, seconds = cluster.directory / "console.db", 0, 0.5
    while not store.exists():
        assert seconds < 300, "the recovery does not end"
        process = recovery(cluster)
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            output, _ = process.communicate()
        kills += process.returncode == -signal.SIGKILL
        assert process.returncode in (0, -signal.SIGKILL), output
        seconds *= 2
    assert kills, "it was never killed"


def test_lost_store_is_rebuilt_under_load(cluster: LocalCluster) -> None:
    sharded = create(cluster, database_helpers.request_body(3, replication=True, name="sharded"))
    acl = ok(cluster.api.post("/v1/redis_acls", json={"name": "counters", "acl": "+@all ~counter"}))["uid"]
    role = ok(cluster.api.post("/v1/roles", json={"name": "counting", "management": "none"}))["uid"]
    permissions = [{"role_uid": role, "redis_acl_uid": acl}]
    single = create(
        cluster,
        database_helpers.request_body(
            1, replication=True, name="single", default_user=False, roles_permissions=permissions
        ),
    )
    ok(cluster.api.post("/v1/users", json={"email": "ann", "name": "", "password": PASSWORD, "role_uids": [role]}))
    load, user_load = Load(sharded), UserLoad(single)
    load.fill()

    def is_user_accepted() -> bool:
        try:
            with user_load.connect() as client:
                return client.set("counter", 0) is True
        except valkey.ValkeyError:
            return False

    cluster.wait_until(is_user_accepted, "the user gets no access")
    wait_until_copied(cluster, "ann")
    before, running = objects(cluster), processes(cluster)
    with load, user_load:
        lose_store(cluster)
        check = recovery(cluster, "--check")
        output, _ = check.communicate(timeout=120)
        assert check.returncode == 0, output
        assert "Nothing was changed." in output
        assert not (cluster.directory / "console.db").exists()
        recover_with_kills(cluster)
        requests, count = load.requests, user_load.count
        cluster.start_console()
        cluster.wait_until(lambda: len(cluster.connected()) == 3, "not all agents are connected")
        cluster.wait_until(lambda: objects(cluster) == before, f"the objects differ from\n{before}", 180)
        # The loops have compared shards, users, and proxies with the store when a change has reached all of them.
        ok(cluster.api.put(f"/v1/bdbs/{sharded['uid']}", json={"memory_size": 400_000_000}))
        cluster.wait_until(
            lambda: ok(cluster.api.get(f"/v1/bdbs/{sharded['uid']}"))["status"] == "active", "the change does not end"
        )
        cluster.wait_until(lambda: load.requests > requests, "the load stopped")
        cluster.wait_until(lambda: user_load.count > count + 100, "the user's load stopped")
    assert (load.errors, load.wrong, user_load.errors) == ([], [], [])
    assert load.missing() == []
    assert processes(cluster) == running
    alarms = [event["type"] for event in ok(cluster.api.get("/v1/logs")) if event.get("open")]
    assert {"alarm_unknown_shards", "alarm_store_mismatch"}.isdisjoint(alarms)
    assert "console_recovered" in {event["type"] for event in ok(cluster.api.get("/v1/logs"))}
    assert cluster.api.get("/v1/cluster", auth=("ann", PASSWORD)).status_code == 401

    victim = next(row for row in ok(cluster.api.get(f"/v1/bdbs/{sharded['uid']}/shards")) if row["role"] == "master")
    [engine] = [each for each in cluster.engines() if Path(each.cwd()).name == str(victim["uid"])]
    engine.kill()
    cluster.wait_until(
        lambda: (
            "failover_complete" in {event["type"] for event in ok(cluster.api.get("/v1/logs"))}
            or next(
                row["role"]
                for row in ok(cluster.api.get(f"/v1/bdbs/{sharded['uid']}/shards"))
                if row["uid"] == victim["uid"]
            )
            == "slave"
        ),
        "the rebuilt console does not fail over",
    )


def test_lost_store_and_store_key_are_rebuilt_from_most_nodes(cluster: LocalCluster) -> None:
    """Nothing of the console is left: neither its CA, nor the store key, nor a backup. No agent joins again."""
    bdb = create(cluster, database_helpers.request_body(2, replication=True, name="sharded"))
    ok(cluster.api.post("/v1/redis_acls", json={"name": "last change", "acl": "+@all ~*"}))
    cluster.wait_until(
        lambda: all(
            "last change" in {acl["name"] for acl in copied(cluster, address).get("redis_acls", [])}
            for address in cluster.addresses
        ),
        "the agents do not have the newest copies",
    )
    key, before, running = (cluster.directory / "store.key").read_text(), objects(cluster), processes(cluster)
    identities = [cluster.directory / "agents" / address / "agent.json" for address in cluster.addresses]
    joined = [file.read_text() for file in identities]
    load = Load(bdb)
    load.fill()
    with load:
        lose_store(cluster, with_key=True)
        refused = recovery(cluster)
        output, _ = refused.communicate(timeout=120)
        assert refused.returncode == 1
        assert "copies of 2 nodes are needed, and these are of 1" in output
        recovered = recovery(cluster, nodes=2)
        output, _ = recovered.communicate(timeout=120)
        assert recovered.returncode == 0, output
        requests = load.requests
        cluster.start_console()
        cluster.wait_until(lambda: len(cluster.connected()) == 3, "not all agents are connected")
        cluster.wait_until(lambda: objects(cluster) == before, f"the objects differ from\n{before}", 180)
        cluster.wait_until(lambda: load.requests > requests, "the load stopped")
    assert (load.errors, load.wrong, load.missing()) == ([], [], [])
    assert processes(cluster) == running
    assert (cluster.directory / "store.key").read_text() != key
    assert [file.read_text() for file in identities] == joined
