"""A second console of a local cluster, on the same PostgreSQL database."""

import shutil
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from shardboard.local.cluster import LocalCluster, ok
from shardboard.local.loopback import free_port


class ConsoleProcess:
    """One of the consoles: its process, its REST API and what it reports about itself."""

    def __init__(self, cluster: LocalCluster, name: str, port: int) -> None:
        self.name = name
        self._cluster = cluster
        context = ssl.create_default_context(cafile=str(cluster.directory / "tls" / "ca.pem"))
        self.api = httpx.Client(
            base_url=f"https://localhost:{port}", auth=cluster.login, verify=context, trust_env=False, timeout=10
        )

    @property
    def process(self) -> Any:
        return self._cluster.children[self.name]

    def state(self) -> dict[str, Any]:
        """Return this console in its own list of consoles."""
        listed: list[dict[str, Any]] = ok(self.api.get("/v1/consoles"))
        return next(each for each in listed if each["is_current"])

    def leads(self) -> bool:
        """Return whether this console responds and leads."""
        try:
            return bool(self.state()["is_leader"])
        except (httpx.TransportError, StopIteration):
            return False


class ConsolePair:
    """The console of a local cluster and a second one."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.cluster = cluster
        self._port = free_port()
        self.first = ConsoleProcess(cluster, "console", int(cluster.url.rpartition(":")[2]))
        self.second = ConsoleProcess(cluster, "console-2", self._port)

    def start_second(self) -> None:
        """Start the second console and wait until it lists itself."""
        state = self.cluster.directory / "console-2"
        state.mkdir(mode=0o700, exist_ok=True)
        shutil.copy(self.cluster.directory / "store.key", state / "store.key")
        environment = {
            "SHARDBOARD_STATE_DIR": str(state),
            "SHARDBOARD_HTTPS_PORT": str(self._port),
            "SHARDBOARD_HTTP_PORT": "0",
        }
        self.cluster.spawn("console-2", ["console"], environment=environment)
        self.wait_until_listed(self.second)

    def start(self, console: ConsoleProcess) -> None:
        """Start a console that was killed."""
        if console is self.second:
            self.start_second()
        else:
            self.cluster.start_console()
            self.wait_until_listed(console)

    def wait_until_listed(self, console: ConsoleProcess) -> None:
        def is_listed() -> bool:
            try:
                return console.state()["status"] == "running"
            except (httpx.TransportError, StopIteration):
                return False

        self.cluster.wait_until(is_listed, f"{console.name} does not list itself")

    def by_role(self) -> tuple[ConsoleProcess, ConsoleProcess]:
        """Return the leading console and the other one."""
        self.cluster.wait_until(lambda: self.first.leads() != self.second.leads(), "no console leads")
        return (self.first, self.second) if self.first.leads() else (self.second, self.first)


@contextmanager
def console_pair(cluster: LocalCluster) -> Iterator[ConsolePair]:
    """Run a second console during the block."""
    pair = ConsolePair(cluster)
    pair.start_second()
    yield pair
