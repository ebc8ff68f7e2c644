"""A real cluster for scenarios: console, three agents and Valkey processes on loopback addresses that only this run uses."""

from collections.abc import Iterator

import pytest
from backend.tests.scenarios import database_helpers

from shardboard.local.cluster import LocalCluster, private_cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Cluster that is started once per test file."""
    with database_helpers.running(private_cluster(tmp_path_factory.mktemp("cluster"), nodes=3)) as running_cluster:
        yield running_cluster


@pytest.fixture(autouse=True)
def without_leftovers(cluster: LocalCluster) -> Iterator[None]:
    """Delete what a failed test left behind, so that it does not affect the next test or a rerun."""
    yield
    database_helpers.delete_databases(cluster)
    database_helpers.delete_users_and_roles(cluster)
