"""`shardboard demo`: one or two consoles, three agents, one database with scheduled backups and steady traffic, set up through the
regular interfaces.

All files are below the state directory. Ctrl-C saves the shards and stops what the demo started; the next start continues from the
same state. `--clean` deletes everything.
"""

import fcntl
import json
import os
import secrets
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

import httpx
import psutil

from shardboard.agent.benchmarks import load_generators
from shardboard.agent.databases import flash
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.databases.shard_status import ShardLink, ShardStatus
from shardboard.kit import resources
from shardboard.local import demo_consoles, demo_traffic
from shardboard.local.cluster import LocalCluster, LocalError, ok
from shardboard.local.lifeline import lifeline
from shardboard.local.process_supervisor import ProcessSupervisor
from shardboard.settings import Settings
from shardboard.transfer.specification import MOVER

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ADDRESSES = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
DATABASE = {
    "name": "demo",
    "type": "redis",
    "memory_size": 1_200_000_000,
    "sharding": True,
    "shards_count": 6,
    "replication": True,
    "oss_cluster": True,
    "proxy_policy": "all-master-shards",
    "shards_placement": "sparse",
    "shard_key_regex": [{"regex": ".*\\{(?<tag>.*)\\}.*"}, {"regex": "(?<tag>.*)"}],
    "eviction_policy": "allkeys-lru",
}


ON_FLASH = {
    **DATABASE,
    "name": "demo-flash",
    "memory_size": 640_000_000,
    "bigstore": True,
    "bigstore_ram_size": 160_000_000,
    "shards_count": 2,
}
LOCK_SECONDS = 60.0
"""Seconds to wait for the cleanup of an earlier demo that was killed."""
FLASH_SIZE = 2 * 2**30
"""Bytes of flash per agent, if the engine module for flash is built."""

RUN: dict[str, Any] = {
    "name": "First run",
    "notes": "A short example run: 1,000 requests per second on a fixed schedule, twice, in addition to the demo traffic.",
    "workload": {
        "key_minimum": 1,
        "key_maximum": 5_000,
        "data_size": 100,
        "expiry_range": "300-600",
        "threads": 1,
        "clients": 4,
        "randomize": True,
        "distinct_client_seed": True,
    },
    "phases": [
        {"name": "populate", "workload": {"requests": "allkeys", "key_pattern": "P:P", "ratio": "1:0"}},
        {"name": "measure", "workload": {"test_time": 15, "rate": 1_000, "ratio": "1:4"}},
    ],
    "repetitions": 2,
    "sla": {"average_ms": 5, "p99_ms": 50},
    "overwrite": True,  # its keys have distinct names and expire
}
BACKUP_SECONDS = 90
"""Until the first backup of the database. By then, it contains data, and the example run has usually ended."""
BACKUP_INTERVAL = 3_600


def backup_settings(location_uid: int, now: float) -> dict[str, Any]:
    """Return the fields of the database for hourly backups, each of which is verified."""
    return {
        "backup": True,
        "backup_location_uid": location_uid,
        "backup_interval": BACKUP_INTERVAL,
        "backup_interval_offset": int(now + BACKUP_SECONDS) % BACKUP_INTERVAL,
        "backup_schedule": {"verify": True},
        "backup_retention": {"count": 5},
    }


