"""A whole cluster on one machine: a console and agents as processes of their own, joined by the ordinary ways.

The demo is one, and so are those that scenario tests and benchmarks run against.
"""

import json
import os
import secrets
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

from shardboard.agent import identity
from shardboard.loopback import claim_network, free_port

LAST_ADDRESS = 250
AGENT_SECONDS = 20.0
SECRETS = frozenset({"SHARDBOARD_ADMIN_PASSWORD", "SHARDBOARD_STORE_KEY"})
"""Variables that no child inherits: agents, and what they start, have nothing to do with them."""
"""How long an agent may take to come back, only to save its shards."""
ENGINE, PROXY, LOAD = "valkey-server", "shardboard-proxy"[:15], "shardboard-load"[:15]
"""Names of processes, as much of them as the kernel keeps."""
_addresses: list[str] = []
"""Of the network that was claimed last, those that `private_cluster` has not given to a node."""


class LocalError(Exception):
    """A sentence on what did not come up."""


class LocalCluster:
    """Children are sessions of their own, so that Ctrl-C reaches only their owner, which stops them in order."""

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
        """`directory` holds the console's state; agents keep theirs in `agents/<address>`, logs go to `logs`. Each has `flash`
        bytes of its disk for databases on flash."""
        self.directory = directory
        self.addresses = addresses
        self.url = f"https://localhost:{https_port}"
        self.http_url = f"http://localhost:{http_port}"
        self.children: dict[str, subprocess.Popen[bytes]] = {}
        self._commands: dict[str, tuple[Sequence[str], str, str | None]] = {}
        self.login = (user, password)
        self._park = park
        self._memory = memory
        self.flash = flash
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in SECRETS},
            "SHARDBOARD_STATE_DIR": str(directory),
            "SHARDBOARD_HTTPS_PORT": str(https_port),
            "SHARDBOARD_HTTP_PORT": str(http_port),
            "SHARDBOARD_ADMIN_USER": user,
            **(environment or {}),
        }
        self._api: httpx.Client | None = None
        self._trusted = ""
        self.poll_seconds = 0.05
        """How often `until` looks."""

    @property
    def api(self) -> httpx.Client:
        """Logged in as the administrator."""
        trusted = (self.directory / "tls" / "ca.pem").read_text()
        if self._api is None or trusted != self._trusted:  # the console's authority may have been replaced
            if self._api is not None:
                self._api.close()
            self._trusted = trusted
            context = ssl.create_default_context(cadata=trusted)
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
        """Start the console and wait until it answers. Call `end_leftovers` before, when an earlier owner may have been killed."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        # By a file: a process shows its environment to others of its user for as long as it runs.
        password = self.directory / "first-password"
        with os.fdopen(os.open(password, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(self.login[1])
        try:
            self.spawn("console", ["console"], environment={"SHARDBOARD_ADMIN_PASSWORD_FILE": str(password)})
            self.until((self.directory / "tls" / "ca.pem").is_file, "the console makes no certificate")
            self.until(self._answers, "the console does not answer")
        finally:
            password.unlink()

    def start_agents(self) -> None:
        """Start an agent for every address that has none, joining those that are new, and wait until they are connected."""
        since = datetime.now(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")
        missing = [address for address in self.addresses if address not in self.children]
        for address in missing:
            self.start_agent(address)
        # What the store says of an earlier run does not count.
        self.until(lambda: self.connected(since) >= set(missing), "not all agents are connected")

    def start_agent(self, address: str) -> None:
        """Start one agent; a new one has joined when this returns, so that nodes are numbered in the order of addresses."""
        state = self.directory / "agents" / address
        arguments = ["agent", "--join", self.url, "--address", address, "--state-dir", str(state)]
        arguments += ["--memory", str(self._memory)] if self._memory else []
        if self.flash:
            arguments += ["--flash", str(state / "flash"), "--flash-size", str(self.flash)]
        arguments += ["--park"] if self._park else []
        known = identity.load(state)
        new = known is None or bool(known.flaw())
        token = ok(self.api.post("/v1/join_tokens", json={"address": address}))["token"] if new else ""
        self.spawn(address, arguments, environment={"SHARDBOARD_JOIN_TOKEN": token} if new else {})
        if new:
            self.until(lambda: address in self.connected(), f"the agent of {address} does not join")

    def stop(self) -> None:
        """What was added first (traffic), then agents, which may save and stop their shards, the console last.

        Where agents are to stop their shards, nothing is left, whichever agents are alive.
        """
        if self._park:
            self._start_lost_agents()
        agents = [name for name in self.addresses if name in self.children]
        others = [name for name in self.children if name not in (*agents, "console")]
        for group in (others, agents, ["console"]):
            for name in group:
                if name in self.children:
                    self.children[name].terminate()
            for name in group:
                self._await_end(name)
        if self._park:
            self.end_shards()
        self._pids.unlink(missing_ok=True)

    def revive(self, name: str) -> None:
        """Start a child that ended once more, as it was started before."""
        arguments, module, program = self._commands[name]
        self.spawn(name, arguments, module=module, program=program)

    def _start_lost_agents(self) -> None:
        """Only an agent can save the shards of its node: where they live and it does not, it is started for that."""
        dead = [name for name in self.addresses if name in self.children and self.children[name].poll() is not None]
        lost = [name for name in dead if self.engines(name)]
        since = datetime.now(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")
        for name in lost:
            self.revive(name)
        try:
            if lost:
                self.until(lambda: self.connected(since) >= set(lost), "the agents do not come back", AGENT_SECONDS)
        except (LocalError, httpx.HTTPError):  # the console may be gone, too: then what they held is not saved
            return

    def end_shards(self) -> None:
        """End the shards, proxies and load generators that no agent has ended, with SIGKILL if they take more than 10 s."""
        left = self._below("", ENGINE, PROXY, LOAD)
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.terminate()
        _, stubborn = psutil.wait_procs(left, timeout=10)
        _kill(stubborn)
        psutil.wait_procs(stubborn, timeout=10)

    def spawn(
        self,
        name: str,
        arguments: Sequence[str],
        *,
        module: str = "shardboard",
        program: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start `python -m module arguments`, or that program with these arguments, as the child `name`."""
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
        living = [psutil.Process(child.pid) for child in self.children.values() if child.poll() is None]
        self._pids.touch(mode=0o600)
        self._pids.write_text(json.dumps([(process.pid, process.create_time()) for process in living]))

    def log_of(self, name: str) -> Path:
        return self.directory / "logs" / f"{name}.log"

    def until(self, condition: Callable[[], bool], complaint: str, seconds: float = 60) -> None:
        """Wait for `condition`. Raises LocalError when it takes too long or a child ends meanwhile."""
        deadline = time.monotonic() + seconds
        while not condition():
            self.check()
            if time.monotonic() > deadline:
                raise LocalError(f"{complaint} after {seconds:.0f} s; the logs are in {self.directory / 'logs'}")
            time.sleep(self.poll_seconds)

    def check(self) -> None:
        """Raises LocalError when a child has ended by itself."""
        for name, child in self.children.items():
            if child.poll() is not None:
                raise LocalError(self.last_words(name))

    def last_words(self, name: str) -> str:
        """That a child ended, and the last line of its log."""
        lines = self.log_of(name).read_text(errors="replace").strip().splitlines() or ["it said nothing"]
        return f"{name} ended: {lines[-1]} (log: {self.log_of(name)})"

    def engines(self, address: str = "") -> list[psutil.Process]:
        """The living shards of this cluster, or of one of its nodes. A fork that saves or copies a shard's data is none: agents
        start each shard in a session of its own."""
        return [process for process in self._below(address, ENGINE) if _leads_session(process)]

    def proxies(self, address: str = "") -> list[psutil.Process]:
        """The living proxies of this cluster, or of one of its nodes."""
        return self._below(address, PROXY)

    def _below(self, address: str, *names: str) -> list[psutil.Process]:
        home = (self.directory / "agents" / address).resolve()
        found = []
        for process in psutil.process_iter():
            try:
                if process.name()[:15] in names and Path(process.cwd()).is_relative_to(home):
                    found.append(process)
            except psutil.Error:
                continue  # it ended, or is not ours to look at
        return found

    def kill(self, name: str) -> None:
        """kill -9 of one child: the console, or the agent of an address."""
        child = self.children.pop(name)
        child.kill()
        child.wait()

    def kill_node(self, address: str) -> None:
        """kill -9 of every process of a node, its agent first; does not wait for their ends."""
        doomed = self._below(address, ENGINE, PROXY)
        self.kill(address)
        _kill(doomed)
        _kill(self._below(address, ENGINE, PROXY))  # should its agent have started one more just before it was killed

    def kill_shards(self) -> None:
        """End every shard, proxy and load generator that lives under this directory; the data are lost."""
        until = time.monotonic() + 10
        # One that an agent was just starting when it ended has its own name only now.
        while (doomed := self._below("", ENGINE, PROXY, LOAD)) and time.monotonic() < until:
            _kill(doomed)
            psutil.wait_procs(doomed, timeout=1)

    @property
    def _pids(self) -> Path:
        return self.directory / "processes.json"

    def end_leftovers(self) -> None:
        """An owner that was killed leaves its children; only those with the recorded pid and start time are ended."""
        try:
            recorded = json.loads(self._pids.read_text())
        except (OSError, ValueError):
            return
        leftovers = []
        for pid, started in recorded:
            try:
                process = psutil.Process(pid)
                if process.create_time() == started:
                    process.terminate()
                    leftovers.append(process)
            except psutil.NoSuchProcess:
                continue
        _, stubborn = psutil.wait_procs(leftovers, timeout=30)
        for process in stubborn:
            process.kill()
        self._pids.unlink(missing_ok=True)

    def clean(self) -> bool:
        """Stop what is left of an earlier run and delete its state; False when there is none."""
        self.end_leftovers()
        if not (self.directory / "agents").is_dir() and not (self.directory / "console.db").exists():
            return False
        self.kill_shards()
        return True

    def connected(self, since: str = "") -> set[str]:
        """Addresses of the nodes whose agents are connected and were heard at or after `since` (ISO 8601)."""
        found = ok(self.api.get("/v1/nodes"))
        return {node["addr"] for node in found if node["agent_status"] == "connected" and node["last_seen"] >= since}

    def _answers(self) -> bool:
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
    """Stop what the owner of the cluster in `directory` left running: agents first, which may save their shards."""
    cluster = LocalCluster(directory, user="", password="", https_port=0, http_port=0, addresses=())
    cluster.end_leftovers()
    cluster.end_shards()


def _kill(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):  # it ended by itself
            process.kill()


def _leads_session(process: psutil.Process) -> bool:
    try:
        return os.getsid(process.pid) == process.pid
    except OSError:  # it ended
        return False


def ok(reply: httpx.Response) -> Any:
    """The JSON of a reply with status 200. Raises LocalError with what the console said otherwise."""
    if reply.status_code != 200:
        raise LocalError(f"the console answered {reply.status_code}: {reply.json().get('description', reply.text)}")
    return reply.json()


def private_cluster(
    directory: Path, *, nodes: int, environment: Mapping[str, str] | None = None, flash: int | None = None
) -> LocalCluster:
    """A cluster that meets no other one, also none of this process: free ports, and loopback addresses of its own. Not started."""
    if len(_addresses) < nodes:
        network = claim_network()
        _addresses[:] = [f"{network}.{number}" for number in range(1, LAST_ADDRESS + 1)]
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
