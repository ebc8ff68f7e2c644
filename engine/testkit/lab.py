"""Real valkey-server processes and a real proxy on loopback addresses, for benchmarks and conformance runs."""

import json
import queue
import secrets
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

SLOTS = 16384


def command(*args: Any) -> bytes:
    """Encode a request: an array of bulk strings."""
    parts = [arg if isinstance(arg, bytes) else str(arg).encode() for arg in args]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts)


def say(address: tuple[str, int], *args: Any) -> bytes:
    """Send one command and return the data of the first read. Only for replies of one packet."""
    with socket.create_connection(address, timeout=30) as connection:
        connection.sendall(command(*args))
        return connection.recv(1 << 20)


class Lab:
    """Starts processes in a new directory and stops exactly those."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.directory = Path(tempfile.mkdtemp(prefix="shardboard-lab-"))
        self.processes: list[subprocess.Popen[bytes]] = []

    def server(self, port: int, *options: str, through: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """Start a valkey-server without persistence, optionally through a program that executes it, for example `env`."""
        home = self.directory / str(port)
        home.mkdir(exist_ok=True)
        process = subprocess.Popen(
            [*through, "valkey-server", "--bind", self.address, "--port", str(port), "--dir", str(home), "--save", ""]
            + ["--unixsocket", str(home / "socket"), "--protected-mode", "no", "--repl-diskless-sync-delay", "0"]
            + ["--enable-debug-command", "yes", "--replica-announce-ip", self.address, *options],
            stdout=(home / "log").open("ab"),
        )
        self.processes.append(process)
        wait_for(lambda: say((self.address, port), "PING") == b"+PONG\r\n", f"port {port}")
        return process

    def cluster(self, ports: list[int], replicas: list[int] | None = None) -> list[dict[str, Any]]:
        """Start primaries that share the slots evenly, and a replica of each. Return the shards in the format of the proxy.

        The cluster is complete from the start: each process has a nodes.conf that lists all of them."""
        shards = []
        for number, port in enumerate(ports):
            slots = [(number * SLOTS // len(ports), (number + 1) * SLOTS // len(ports) - 1)]
            shards.append(self.shard(port, "primary", slots))
        for port in replicas or []:
            shards.append(self.shard(port, "replica", []))
        for shard in shards:
            port = shard["port"]
            (self.directory / str(port)).mkdir()
            (self.directory / str(port) / "nodes.conf").write_text(nodes_conf(shards, len(ports), shard))
            self.shard_server(port)
        for port in [*ports, *(replicas or [])]:
            address = (self.address, port)
            wait_for(lambda address=address: b"cluster_state:ok" in say(address, "CLUSTER", "INFO"), "the cluster to be ok")
        for port in replicas or []:
            address = (self.address, port)
            wait_for(lambda address=address: b"master_link_status:up" in say(address, "INFO", "replication"), "replicas in sync")
        return shards

    def shard_server(self, port: int) -> subprocess.Popen[bytes]:
        """Start a valkey-server in cluster mode with an existing nodes.conf."""
        options = {"enabled": "yes", "require-full-coverage": "no", "node-timeout": "5000", "port": port + 5000}
        options["announce-ip"] = self.address
        return self.server(
            port, *(word for name, value in options.items() for word in (f"--cluster-{name}", str(value)))
        )

    def shard(self, port: int, role: str, slots: list[tuple[int, int]]) -> dict[str, Any]:
        """Return a shard in the format of the proxy."""
        return {"id": secrets.token_hex(20), "role": role, "address": self.address, "port": port, "slots": slots}

    def unix_socket(self, port: int) -> str:
        """Return the path of the Unix socket of the server on this port."""
        return str(self.directory / str(port) / "socket")

    def close(self) -> None:
        """Stop all processes and remove their files."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


def nodes_conf(shards: list[dict[str, Any]], primaries: int, myself: dict[str, Any]) -> str:
    """Return the nodes.conf that a node of this cluster would have saved."""
    lines = []
    for number, shard in enumerate(shards):
        primary = shards[number % primaries]
        group = primary["id"][::-1]
        role, primary_id = ("master", "-") if shard is primary else ("slave", primary["id"])
        flags = f"myself,{role}" if shard is myself else role
        slots = " ".join(f"{first}-{last}" for first, last in shard["slots"])
        address = f"{shard['address']}:{shard['port']}@{shard['port'] + 5000},,tls-port=0,shard-id={group}"
        lines.append(f"{shard['id']} {address} {flags} {primary_id} 0 0 {number % primaries + 1} connected {slots}".rstrip())
    return "\n".join([*lines, f"vars currentEpoch {primaries} lastVoteEpoch 0", ""])


class Proxy:
    """A proxy process and the agent's side of its control socket."""

    def __init__(self, lab: Lab, binary: Path, name: str = "proxy.sock") -> None:
        self.path = lab.directory / name
        self.process = subprocess.Popen([str(binary), "--control", str(self.path)])
        lab.processes.append(self.process)
        wait_for(self.connect, "the control socket")

    def connect(self) -> bool:
        """Whether this process listens at the path. Its predecessor may, for some time."""
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(self.path))
        self.lines = connection.makefile("wb")
        self.messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        lines = connection.makefile("rb")
        threading.Thread(target=listen, args=(lines, self.messages), daemon=True).start()
        return self.expect("hello")["pid"] == self.process.pid

    def expect(self, kind: str) -> dict[str, Any]:
        """Return the next message of this type. Other messages are skipped."""
        while True:
            message = self.messages.get()
            if message is None:
                raise RuntimeError(f"the proxy ended before it sent {kind}")
            if message["type"] == kind:
                return message

    def order(self, kind: str, **fields: Any) -> None:
        """Send a message to the proxy."""
        self.lines.write(json.dumps({"type": kind, **fields}).encode() + b"\n")
        self.lines.flush()

    def apply(self, *databases: dict[str, Any], threads: int = 1) -> dict[str, Any]:
        """Apply the complete desired state. Raise if the proxy reports a failure."""
        self.order("apply", threads=threads, databases=list(databases))
        applied = self.expect("applied")
        if applied["failures"]:
            raise RuntimeError(str(applied["failures"]))
        return applied

    def metrics(self) -> dict[str, Any]:
        """Return metrics of the next second. Older ones may wait in the socket."""
        now = time.time() * 1000
        while True:
            metrics = self.expect("metrics")
            if metrics["at"] >= now:
                return metrics


def listen(lines: BinaryIO, messages: "queue.Queue[dict[str, Any] | None]") -> None:
    """Read the messages of the proxy immediately, because it does not wait for slow agents."""
    for line in lines:
        messages.put(json.loads(line))
    messages.put(None)


def wait_for(condition: Any, what: str, seconds: float = 60) -> None:
    """Wait until the condition holds. Connection errors count as not yet fulfilled."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if condition():
                return
        except OSError:
            pass
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds} s for {what}")
        time.sleep(0.02)
