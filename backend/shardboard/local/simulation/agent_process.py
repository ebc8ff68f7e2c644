"""The owner's side of the process of all simulated agents (`serve_agents.py`)."""

import json
import os
import select
import subprocess
import sys
import time
from typing import Any

from shardboard.local.cluster import LocalCluster, LocalError

NAME = "agents"
MODULE = "shardboard.local.simulation.serve_agents"


class AgentProcess:
    """A child of a local cluster. It ends when its standard input closes, so also when this process ends."""

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster
        log = os.open(cluster.log_of(NAME), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-m", MODULE, str(cluster.directory)],
                env=cluster.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        finally:
            os.close(log)
        self.pid = self._child.pid
        cluster.children[NAME] = self._child

    def request(self, name: str, seconds: float = 30.0, **arguments: Any) -> dict[str, Any]:
        """Send a request and return its reply. Raises LocalError."""
        assert self._child.stdin is not None  # noqa: S101
        assert self._child.stdout is not None  # noqa: S101
        try:
            self._child.stdin.write(json.dumps([name, arguments]).encode() + b"\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            raise LocalError(self._cluster.end_message(NAME)) from None
        deadline = time.monotonic() + seconds
        while not select.select([self._child.stdout], [], [], 0.5)[0]:
            self._cluster.check()
            if time.monotonic() > deadline:
                raise LocalError(f"the simulated agents did not reply to {name} within {seconds:.0f} s")
        line = self._child.stdout.readline()
        if not line:
            self._child.wait()
            raise LocalError(self._cluster.end_message(NAME))
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise LocalError(f"the simulated agents failed: {reply['error']}")
        return reply