class Demo:
    """Performs the steps of the command."""

    def __init__(self, settings: Settings, consoles: int = 1) -> None:
        self._settings = settings
        self._consoles = consoles
        self._directory = settings.state_dir.resolve()
        self._login_file = self._directory / "demo-login.json"
        self._backups = self._directory / "backups"
        self._user, self._password = self._credentials()
        self._cluster = LocalCluster(
            self._directory,
            user=self._user,
            password=self._password,
            https_port=settings.https_port,
            http_port=settings.http_port,
            addresses=ADDRESSES,
            environment={"SHARDBOARD_BACKUP_ROOTS": str(self._backups)},
            memory=psutil.virtual_memory().total // len(ADDRESSES),
            flash=FLASH_SIZE if flash.find_module() is not None else None,
            park=True,
        )

    def run(self) -> int:
        """Start everything and keep it running until a stop signal. Parts that end unexpectedly are restarted."""
        with self._exclusive() as lock, lifeline(self._directory, "--cluster", pass_fds=[lock]):
            self._check_consoles()
            self._cluster.end_leftovers()
            try:
                with self._database_server() as variables:
                    self._cluster.environment.update(variables)
                    return self._run()
            except KeyboardInterrupt:
                return 0

    def _check_consoles(self) -> None:
        """Check that the stored demo has as many consoles: another number needs another store."""
        if self._login_file.is_file():
            stored = json.loads(self._login_file.read_text()).get("consoles", 1)
            if stored != self._consoles:
                message = f"the demo in {self._directory} was started with --consoles {stored}"
                raise LocalError(f"{message}; delete it with `make clean-demo`, or start it with this option")

    def _database_server(self) -> AbstractContextManager[Mapping[str, str]]:
        """Return the context in which the consoles can run, with their variables. One console uses SQLite."""
        if self._consoles == 1:
            return nullcontext({})
        return demo_consoles.running_server(self._directory)

    def _start_consoles(self) -> None:
        if self._consoles == 1:
            with _step("starting the console"):
                self._cluster.start_console()
            return
        with _step("starting two consoles on a private PostgreSQL server"):
            self._cluster.environment.update(demo_consoles.address_of(self._settings.http_port))
            self._cluster.start_console()
            demo_consoles.start_second_console(self._cluster, self._settings)

    def _run(self) -> int:
        self._cluster.on_slow = lambda message: _print_line(
            f"  this machine is slow or busy: {message}. Still waiting …"
        )
        try:
            self._store_login()
            self._start_consoles()
            with _step("starting three agents"):
                self._cluster.start_agents()
            with _keep_others("the database demo"):
                with _step("bringing up the database demo (6 primaries, 6 replicas)"):
                    endpoints = self._database(DATABASE)
                demo_traffic.start(self._cluster, "traffic", endpoints)
                self._start_example_run()
                self._schedule_backups()
            if self._cluster.flash:
                with _keep_others("the database demo-flash"):
                    with _step("bringing up the database demo-flash (2 primaries, 2 replicas, on flash)"):
                        endpoints = self._database(ON_FLASH)
                    with _step("writing its keys"):
                        demo_traffic.start(self._cluster, "traffic-flash", endpoints, "flash")
            self._print_welcome()
            supervisor = ProcessSupervisor(self._cluster, _print_line)
            while True:
                supervisor.restart_due(time.monotonic())
                time.sleep(0.5)
        except KeyboardInterrupt:
            return 0
        finally:
            for number in STOPS:
                signal.signal(number, signal.SIG_IGN)  # a second Ctrl-C must not interrupt saving
            self._cluster.on_slow = None
            with _step("saving the shards and stopping"):
                self._cluster.stop()

    @contextmanager
    def _exclusive(self) -> Iterator[int]:
        """Hold the lock of the state directory. The lifeline of a killed demo keeps it until it has stopped the cluster.

        Raises LocalError if another demo keeps running.
        """
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self._directory / "demo.lock").open("w") as file:
            deadline = time.monotonic() + LOCK_SECONDS
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise LocalError(f"another demo is running in {self._directory}; stop it first") from None
                    time.sleep(0.1)
            yield file.fileno()

    def clean(self) -> int:
        """Stop what an earlier demo left running and delete its state, and nothing else."""
        # A demo that did not start has no nodes yet.
        if not (self._cluster.clean() or self._login_file.is_file()):
            print(f"No demo found in {self._directory}.")
            return 0
        for name in ("agents", "backups", "logs", "tls", "demo-login.json", "processes.json", "instance"):
            path = self._directory / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        for path in self._directory.glob("console.db*"):
            path.unlink()
        demo_consoles.delete_data(self._directory)
        print(f"Deleted the demo in {self._directory}.")
        return 0

    def _credentials(self) -> tuple[str, str]:
        """Return the administrator's credentials. They are stored, so that later runs can print them again."""
        if self._login_file.is_file():
            credentials = json.loads(self._login_file.read_text())
            return credentials["user"], credentials["password"]
        return self._settings.admin_user, self._settings.configured_password or secrets.token_urlsafe(12)

    def _store_login(self) -> None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._login_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump({"user": self._user, "password": self._password, "consoles": self._consoles}, file)

    def _database(self, spec: Mapping[str, Any]) -> list[demo_traffic.HostPort]:
        """Create the database if necessary and return its endpoint addresses when all replicas are in sync."""
        api = self._cluster.api
        endpoints: list[dict[str, Any]] = []

        def is_settled() -> bool:
            bdb = self._find_or_create(spec)
            if bdb["status"] == BdbStatus.CREATION_FAILED:
                raise LocalError(f"the database could not be created: {bdb['status_detail']}")
            # A shard that died earlier stays down, and the web UI shows it; the others must still start.
            shards = ok(api.get(f"/v1/bdbs/{bdb['uid']}/shards"))
            syncing = [
                shard for shard in shards if shard["detailed_status"] != ShardStatus.DOWN and not _in_sync(shard)
            ]
            endpoints[:] = bdb["endpoints"]
            return bdb["status"] == BdbStatus.ACTIVE and not syncing

        self._cluster.wait_until(is_settled, f"the database {spec['name']} did not become active")
        return [(address, endpoints[0]["port"]) for address in endpoints[0]["addr"]]

    def _find_or_create(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """Return the database. Repeated after a request whose reply was lost, it does not create a second one."""
        api = self._cluster.api
        for bdb in ok(api.get("/v1/bdbs")):
            if bdb["name"] == spec["name"]:
                found: dict[str, Any] = bdb
                return found
        ok(api.put("/v1/cluster/policy", json={"drills_enabled": True}))
        # All nodes are on this machine, whose disk may contain other data.
        ok(api.put("/v1/cluster", json={"alert_settings": {"node_persistent_storage": {"enabled": False}}}))
        created: dict[str, Any] = ok(api.post("/v1/bdbs", json=dict(spec)))
        return created

    def _start_example_run(self) -> None:
        """Start a short benchmark, once, as an example. Do not wait for it."""
        api = self._cluster.api
        if load_generators.find() is None or ok(api.get("/v1/benchmarks", params={"limit": 1})):
            return
        ok(api.post("/v1/benchmarks", json={**RUN, "bdb_uid": self._uid()}))

    def _schedule_backups(self) -> None:
        """Add a folder of this machine as location and schedule backups of the database, once."""
        api = self._cluster.api
        self._backups.mkdir(mode=0o700, exist_ok=True)
        if resources.program(MOVER) is None or ok(api.get("/v1/backup_locations")):
            return
        location = {"type": "mount_point", "path": str(self._backups)}
        uid = ok(api.post("/v1/backup_locations", json={"name": "Folder of the demo", "location": location}))["uid"]
        ok(api.put(f"/v1/bdbs/{self._uid()}", json=backup_settings(uid, time.time())))

    def _uid(self) -> int:
        """Return the uid of the database."""
        bdbs = ok(self._cluster.api.get("/v1/bdbs"))
        return int(next(bdb["uid"] for bdb in bdbs if bdb["name"] == DATABASE["name"]))

    def _print_welcome(self) -> None:
        lines = [
            "",
            "Shardboard is running on three nodes of this machine.",
            "",
            f"  web UI    http://localhost:{self._settings.http_port}",
            f"            {self._cluster.url} (certificate of the console CA; also REST API)",
            *self._second_console_lines(),
            f"  user      {self._user}",
            f"  password  {self._password}",
            "",
            *self._kill_instructions(),
            "Ctrl-C stops the demo and keeps its state; `make clean-demo` deletes it.",
        ]
        _print_line("\n".join(lines))

    def _second_console_lines(self) -> list[str]:
        if self._consoles == 1:
            return []
        return [f"            http://localhost:{demo_consoles.second_http_port(self._settings)} (second console)"]

    def _kill_instructions(self) -> list[str]:
        """Return how to kill a console. The first one usually leads, because it was started first."""
        if self._consoles == 1:
            return []
        first, second = (self._cluster.children[name].pid for name in ("console", demo_consoles.SECOND))
        return [
            "To lose a console, open the web UI and kill its process. Settings > Consoles shows which one leads.",
            "The page continues on the other console, which leads within 2 s. The demo restarts the lost one.",
            "",
            f"  kill -9 {first}    the first console",
            f"  kill -9 {second}    the second console",
            "",
        ]


def _in_sync(shard: dict[str, Any]) -> bool:
    link = shard.get("sync", {"status": ShardLink.IDLE})["status"]
    return bool(shard["detailed_status"] == ShardStatus.OK and link == ShardLink.IDLE)


@contextmanager
def _step(what: str) -> Iterator[None]:
    _print_line(f"… {what}")
    start = time.monotonic()
    yield
    _print_line(f"  done in {time.monotonic() - start:.1f} s")


@contextmanager
def _keep_others(part: str) -> Iterator[None]:
    """Report the failure of a part, without which the others are still useful."""
    try:
        yield
    except (LocalError, httpx.HTTPError) as error:
        reason = str(error).rstrip(".")
        _print_line(f"  {part} failed: {reason}. The demo continues without this part.")


def _print_line(line: str) -> None:
    with suppress(OSError):  # even if the terminal is closed, the processes must be stopped
        print(line, flush=True)


def run(*, clean: bool, consoles: int = 1) -> int:
    """Run the command. Return its exit status."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    for number in STOPS:
        signal.signal(number, interrupt)
    demo = Demo(Settings(), consoles)
    try:
        return demo.clean() if clean else demo.run()
    except LocalError as error:
        print(f"Demo failed: {error}", file=sys.stderr)
        return 1
