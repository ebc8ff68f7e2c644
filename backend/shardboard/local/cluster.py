"""A complete cluster on one machine: a console and agents as separate processes, joined through the regular interfaces.

It is used by the demo, scenario tests and benchmarks.
"""

import json
import os
import secrets
import shutil
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import psutil

from shardboard.agent.cluster import identity
from shardboard.domain.cluster.node_status import AgentStatus
from shardboard.local.loopback import claim_network, free_port

LAST_ADDRESS = 250
AGENT_SECONDS = 20.0
"""Seconds within which an agent must reconnect to save its shards."""
SECRET_VARIABLES = frozenset({"SHARDBOARD_ADMIN_PASSWORD", "SHARDBOARD_STORE_KEY"})
"""Variables that child processes do not inherit, because agents and shards do not need them."""
ENGINE, PROXY, LOAD = "valkey-server", "shardboard-proxy"[:15], "shardboard-load"[:15]
"""Process names, truncated as by the kernel."""
_addresses: list[str] = []
"""Addresses of claimed networks that `private_cluster` has not assigned yet."""


class LocalError(Exception):
    """A part did not start or has ended. The message is one sentence."""


class ConsoleBusy(LocalError):
    """The console cannot execute requests now."""


class LocalCluster:
    """Children run in separate sessions, so that Ctrl-C only reaches their owner, which stops them in order."""

    def __init__(
        self,
        directory: Path,
        *,
        user: str,
        password: str,
        https_port: int,
        http_port: int,
        addresses: Sequence[str],
        environment: Mapping[str, str] | None = None,
        memory: int | None = None,
        flash: int | None = None,
        park: bool = False,
    ) -> None:
        """`directory` contains the console's state. Agents use `agents/<address>`, logs are in `logs`. Each agent provides `flash`
        bytes of its disk for databases on flash.
        """
        self.directory = directory
        self.addresses = addresses
        self.url = f"https://localhost:{https_port}"
        self.http_url = f"http://localhost:{http_port}"
        self.children: dict[str, subprocess.Popen[bytes]] = {}
        self._commands: dict[str, tuple[Sequence[str], str, str | None]] = {}
        self._console_environments: dict[str, Mapping[str, str]] = {}
        """Variables of consoles other than the first one."""
        self.login = (user, password)
        self._park = park
        self._memory = memory
        self.flash = flash
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in SECRET_VARIABLES},
            "SHARDBOARD_STATE_DIR": str(directory),
            "SHARDBOARD_HTTPS_PORT": str(https_port),
            "SHARDBOARD_HTTP_PORT": str(http_port),
            "SHARDBOARD_ADMIN_USER": user,
            **(environment or {}),
        }
        self._api: httpx.Client | None = None
        self._trusted = ""
        self.poll_seconds = 0.05
        """Polling interval of `wait_until`."""
        self.on_slow: Callable[[str], None] | None = None
        """Reports a wait that takes long and then continues. None: such waits fail."""

    @property
    def api(self) -> httpx.Client:
        """Client authenticated as the administrator."""
        ca_pem = (self.directory / "tls" / "ca.pem").read_text()
        if self._api is None or ca_pem != self._trusted:  # the console CA may have been replaced
            if self._api is not None:
                self._api.close()
            self._trusted = ca_pem
            context = ssl.create_default_context(cadata=ca_pem)
            context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
            self._api = httpx.Client(
                base_url=self.url,
                auth=self.login,
                verify=context,
                trust_env=False,
                timeout=30,
            )
        return self._api

    def start_console(self) -> None:
        """Start the console and wait until it responds. Call `end_leftovers` first if an earlier owner may have been killed."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        # In a file: other processes of the same user can read a process's environment.
        password = self.directory / "first-password"
        with os.fdopen(os.open(password, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(self.login[1])
        try:
            self.spawn("console", ["console"], environment={"SHARDBOARD_ADMIN_PASSWORD_FILE": str(password)})
            self.wait_until((self.directory / "tls" / "ca.pem").is_file, "the console did not create a certificate")
            self.wait_until(self._responds, "the console did not respond")
        finally:
            password.unlink()

    def spawn_console(self, name: str, environment: Mapping[str, str], prefix: Sequence[str] = ()) -> None:
        """Start another console on the same PostgreSQL database, with its own state directory. Its ports are in `environment`;
        `prefix` is a command that runs it.
        """
        state = self.directory / name
        state.mkdir(mode=0o700, exist_ok=True)
        shutil.copy(self.directory / "store.key", state / "store.key")
        self._console_environments[name] = {"SHARDBOARD_STATE_DIR": str(state), **environment}
        command = [*prefix, sys.executable, "-m", "shardboard", "console"]
        self.spawn(name, command[1:], program=command[0], environment=self._console_environments[name])

    def start_agents(self) -> None:
        """Start an agent for each address without one, join new ones, and wait until all are connected."""
        start_time = datetime.now(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")
        missing = [address for address in self.addresses if address not in self.children]
        for address in missing:
            self.start_agent(address)
        # Ignore what the store contains from an earlier run.
        self.wait_until(lambda: self.connected(start_time) >= set(missing), "not all agents are connected")

    def start_agent(self, address: str) -> None:
        """Start one agent. A new agent has joined when this returns, so that nodes are numbered in the order of addresses."""
        state = self.directory / "agents" / address
        arguments = ["agent", "--join", self.url, "--address", address, "--state-dir", str(state)]
        arguments += ["--memory", str(self._memory)] if self._memory else []
        if self.flash:
            arguments += ["--flash", str(state / "flash"), "--flash-size", str(self.flash)]
        arguments += ["--park"] if self._park else []
        agent_identity = identity.load(state)
        new = agent_identity is None or bool(agent_identity.validation_error())
        token = ok(self.api.post("/v1/join_tokens", json={"address": address}))["token"] if new else ""
        self.spawn(address, arguments, environment={"SHARDBOARD_JOIN_TOKEN": token} if new else {})
        if new:
            self.wait_until(lambda: address in self.connected(), f"the agent of {address} did not join")

    def stop(self) -> None:
        """Stop other children (traffic) first, then the agents, which may save and stop their shards, and the consoles last.

        If agents stop their shards, no process is left, even if some agents had died.
        """
        if self._park:
            self._start_lost_agents()
        agents = [name for name in self.addresses if name in self.children]
        consoles = [name for name in self.children if name == "console" or name in self._console_environments]
        other_processes = [name for name in self.children if name not in (*agents, *consoles)]
        for group in (other_processes, agents, consoles):
            for name in group:
                if name in self.children:
                    self.children[name].terminate()
            for name in group:
                self._await_end(name)
        if self._park:
            self.end_shards()
        self._pids.unlink(missing_ok=True)

    def respawn(self, name: str) -> None:
        """Restart a child that has ended, with its original arguments."""
        arguments, module, program = self._commands[name]
        environment = self._console_environments.get(name)
        self.spawn(name, arguments, module=module, program=program, environment=environment)

    def _start_lost_agents(self) -> None:
        """Restart agents that have died while their shards are running: only an agent can save the shards of its node."""
        dead = [name for name in self.addresses if name in self.children and self.children[name].poll() is not None]
        lost_agents = [name for name in dead if self.engines(name)]
        start_time = datetime.now(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")
        for name in lost_agents:
            self.respawn(name)
        try:
            if lost_agents:
                self.wait_until(
                    lambda: self.connected(start_time) >= set(lost_agents),
                    "the agents did not reconnect",
                    AGENT_SECONDS,
                )
        except (LocalError, httpx.HTTPError):  # the console may have died too: then the shards are not saved
            return

    def end_shards(self) -> None:
        """End the shards, proxies and load generators that no agent has ended, with SIGKILL after 10 s."""
        processes = self._below("", ENGINE, PROXY, LOAD)
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.terminate()
        _, unkillable = psutil.wait_procs(processes, timeout=10)
        _kill(unkillable)
        psutil.wait_procs(unkillable, timeout=10)

    def spawn(
        self,
        name: str,
        arguments: Sequence[str],
        *,
        module: str = "shardboard",
        program: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start `python -m module arguments`, or `program` with these arguments, as the child `name`."""
        (self.directory / "logs").mkdir(mode=0o700, parents=True, exist_ok=True)
        log = os.open(self.log_of(name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self.children[name] = subprocess.Popen(
                [*((program,) if program else (sys.executable, "-m", module)), *arguments],
                env={**self.environment, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        finally:
            os.close(log)
        self._commands[name] = (arguments, module, program)
        children = [psutil.Process(child.pid) for child in self.children.values() if child.poll() is None]
        self._pids.touch(mode=0o600)
        self._pids.write_text(json.dumps([(process.pid, process.create_time()) for process in children]))

    def log_of(self, name: str) -> Path:
        return self.directory / "logs" / f"{name}.log"

    def wait_until(self, condition: Callable[[], bool], error: str, seconds: float = 60) -> None:
        """Wait for `condition`. Raises LocalError if a child ends, and after a timeout unless `on_slow` is set."""
        start = time.monotonic()
        deadline = start + seconds
        while not self._holds(condition):
            self.check()
            if time.monotonic() > deadline:
                message = f"{error} after {time.monotonic() - start:.0f} s; the logs are in {self.directory / 'logs'}"
                if self.on_slow is None:
                    raise LocalError(message)
                self.on_slow(message)
                deadline += seconds
            time.sleep(self.poll_seconds)

    def _holds(self, condition: Callable[[], bool]) -> bool:
        """Return whether a condition is met. If waits are patient, a busy console is one reason why it is not."""
        try:
            return condition()
        except (ConsoleBusy, httpx.TransportError):
            if self.on_slow is None:
                raise
            return False

    def check(self) -> None:
        """Raise LocalError if a child has ended."""
        for name, child in self.children.items():
            if child.poll() is not None:
                raise LocalError(self.end_message(name))

    def end_message(self, name: str) -> str:
        """Return a message with the last line of an ended child's log."""
        lines = self.log_of(name).read_text(errors="replace").strip().splitlines() or ["its log is empty"]
        return f"{name} ended: {lines[-1]} (log: {self.log_of(name)})"

    def engines(self, address: str = "") -> list[psutil.Process]:
        """Return the living shards of this cluster or of one node. Forks that save or copy data are excluded: agents start each
        shard in a separate session.
        """
        return [process for process in self._below(address, ENGINE) if _is_session_leader(process)]

    def proxies(self, address: str = "") -> list[psutil.Process]:
        """Return the living proxies of this cluster or of one node."""
        return self._below(address, PROXY)

    def _below(self, address: str, *names: str) -> list[psutil.Process]:
        home = (self.directory / "agents" / address).resolve()
        matching_processes = []
        for process in psutil.process_iter():
            try:
                if process.name()[:15] in names and Path(process.cwd()).is_relative_to(home):
                    matching_processes.append(process)
            except psutil.Error:
                continue  # it ended or belongs to another user
        return matching_processes

    def kill(self, name: str) -> None:
        """Kill (SIGKILL) one child: the console, or the agent of an address."""
        child = self.children.pop(name)
        child.kill()
        child.wait()

    def kill_node(self, address: str) -> None:
        """Kill (SIGKILL) all processes of a node, its agent first, without waiting for their end."""
        processes = self._below(address, ENGINE, PROXY)
        self.kill(address)
        _kill(processes)
        _kill(self._below(address, ENGINE, PROXY))  # started by the agent just before it was killed

    def kill_shards(self) -> None:
        """Kill all shards, proxies and load generators below this directory; their data is lost."""
        until = time.monotonic() + 10
        # A process that an agent was starting when it ended gets its final name only later.
        while (processes := self._below("", ENGINE, PROXY, LOAD)) and time.monotonic() < until:
            _kill(processes)
            psutil.wait_procs(processes, timeout=1)

    @property
    def _pids(self) -> Path:
        return self.directory / "processes.json"

    def end_leftovers(self) -> None:
        """End child processes that a killed owner left behind, if their pid and start time match the recorded ones."""
        try:
            process_ids = json.loads(self._pids.read_text())
        except (OSError, ValueError):
            return
        leftovers = []
        for pid, started_at in process_ids:
            try:
                process = psutil.Process(pid)
                if process.create_time() == started_at:
                    process.terminate()
                    leftovers.append(process)
            except psutil.NoSuchProcess:
                continue
        _, unkillable = psutil.wait_procs(leftovers, timeout=30)
        for process in unkillable:
            process.kill()
        self._pids.unlink(missing_ok=True)

    def clean(self) -> bool:
        """Stop the remains of an earlier run and delete its state. Return False if there is none."""
        self.end_leftovers()
        if not (self.directory / "agents").is_dir() and not (self.directory / "console.db").exists():
            return False
        self.kill_shards()
        return True

    def connected(self, since: str = "") -> set[str]:
        """Return the addresses of nodes whose agents are connected and were seen at or after `since` (ISO 8601)."""
        all_nodes = ok(self.api.get("/v1/nodes"))
        return {
            node["addr"]
            for node in all_nodes
            if node["agent_status"] == AgentStatus.CONNECTED and node["last_seen"] >= since
        }

    def _responds(self) -> bool:
        try:
            return self.api.get("/v1/cluster").status_code == 200
        except httpx.TransportError:
            return False

    def _await_end(self, name: str) -> None:
        child = self.children.pop(name, None)
        if child is None:
            return
        try:
            child.wait(60)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def stop_leftovers(directory: Path) -> None:
    """Stop the processes that the owner of the cluster in `directory` left running: agents first, which may save their shards."""
    cluster = LocalCluster(directory, user="", password="", https_port=0, http_port=0, addresses=())
    cluster.end_leftovers()
    cluster.end_shards()


def _kill(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):  # it has already ended
            process.kill()


def _is_session_leader(process: psutil.Process) -> bool:
    try:
        return os.getsid(process.pid) == process.pid
    except OSError:  # it ended
        return False


def ok(reply: httpx.Response) -> Any:
    """Return the JSON of a reply with status 200. Raises LocalError with the console's message otherwise."""
    if reply.status_code != 200:
        kind = ConsoleBusy if reply.status_code == 503 else LocalError
        raise kind(f"the console returned status {reply.status_code}: {reply.json().get('description', reply.text)}")
    return reply.json()


def private_cluster(
    directory: Path, *, nodes: int, environment: Mapping[str, str] | None = None, flash: int | None = None
) -> LocalCluster:
    """Return a cluster, not started, that is isolated from other clusters, including those of this process: free ports, distinct
    loopback addresses.
    """
    while len(_addresses) < nodes:
        network = claim_network()
        _addresses.extend(f"{network}.{number}" for number in range(1, LAST_ADDRESS + 1))
    addresses, _addresses[:nodes] = _addresses[:nodes], []
    return LocalCluster(
        directory,
        user="admin@example.org",
        password=secrets.token_urlsafe(12),
        https_port=free_port(),
        http_port=free_port(),
        addresses=addresses,
        environment={"SHARDBOARD_HTTPS_HOST": "127.0.0.1", "SHARDBOARD_METRICS_PORT": "0", **(environment or {})},
        flash=flash,
    )
