"""Tests of restarting the processes of a local cluster, and of what remains when it stops."""

import asyncio
import os
import shutil
import signal
import subprocess
from pathlib import Path

import psutil
import pytest
from backend.tests.support.real_shards import command_line

from shardboard.agent.databases.engine import engine_path
from shardboard.local.cluster import ENGINE, LocalCluster, LocalError
from shardboard.local.process_supervisor import MAX_RESTARTS, RESTART_SECONDS, ProcessSupervisor


@pytest.fixture
def cluster(tmp_path: Path) -> LocalCluster:
    """A cluster with one child process that runs until it is killed."""
    local_cluster = LocalCluster(
        tmp_path, user="", password="", https_port=1, http_port=2, addresses=["127.0.0.9"], park=True
    )
    local_cluster.spawn("traffic", ["--bind", "127.0.0.1", "0"], module="http.server")
    return local_cluster


def kill_child(cluster: LocalCluster, name: str) -> int:
    child = cluster.children[name]
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    return child.pid


def test_ended_process_is_restarted_after_some_seconds(cluster: LocalCluster) -> None:
    messages: list[str] = []
    supervisor = ProcessSupervisor(cluster, messages.append)
    try:
        supervisor.restart_due(100)
        assert messages == []
        before = kill_child(cluster, "traffic")
        supervisor.restart_due(101)
        supervisor.restart_due(102)
        assert messages == ["… the traffic was killed by signal 9; restart in 3 s"]
        supervisor.restart_due(101 + RESTART_SECONDS)
        assert messages[1:] == ["  the traffic restarted"]
        assert cluster.children["traffic"].pid != before
        assert cluster.children["traffic"].poll() is None
    finally:
        cluster.stop()
    assert not cluster.children


def test_process_that_ends_too_often_is_an_error(cluster: LocalCluster) -> None:
    supervisor, now = ProcessSupervisor(cluster, lambda _: None), 100.0
    try:
        for _ in range(MAX_RESTARTS):
            kill_child(cluster, "traffic")
            supervisor.restart_due(now)
            supervisor.restart_due(now + RESTART_SECONDS)
            now += RESTART_SECONDS + 1
        kill_child(cluster, "traffic")
        with pytest.raises(LocalError, match="traffic ended"):
            supervisor.restart_due(now)
    finally:
        cluster.stop()


def test_processes_of_a_dead_agent_are_killed(cluster: LocalCluster) -> None:
    directory = cluster.directory / "agents" / "127.0.0.9" / "shards" / "1"
    directory.mkdir(parents=True)
    engine = subprocess.Popen(
        [engine_path("valkey-server") or ENGINE, "--port", "0", "--unixsocket", "it.sock", "--save", ""],
        cwd=directory,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    proxy = directory.parents[1] / "shardboard-proxy"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", proxy)
    other = subprocess.Popen([proxy, "600"], cwd=directory.parents[1], start_new_session=True)
    try:
        for process in (engine, other):
            asyncio.run(command_line(process.pid))
        assert (len(cluster.engines()), len(cluster.proxies())) == (1, 1)
        cluster.stop()
        assert engine.wait(10) is not None
        assert other.wait(10) is not None
        assert not cluster.engines()
        assert not cluster.proxies()
    finally:
        for process in (engine, other):
            if process.poll() is None:
                process.kill()
                process.wait()
    assert not psutil.pid_exists(engine.pid)
