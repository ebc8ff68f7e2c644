"""Consoles of two releases on one store: both serve writes and lead, and older ones are refused."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory
from backend.tests.scenarios import database_helpers
from backend.tests.support.consoles.clusters_on_postgres import cluster_on_postgres, writing
from backend.tests.support.consoles.other_releases import following_release, previous_release

from shardboard.local.cluster import LocalCluster, ok
from shardboard.local.consoles import ConsolePair, ConsoleProcess
from shardboard.store.db import alembic_config

START_SECONDS = 180.0
"""Limit on an overloaded machine."""
POSTGRES = os.environ.get("SHARDBOARD_TEST_POSTGRES_URL", "")

pytestmark = [
    pytest.mark.store,
    pytest.mark.slow,
    pytest.mark.skipif(not POSTGRES, reason="needs PostgreSQL (scripts/with-postgres)"),
]


@contextmanager
def old_console(directory: Path, sources: Path | None) -> Iterator[ConsolePair]:
    """Run a cluster whose console has these sources, or those of this checkout."""
    with cluster_on_postgres(directory) as cluster:
        own = cluster.environment.get("PYTHONPATH")
        if sources is not None:
            cluster.environment["PYTHONPATH"] = str(sources / "backend")
        cluster.poll_seconds = database_helpers.POLL_SECONDS
        try:
            cluster.start_console()
            if sources is not None:
                cluster.environment.pop("PYTHONPATH")
                cluster.environment |= {"PYTHONPATH": own} if own is not None else {}
            cluster.start_agents()
            yield ConsolePair(cluster)
        finally:
            cluster.stop()
            cluster.kill_shards()


def hand_over(cluster: LocalCluster, pair: ConsolePair, leader: ConsoleProcess, successor: ConsoleProcess) -> None:
    """Change the leader while both consoles serve writes."""
    with writing(leader), writing(successor):
        ok(leader.api.post(f"/v1/consoles/{successor.state()['uid']}/actions/lead"))
        pair.wait_for_leader(successor)
        cluster.wait_until(lambda: not leader.leads(), "both lead")


def create_database(cluster: LocalCluster, console: ConsoleProcess, name: str) -> None:
    """Create a database through this console, and wait until the leader has executed this."""
    uid = ok(console.api.post("/v1/bdbs", json=database_helpers.request_body(1, name=name)))["uid"]
    cluster.wait_until(lambda: is_active(console, uid), f"database {name} does not become active")


def is_active(console: ConsoleProcess, uid: int) -> bool:
    return bool(ok(console.api.get(f"/v1/bdbs/{uid}"))["status"] == "active")


def upgrade(pair: ConsolePair) -> None:
    """Use both consoles, with the first one of the older release, up to the end of that one."""
    cluster, old, new = pair.cluster, pair.first, pair.second
    with writing(old):
        pair.start_second()  # migrates the store
    assert old.leads(), "the leader changes only on request or when it ends"
    assert not new.leads()
    with writing(old), writing(new):
        create_database(cluster, new, "requested-at-the-new-one")
    hand_over(cluster, pair, old, new)
    create_database(cluster, old, "requested-at-the-old-one")
    hand_over(cluster, pair, new, old)
    create_database(cluster, new, "after-the-way-back")
    with writing(new):
        pair.stop(old)
        pair.wait_for_leader(new)
    assert [each for each in ok(new.api.get("/v1/logs")) if each["severity"] in ("ERROR", "CRITICAL")] == []


def start_refused(pair: ConsolePair, console: ConsoleProcess) -> str:
    """Start a console that refuses to run. Return its log."""
    cluster = pair.cluster
    before = len(cluster.log_of(console.name).read_text())
    if console is pair.second:
        pair.spawn_second()
    else:
        cluster.spawn(console.name, ["console"], environment=pair.code_of(console.name))
    process = cluster.children.pop(console.name)
    assert process.wait(START_SECONDS) != 0
    return cluster.log_of(console.name).read_text()[before:]


def test_consoles_of_the_previous_release_are_upgraded(tmp_path: Path) -> None:
    """That release does not start on the store of a newer one, but continues if it is running."""
    if reason := previous_release(tmp_path):
        pytest.skip(reason)
    with old_console(tmp_path / "cluster", tmp_path) as pair:
        upgrade(pair)
        pair.code["console"] = tmp_path
        log = start_refused(pair, pair.first)
        assert "A newer release uses this store" in log or "consoles of another release are running" in log
        del pair.code["console"]
        pair.start(pair.first)
        hand_over(pair.cluster, pair, pair.second, pair.first)


def test_consoles_of_this_release_are_upgraded(tmp_path: Path) -> None:
    head = ScriptDirectory.from_config(alembic_config("")).get_current_head()
    assert head is not None
    for releases in (1, 2):
        (tmp_path / str(releases)).mkdir()
        following_release(tmp_path / str(releases), releases, head)
    with old_console(tmp_path / "cluster", None) as pair:
        pair.code["console-2"] = tmp_path / "1"
        upgrade(pair)
        pair.start(pair.first)
        hand_over(pair.cluster, pair, pair.second, pair.first)
        pair.stop(pair.second)
        pair.code["console-2"] = tmp_path / "2"
        log = start_refused(pair, pair.second)
        assert "consoles that are more than one release older are running" in log
        ok(pair.first.api.put("/v1/cluster/policy", json={"events_keep_days": 100}))
        pair.stop(pair.first)
        pair.start_second()
        assert "A newer release uses this store" in start_refused(pair, pair.first)
        pair.code["console"] = tmp_path / "1"
        pair.start(pair.first)
