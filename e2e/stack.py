"""Run the stack for the browser tests: console, three agents, a database with traffic, and commands that cause failures.

Prints one line of JSON when everything runs, then executes one command per connection to a Unix socket. On SIGTERM, Ctrl-C or
when its standard input closes (for example because the test runner died), it ends with all processes it started, including shards.
"""

import fcntl
import hashlib
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import psutil

from shardboard.local import demo_traffic
from shardboard.local.cluster import LocalCluster, LocalError, ok, private_cluster
from shardboard.local.demo import DATABASE
from shardboard.local.loopback import free_port
from shardboard.local.postgres import PrivateServer, server_account

DIRECTORY = Path(__file__).resolve().parent
LOGS = DIRECTORY / "results" / "logs"
OPS_PER_SECOND = 300
"""Requests per second: enough for every chart. Five times as many would constantly use a tenth of a processor."""
NODES = 3
FLASH_SIZE = 2**30
"""Flash of each agent in bytes."""


class Stack:
    """The cluster under test, and on request a console without nodes, and two consoles on one PostgreSQL database."""

    def __init__(self, directory: Path) -> None:
        self._backups = directory / "backups"
        self._cluster = private_cluster(
            directory / "cluster",
            nodes=NODES,
            flash=FLASH_SIZE,
            environment={"SHARDBOARD_BACKUP_ROOTS": str(self._backups)},
        )
        self._empty = private_cluster(directory / "empty", nodes=0)
        self._pair = private_cluster(directory / "pair", nodes=0)
        self._servers = ExitStack()

    def start(self) -> dict[str, Any]:
        """Start everything and return the information that tests need."""
        self._backups.mkdir()
        self._cluster.start_console()
        self._cluster.start_agents()
        # The test machine can be busy.
        ok(self._cluster.api.put("/v1/cluster", json={"alert_settings": {"node_cpu_utilization": {"enabled": False}}}))
        ok(self._cluster.api.put("/v1/cluster/policy", json={"backup_pace": "fast"}))
        uid = ok(self._cluster.api.post("/v1/bdbs", json=DATABASE))["uid"]
        self._cluster.wait_until(lambda: self._is_healthy(uid), "the database did not become active", 120)
        self._traffic(uid, OPS_PER_SECOND)
        return {
            **self._about(self._cluster),
            "bdb": uid,
            "addresses": list(self._cluster.addresses),
            "backups": str(self._backups),
        }

    def stop(self) -> None:
        for cluster in (self._cluster, self._empty, self._pair):
            cluster.stop()
            cluster.kill_shards()
        self._servers.close()

    def do(self, name: str, *arguments: str) -> Any:
        """Execute one command of a test."""
        commands: dict[str, Callable[..., Any]] = {
            "kill-console": lambda: self._kill("console"),
            "start-console": self._cluster.start_console,
            "kill-agent": lambda node: self._kill(self._cluster.addresses[int(node) - 1]),
            "start-agents": self._cluster.start_agents,
            "kill-shard": self._kill_shard,
            "shards-alive": lambda: len(self._engines()),
            "start-traffic": lambda uid, rate, profile: self._traffic(int(uid), int(rate), profile),
            "stop-traffic": lambda uid: (
                self._kill(f"traffic-{uid}") if f"traffic-{uid}" in self._cluster.children else None
            ),
            "start-empty": self._start_empty,
            "start-pair": self._start_pair,
            "kill-pair": lambda name: self._kill_of_pair(name),
            "restart-pair": self._restart_pair,
        }
        return commands[name](*arguments)

    def _start_empty(self) -> dict[str, Any]:
        if not self._empty.children:
            self._empty.start_console()
        return self._about(self._empty)

    def _start_pair(self) -> dict[str, Any]:
        """Start two consoles on one database. Their host names differ, so that browsers share no cookies between them."""
        if not self._pair.children:
            directory = Path(tempfile.mkdtemp(prefix="shardboard-postgres-", dir="/tmp"))
            self._servers.callback(shutil.rmtree, directory, ignore_errors=True)
            server = PrivateServer(directory, server_account())
            self._servers.callback(server.stop)
            server.start()
            self._pair.environment["SHARDBOARD_DATABASE_URL"] = server.url
            self._pair.environment["SHARDBOARD_ADVERTISE_URL"] = self._pair.http_url
            self._pair.start_console()
            port = free_port()
            self._second_url = f"http://second.localhost:{port}"
            ports = {"SHARDBOARD_HTTPS_PORT": str(free_port()), "SHARDBOARD_HTTP_PORT": str(port)}
            self._pair.spawn_console("console-2", {**ports, "SHARDBOARD_ADVERTISE_URL": self._second_url})
        self._wait_for_pair()
        return {**self._about(self._pair), "second_url": self._second_url}

    def _wait_for_pair(self) -> None:
        def are_running() -> bool:
            rows = ok(self._pair.api.get("/v1/consoles"))
            return len(rows) == 2 and all(row["status"] == "running" for row in rows)

        self._pair.wait_until(are_running, "the two consoles do not run")

    def _kill_of_pair(self, name: str) -> None:
        child = self._pair.children.pop(name)
        child.kill()
        child.wait()

    def _restart_pair(self) -> None:
        for name in ("console", "console-2"):
            if name not in self._pair.children:
                self._pair.respawn(name)
        self._pair.wait_until(self._pair._responds, "the first console did not respond")
        self._wait_for_pair()

    def _about(self, cluster: LocalCluster) -> dict[str, Any]:
        user, password = cluster.login
        return {"url": cluster.http_url, "https_url": cluster.url, "user": user, "password": password}

    def _is_healthy(self, uid: int) -> bool:
        bdb = ok(self._cluster.api.get(f"/v1/bdbs/{uid}"))
        if bdb["status"] == "creation-failed":
            raise LocalError(f"the database could not be created: {bdb['status_detail']}")
        return bool(bdb["status"] == "active" and bdb["shards_in_sync"] == bdb["shards_total"])

    def _traffic(self, uid: int, rate: int, profile: str = "mixed") -> None:
        bdb = ok(self._cluster.api.get(f"/v1/bdbs/{uid}"))
        endpoint = bdb["endpoints"][0]
        addresses = [(address, endpoint["port"]) for address in endpoint["addr"]]
        demo_traffic.start(self._cluster, f"traffic-{uid}", addresses, profile, rate, follows=bdb["oss_cluster"])

    def _kill(self, name: str) -> None:
        child = self._cluster.children.pop(name)
        child.kill()
        child.wait()

    def _engines(self) -> list[psutil.Process]:
        """Return the shard processes of this stack."""
        return [*self._cluster.engines(), *self._empty.engines()]

    def _kill_shard(self, uid: str) -> None:
        def pid() -> int:
            pid: int = ok(self._cluster.api.get(f"/v1/shards/{uid}")).get("pid", 0)
            return pid

        self._cluster.wait_until(lambda: pid() > 0, f"the process of shard {uid} is unknown")
        next(process for process in self._engines() if process.pid == pid()).kill()

    def keep_logs(self) -> None:
        shutil.rmtree(LOGS, ignore_errors=True)
        for cluster in (self._cluster, self._empty, self._pair):
            if (cluster.directory / "logs").is_dir():
                shutil.copytree(cluster.directory / "logs", LOGS / cluster.directory.name)


