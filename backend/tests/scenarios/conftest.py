"""A real cluster for scenarios: console, three agents and Valkey processes on loopback addresses of this run's own."""

from collections.abc import Iterator

import pytest
from backend.tests.scenarios import databases

from shardboard.local import LocalCluster, private_cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Started once for the tests of a file."""
    with databases.running(private_cluster(tmp_path_factory.mktemp("cluster"), nodes=3)) as made:
        yield made


@pytest.fixture(autouse=True)
def without_leftovers(cluster: LocalCluster) -> Iterator[None]:
    """A test that failed half-way leaves nothing behind for the next one, or its own second run, to stumble over."""
    yield
    databases.delete_all(cluster)
    databases.delete_access(cluster)
