"""Tests of the cores of machines of several kinds."""

from pathlib import Path

from shardboard.agent.cluster import cpu_topology
from shardboard.contract.cpu_pinning import CpuTopology, NumaNode

CPU, NODE = "devices/system/cpu", "devices/system/node"


def topology_of(root: Path, files: dict[str, str], *, allowed: str) -> CpuTopology:
    status = root / "status"
    status.write_text(f"Name:\tagent\nCpus_allowed:\tf\nCpus_allowed_list:\t{allowed}\n")
    for name, text in files.items():
        path = root / "sys" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return cpu_topology.read(root / "sys", status)


def test_machine_with_one_numa_node(tmp_path: Path) -> None:
    files = {f"{CPU}/online": "0-3", f"{CPU}/offline": "", f"{NODE}/node0/cpulist": "0-3"}
    topology = topology_of(tmp_path, files, allowed="0-3")
    assert topology == CpuTopology(numa_nodes=[NumaNode(id=0, cores="0-3")])
    assert topology.cores == {0, 1, 2, 3}


def test_machine_with_two_numa_nodes_and_hyper_threading(tmp_path: Path) -> None:
    threads = {f"{CPU}/cpu{core}/topology/thread_siblings_list": f"{core % 4},{core % 4 + 4}" for core in range(8)}
    numa = {f"{NODE}/node0/cpulist": "0-1,4-5", f"{NODE}/node1/cpulist": "2-3,6-7", f"{NODE}/node2/cpulist": ""}
    topology = topology_of(tmp_path, {f"{CPU}/online": "0-7", **threads, **numa}, allowed="0-7")
    assert [(node.id, node.cores) for node in topology.numa_nodes] == [(0, "0-1,4-5"), (1, "2-3,6-7"), (2, "")]
    assert topology.siblings == ["0,4", "1,5", "2,6", "3,7"]
    assert [topology.numa_nodes_of(cores) for cores in ({0}, {2, 7}, {0, 6}, set())] == ["0", "1", "0-1", ""]


def test_offline_and_forbidden_cores_are_not_usable(tmp_path: Path) -> None:
    files = {
        f"{CPU}/online": "0-2,4",
        f"{CPU}/offline": "3,5-7",
        f"{NODE}/node0/cpulist": "0-1",
        f"{NODE}/node1/cpulist": "2,4",
    }
    topology = topology_of(tmp_path, files, allowed="1-7")
    assert [node.cores for node in topology.numa_nodes] == ["1", "2,4"]
    assert topology.offline == "3,5-7"


def test_machine_without_numa(tmp_path: Path) -> None:
    assert topology_of(tmp_path, {}, allowed="0-1").numa_nodes == [NumaNode(id=0, cores="0-1")]