def forget_earlier_run(directory: Path) -> None:
    """End processes that remain if a runner and its stack were killed. Their directory identifies them."""
    for name in ("cluster", "empty", "pair"):
        if (directory / name).is_dir():
            earlier_cluster = private_cluster(directory / name, nodes=0)
            earlier_cluster.end_leftovers()
            earlier_cluster.kill_shards()
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(mode=0o700)


def serve(stack: Stack, listener: socket.socket) -> None:
    """Execute one command per connection, with one line for request and reply, until standard input closes."""
    while True:
        ready, _, _ = select.select([sys.stdin, listener], [], [])
        if sys.stdin in ready and not os.read(sys.stdin.fileno(), 1024):
            return
        if listener not in ready:
            continue
        connection, _ = listener.accept()
        with connection, connection.makefile("rw") as lines:
            words = lines.readline().split()
            try:
                answer = {"result": stack.do(*words)}
            except Exception as error:  # sent to the test, which fails
                answer = {"error": f"{' '.join(words)}: {error!r}"}
            lines.write(json.dumps(answer) + "\n")


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def main() -> int:
    # A short path per checkout, because Unix sockets allow only about a hundred characters.
    directory = Path(tempfile.gettempdir()) / f"sb-e2e-{hashlib.sha256(bytes(DIRECTORY)).hexdigest()[:10]}"
    with Path(f"{directory}.lock").open("w") as lock, socket.socket(socket.AF_UNIX) as listener:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("The browser tests of this checkout are already running.", file=sys.stderr)
            return 1
        signal.signal(signal.SIGTERM, interrupt)
        forget_earlier_run(directory)
        stack = Stack(directory)
        try:
            about = stack.start()
            listener.bind(str(directory / "control"))
            listener.listen()
            print(json.dumps({**about, "control": str(directory / "control")}), flush=True)
            serve(stack, listener)
        except (LocalError, httpx.HTTPError) as error:
            print(f"The stack did not start: {error}. Logs are in {LOGS}.", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            pass
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)  # a second Ctrl-C must not interrupt the cleanup
            stack.stop()
            stack.keep_logs()
            shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
