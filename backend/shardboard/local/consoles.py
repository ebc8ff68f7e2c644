"""A second console of a local cluster, on the same PostgreSQL database."""

import ssl
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from shardboard.domain.cluster.consoles import ConsoleStatus
from shardboard.local.cluster import LocalCluster, LocalError, ok
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
        self.code: dict[str, Path] = {}
        """Root of the sources that a console runs, by its name, instead of this checkout."""
        self.first = ConsoleProcess(cluster, "console", int(cluster.url.rpartition(":")[2]))
        self.second = ConsoleProcess(cluster, "console-2", self._port)

    def start_second(self, prefix: Sequence[str] = ()) -> None:
        """Start the second console and wait until it lists itself. `prefix` is a command that runs it."""
        self.spawn_second(prefix)
        self.wait_until_listed(self.second)

    def spawn_second(self, prefix: Sequence[str] = ()) -> None:
        ports = {"SHARDBOARD_HTTPS_PORT": str(self._port), "SHARDBOARD_HTTP_PORT": "0"}
        self.cluster.spawn_console("console-2", {**ports, **self.code_of("console-2")}, prefix)

    def code_of(self, name: str) -> dict[str, str]:
        return {"PYTHONPATH": f"{self.code[name] / 'backend'}"} if name in self.code else {}

    def start(self, console: ConsoleProcess) -> None:
        """Start a console that was killed or stopped."""
        if console is self.second:
            self.start_second()
        else:
            self.cluster.environment |= self.code_of("console")
            self.cluster.start_console()
            self.wait_until_listed(console)

    def wait_until_listed(self, console: ConsoleProcess) -> None:
        def is_listed() -> bool:
            try:
                return bool(console.state()["status"] == ConsoleStatus.RUNNING)
            except (httpx.TransportError, StopIteration):
                return False

        self.cluster.wait_until(is_listed, f"{console.name} does not list itself")

    def by_role(self) -> tuple[ConsoleProcess, ConsoleProcess]:
        """Return the leading console and the other one."""
        self.cluster.wait_until(lambda: self.first.leads() != self.second.leads(), "no console leads")
        return (self.first, self.second) if self.first.leads() else (self.second, self.first)

    def stop(self, console: ConsoleProcess) -> None:
        """Stop a console with a signal and wait until it has ended."""
        process = self.cluster.children[console.name]
        process.terminate()
        process.wait(20)
        del self.cluster.children[console.name]

    def close(self) -> None:
        """Stop the second console, unless it has ended, and close the connections to both."""
        process = self.cluster.children.get(self.second.name)
        if process is not None and process.poll() is None:
            self.stop(self.second)
        for console in (self.first, self.second):
            console.api.close()

    def change_leader(self, successor: ConsoleProcess) -> None:
        """Request that a running console leads, and wait until it does."""
        ok(successor.api.post(f"/v1/consoles/{successor.state()['uid']}/actions/lead"))
        self.wait_for_leader(successor)

    def wait_for_leader(self, successor: ConsoleProcess, limit: float = 30) -> float:
        """Wait until this console leads. Return the seconds."""
        start = time.monotonic()
        while not successor.leads():
            if time.monotonic() - start > limit:
                raise LocalError(f"{successor.name} does not lead after {limit:.0f} s")
            time.sleep(0.02)
        return time.monotonic() - start


@contextmanager
def console_pair(cluster: LocalCluster) -> Iterator[ConsolePair]:
    """Run a second console during the block."""
    pair = ConsolePair(cluster)
    try:
        pair.start_second()
        yield pair
    finally:
        pair.close()
