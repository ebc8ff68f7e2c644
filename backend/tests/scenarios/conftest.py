"""A real cluster for scenarios: console, three agents and Valkey processes on loopback addresses of this run's own."""

import os
import socket
from collections.abc import Iterator

import pytest

from shardboard.local import LocalCluster

USER, PASSWORD = "admin@example.org", "scenario-password-1"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Started once for the tests of a file; each leaves it without databases."""
    made = local_cluster(tmp_path_factory.mktemp("cluster"), nodes=3)
    try:
        made.start_console()
        made.start_agents()
        yield made
    finally:
        made.stop()
        made.kill_shards()


def local_cluster(
    directory: os.PathLike[str], *, nodes: int, environment: dict[str, str] | None = None
) -> LocalCluster:
    """Not started yet. Addresses depend on the process id, so that runs side by side do not meet."""
    from pathlib import Path

    network = f"127.{os.getpid() // 250 % 120 + 100}.{os.getpid() % 250 + 1}"
    return LocalCluster(
        Path(directory),
        user=USER,
        password=PASSWORD,
        https_port=free_port(),
        http_port=0,
        addresses=[f"{network}.{number}" for number in range(1, nodes + 1)],
        environment={"SHARDBOARD_HTTPS_HOST": "127.0.0.1", **(environment or {})},
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
