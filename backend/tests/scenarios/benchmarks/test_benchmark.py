"""A benchmark on real processes: the console is killed during the run, and no second is lost or stored twice."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from backend.tests.scenarios import database_helpers
from backend.tests.support import fake_load_generator

from shardboard.cli import benchmark
from shardboard.local.cluster import LocalCluster, ok, private_cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Two nodes with a fake load generator that runs twenty times as fast."""
    directory = tmp_path_factory.mktemp("cluster")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", fake_load_generator.install(directory / "bin"), prepend=":")
        running_cluster = private_cluster(directory, nodes=2)
    with database_helpers.running(running_cluster):
        yield running_cluster


def get_run(cluster: LocalCluster, uid: int) -> dict[str, Any]:
    run: dict[str, Any] = ok(cluster.api.get(f"/v1/benchmarks/{uid}"))
    return run


@pytest.mark.slow
def test_a_run_survives_a_killed_console_and_agent(cluster: LocalCluster) -> None:
    bdb = database_helpers.wait_until_settled(
        cluster,
        database_helpers.create(cluster, database_helpers.request_body(1, authentication_redis_pass="hush-hush")),
    )
    request = {"name": "run", "bdb_uid": bdb["uid"], "workload": {"test_time": 200, "ratio": "0:1"}, "load_nodes": [2]}
    uid = ok(cluster.api.post("/v1/benchmarks", json=request))["uid"]
    arguments: list[str] = []

    def has_arguments() -> bool:
        arguments[:] = [line for line in _command_lines(cluster.directory) if "--test-time=200" in line]
        return bool(arguments)

    cluster.wait_until(has_arguments, "no load generator runs")
    assert not any("hush-hush" in line for line in arguments)
    cluster.wait_until(lambda: get_run(cluster, uid)["progress"] > 5, "the run does not start")
    cluster.kill("console")
    cluster.kill(cluster.addresses[1])
    cluster.start_console()
    cluster.start_agents()
    cluster.wait_until(lambda: get_run(cluster, uid)["status"] != "running", "the run does not end")
    run = get_run(cluster, uid)
    assert (run["status"], run["detail"]) == ("completed", "")
    assert run["summary"]["results"][0]["ops"] == 200_000
    [part] = ok(cluster.api.get(f"/v1/benchmarks/{uid}/series"))["parts"]
    assert part["columns"]["ops"] == [1000.0] * 200
    loads = cluster.directory / "agents" / cluster.addresses[1] / "loads"
    cluster.wait_until(lambda: list(loads.iterdir()) == [], "the node keeps files of a completed run")
    assert ok(cluster.api.delete(f"/v1/benchmarks/{uid}")) == {"uid": uid}


@pytest.mark.slow
def test_a_scenario_runs_from_the_command_line(cluster: LocalCluster, tmp_path: Path) -> None:
    database = database_helpers.wait_until_settled(
        cluster, database_helpers.create(cluster, database_helpers.request_body(1))
    )
    scenario = tmp_path / "quick.yaml"
    text = "name: quick\ntitle: Quick\nsource: none\ndatabase: {memory_size: 1}\nphases: [{name: go, workload: {test_time: 5}}]\n"
    for limit, status in (("p99_ms: 1", benchmark.SLA_MET), ("min_ops_per_second: 5000", benchmark.SLA_MISSED)):
        scenario.write_text(f"{text}sla: {{{limit}}}\n")
        output: list[str] = []
        exit_status = benchmark.run(
            cluster.api, str(scenario), [database["name"]], scale=1.0, watch=True, overwrite=False, say=output.append
        )
        assert exit_status == status, output
        assert any("ops/s" in line for line in output)
    with pytest.raises(benchmark.RunError, match="database nowhere does not exist"):
        benchmark.run(cluster.api, str(scenario), ["nowhere"], scale=1.0, watch=False, overwrite=False)


def _command_lines(directory: Path) -> list[str]:
    """Return the command line of each process whose working directory is below `directory`."""
    command_lines = []
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()).is_relative_to(directory.resolve()):
                command_lines.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return command_lines
