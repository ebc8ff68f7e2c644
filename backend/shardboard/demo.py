"""`shardboard demo`: a console, three agents, one database and steady traffic on this machine, by the ordinary ways.

Everything lives under the state directory. Ctrl-C saves the shards and stops what the demo started; the next start finds
the same state. `--clean` forgets it all.
"""

import json
import os
import secrets
import shutil
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil

from shardboard.settings import Settings

NODES = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
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
    "tags": [{"key": "purpose", "value": "demo"}],
}


class DemoError(Exception):
    """A sentence for the person who started the demo."""


class Demo:
    """Children are sessions of their own: Ctrl-C reaches only the demo, which stops them in order."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._directory = settings.state_dir.resolve() / "demo"
        self._pids = self._directory / "processes.json"
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._url = f"https://localhost:{settings.https_port}"

    def run(self) -> int:
        """Start everything, then wait until told to stop or until a part ends by itself."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.stop_leftovers()
        user, password = self._credentials()
        try:
            with _step("starting the console"):
                self._spawn(
                    "console", ["console"], {"SHARDBOARD_ADMIN_USER": user, "SHARDBOARD_ADMIN_PASSWORD": password}
                )
                authority = self._settings.state_dir / "tls" / "ca.pem"
                self._until(authority.is_file, "the console has no certificate")
                api = httpx.Client(
                    base_url=self._url,
                    auth=(user, password),
                    verify=ssl.create_default_context(cafile=str(authority)),
                    trust_env=False,
                    timeout=10,
                )
                self._until(lambda: _answers(api), "the console does not answer")
            with _step("starting three agents"):
                self._start_agents(api)
            with _step("bringing up the database demo (6 primaries, 6 replicas)"):
                host, port = self._database(api)
            self._spawn("traffic", [host, str(port)], module="shardboard.demo_traffic")
            self._announce(user, password)
            return self._wait()
        except KeyboardInterrupt:
            return 0
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not cut the saving short
            with _step("saving the shards and stopping"):
                self._stop()

    def clean(self) -> int:
        """Stop what an earlier demo left running and delete its state; nothing else is touched."""
        self.stop_leftovers()
        root = self._settings.state_dir.resolve()
        if not (root / "demo").is_dir():
            print(f"There is no demo in {root}.")
            return 0
        for process in psutil.process_iter(["name"]):
            try:
                if process.info["name"] == "valkey-server" and Path(process.cwd()).is_relative_to(root / "demo"):
                    process.kill()
                    process.wait(10)
            except psutil.Error:
                continue
        for path in (root / "demo", root / "tls", *root.glob("console.db*")):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        print(f"The demo in {root} is forgotten.")
        return 0

    def stop_leftovers(self) -> None:
        """A demo that was killed leaves its children; only those with the recorded pid and start time are ended."""
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

    def _credentials(self) -> tuple[str, str]:
        """The administrator of the demo, kept so that later runs can show it again."""
        path = self._directory / "login.json"
        if path.is_file():
            kept = json.loads(path.read_text())
            return kept["user"], kept["password"]
        given = self._settings.admin_password
        password = given.get_secret_value() if given is not None else secrets.token_urlsafe(12)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump({"user": self._settings.admin_user, "password": password}, file)
        return self._settings.admin_user, password

    def _start_agents(self, api: httpx.Client) -> None:
        share = psutil.virtual_memory().total // len(NODES)
        for number, address in enumerate(NODES, 1):
            state = self._directory / f"node{number}"
            environment = {}
            if not (state / "agent.json").is_file():
                environment["SHARDBOARD_JOIN_TOKEN"] = _ok(api.post("/v1/join_tokens", json={}))["token"]
            arguments = ["agent", "--join", self._url, "--address", address, "--state-dir", str(state)]
            self._spawn(f"node{number}", [*arguments, "--memory", str(share), "--park"], environment)
            # One after the other on the first run, so that node 1 is 127.0.0.1 and so on.
            if environment:
                self._until(lambda count=number: len(_ok(api.get("/v1/nodes"))) >= count, "the agent does not join")  # type: ignore[misc]
        self._until(
            lambda: [node["agent_status"] for node in _ok(api.get("/v1/nodes"))] == ["connected"] * len(NODES),
            "not all agents are connected",
        )

    def _database(self, api: httpx.Client) -> tuple[str, int]:
        if not _ok(api.get("/v1/bdbs")):
            _ok(api.post("/v1/bdbs", json=DATABASE))

        def settled() -> bool:
            bdb = _ok(api.get("/v1/bdbs"))[0]
            if bdb["status"] == "creation-failed":
                raise DemoError(f"the database could not be created: {bdb['status_detail']}")
            return bool(bdb["status"] == "active" and bdb["shards_in_sync"] == bdb["shards_total"])

        self._until(settled, "the database does not become active")
        endpoint = _ok(api.get("/v1/bdbs"))[0]["endpoints"][0]
        return endpoint["addr"][0], endpoint["port"]

    def _announce(self, user: str, password: str) -> None:
        lines = [
            "",
            "Shardboard is running a live database on three nodes of this machine.",
            "",
            f"  page      http://localhost:{self._settings.http_port}",
            f"            {self._url} (self-signed certificate; REST API too)",
            f"  user      {user}",
            f"  password  {password}",
            "",
            "Ctrl-C stops it and keeps its state; `make clean-demo` forgets it.",
        ]
        print("\n".join(lines), flush=True)

    def _wait(self) -> int:
        while True:
            for name, child in self._children.items():
                if child.poll() is not None:
                    raise DemoError(f"{name} ended by itself; its log is {self._directory / name}.log")
            time.sleep(0.5)

    def _spawn(
        self,
        name: str,
        arguments: list[str],
        environment: dict[str, str] | None = None,
        module: str = "shardboard.cli",
    ) -> None:
        log = os.open(self._directory / f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            child = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                env={
                    **os.environ,
                    "SHARDBOARD_STATE_DIR": str(self._settings.state_dir.resolve()),
                    **(environment or {}),
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        finally:
            os.close(log)
        self._children[name] = child
        started = [
            (child.pid, psutil.Process(child.pid).create_time())
            for child in self._children.values()
            if child.poll() is None
        ]
        self._pids.write_text(json.dumps(started))

    def _until(self, condition: Callable[[], bool], complaint: str, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            for name, child in self._children.items():
                if child.poll() is not None:
                    raise DemoError(f"{name} ended: {_last_line(self._directory / f'{name}.log')}")
            if time.monotonic() > deadline:
                raise DemoError(f"{complaint} after {seconds:.0f} s; the logs are in {self._directory}")
            time.sleep(0.1)

    def _stop(self) -> None:
        """Traffic first, agents (which save and stop their shards) next, the console last, so that it sees them go."""
        for group in (["traffic"], [name for name in self._children if name.startswith("node")], ["console"]):
            children = [self._children[name] for name in group if name in self._children]
            for child in children:
                if child.poll() is None:
                    child.terminate()
            for child in children:
                try:
                    child.wait(60)
                except subprocess.TimeoutExpired:
                    child.kill()
        self._pids.unlink(missing_ok=True)


def _answers(api: httpx.Client) -> bool:
    try:
        return api.get("/v1/cluster").status_code == 200
    except httpx.TransportError:
        return False


def _ok(reply: httpx.Response) -> Any:
    if reply.status_code != 200:
        raise DemoError(f"the console answered {reply.status_code}: {reply.json().get('description', reply.text)}")
    return reply.json()


def _last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"without a word in {path}"


@contextmanager
def _step(what: str) -> Iterator[None]:
    print(f"… {what}", flush=True)
    started = time.monotonic()
    yield
    print(f"  done in {time.monotonic() - started:.1f} s", flush=True)


def run(clean: bool) -> int:
    """The command; returns its exit status."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    demo = Demo(Settings())
    try:
        return demo.clean() if clean else demo.run()
    except DemoError as error:
        print(f"The demo stopped: {error}", file=sys.stderr)
        return 1
