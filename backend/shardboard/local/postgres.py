"""A private PostgreSQL server, for tests and the demo with two consoles. A server of the system is neither used nor changed.

Only the standard library is imported, because `scripts/with-postgres` does not run in the virtual environment.
"""

import contextlib
import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

OLDEST = 14
START_SECONDS = 120.0
# The data is temporary: it does not need to survive a power failure.
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "100",
    "shared_buffers": "32MB",
}


class PostgresUnavailable(Exception):
    """PostgreSQL is not installed or did not start."""


def find_binaries() -> Path:
    """Return the directory of the newest installed PostgreSQL."""
    binaries: dict[int, Path] = {}
    on_path = shutil.which("initdb")
    for initdb in [*Path("/usr/lib/postgresql").glob("*/bin/initdb"), *([Path(on_path)] if on_path else [])]:
        output = subprocess.run([initdb, "--version"], capture_output=True, text=True, check=False).stdout
        if version := re.search(r"\d+", output):
            binaries[int(version[0])] = initdb.resolve().parent
    if not binaries or max(binaries) < OLDEST:
        raise PostgresUnavailable(f"PostgreSQL >= {OLDEST} is required and was not found")
    return binaries[max(binaries)]


def server_account() -> pwd.struct_passwd | None:
    """Return an unprivileged account for the server if this runs as root, which PostgreSQL refuses; otherwise None."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise PostgresUnavailable("neither the user `postgres` nor the user `nobody` exists to run PostgreSQL")


def free_port() -> int:
    """Return a port below the kernel's ephemeral ports, which outgoing connections could take at any moment."""
    while True:
        port = 30000 + secrets.randbelow(2768)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class PrivateServer:
    """A server with its data in `directory`, on a free port of 127.0.0.1, with a generated password."""

    def __init__(
        self, directory: Path, account: pwd.struct_passwd | None, settings: Mapping[str, str] | None = None
    ) -> None:
        """`settings` replace those for temporary data. A directory of an earlier server keeps its data and password."""
        self.settings = {**SETTINGS, **(settings or {})}
        self.binaries = find_binaries()
        self.data = directory / "data"
        self.log = directory / "log"
        self.port = free_port()
        self.user = account.pw_uid if account else None
        self.group = account.pw_gid if account else None
        self.process: subprocess.Popen[bytes] | None = None
        self.password_file = directory / "password"
        self.password = self.password_file.read_text() if self.password_file.is_file() else secrets.token_urlsafe(18)
        self.password_file.touch(mode=0o600)
        self.password_file.write_text(self.password)
        if account:
            # Only the data belongs to the account, so that it cannot replace files that this process writes as root.
            directory.chmod(0o711)
            os.chown(self.password_file, 0, account.pw_gid)
            self.password_file.chmod(0o640)
        self._create_directory(self.data)

    def _create_directory(self, path: Path) -> None:
        """Create a directory of the server, unless it exists."""
        path.mkdir(mode=0o700, exist_ok=True)
        if self.user is not None and self.group is not None:
            os.chown(path, self.user, self.group)

    @property
    def url(self) -> str:
        return f"postgresql+asyncpg://shardboard:{self.password}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Create the data, unless the directory contains some, and run the server."""
        if not (self.data / "PG_VERSION").is_file():
            self.create_data()
        self.run()

    def run(self) -> None:
        """Run the server, also again after `stop`, on the same port."""
        command = [str(self.binaries / "postgres"), "-D", str(self.data), "-p", str(self.port)]
        command += [f"--{name}={value}" for name, value in self.settings.items()]
        if setpriv := shutil.which("setpriv"):
            # If this process is killed, the server ends with it.
            command = [setpriv, "--pdeathsig", "QUIT", *command]
        # A separate session: Ctrl-C reaches the command first, and the server is stopped after it.
        self.process = self.spawn(command)
        self.wait_until_ready(self.process)

    def create_data(self) -> None:
        # Renamed when it is complete: a killed initdb leaves files that look like those of a server.
        incomplete = self.data.with_name("data.incomplete")
        shutil.rmtree(incomplete, ignore_errors=True)
        self._create_directory(incomplete)
        command = [str(self.binaries / "initdb"), "--pgdata", str(incomplete), "--username", "shardboard", "--no-sync"]
        # md5: tests connect thousands of times, and SCRAM would take most of that time.
        command += ["--auth", "md5", "--pwfile", str(self.password_file), "--encoding", "UTF8"]
        if self.spawn([*command, "--locale", "C"]).wait() != 0:
            raise PostgresUnavailable(f"initdb failed:\n{self.log.read_text()}")
        incomplete.rename(self.data)

    def spawn(self, command: list[str]) -> subprocess.Popen[bytes]:
        with self.log.open("wb") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                start_new_session=True,
                user=self.user,
                group=self.group,
                extra_groups=None if self.user is None else [],
            )

    def wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        state = self.data / "postmaster.pid"
        while time.monotonic() < deadline and process.poll() is None:
            # The first line of the pid file is the process ID, the eighth line the state of the start.
            lines = state.read_text().split("\n") if state.exists() else []
            if lines[:1] == [str(process.pid)] and "".join(lines[7:8]).strip() in ("ready", "standby"):
                return
            time.sleep(0.05)
        raise PostgresUnavailable(f"PostgreSQL did not start:\n{self.log.read_text()}")

    def stop(self) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGQUIT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
