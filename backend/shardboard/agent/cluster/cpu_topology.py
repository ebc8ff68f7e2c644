"""Cores of this machine with their NUMA nodes, from /sys/devices/system. Reading takes less than a millisecond per 50 cores."""

from collections.abc import Iterator
from pathlib import Path

from shardboard.contract.cpu_pinning import CpuTopology, NumaNode, format_cores, parse_cores

SYS, STATUS = Path("/sys"), Path("/proc/self/status")
ALLOWED = "Cpus_allowed_list:"


def read(sys: Path = SYS, status: Path = STATUS) -> CpuTopology:
    """Return the cores that are online and that this process may use."""
    cpus = sys / "devices/system/cpu"
    allowed = allowed_cores(status)
    online = _cores(cpus / "online") or allowed
    nodes = list(_numa_nodes(sys / "devices/system/node", online & allowed))
    return CpuTopology(
        numa_nodes=nodes or [NumaNode(id=0, cores=format_cores(online & allowed))],
        siblings=list(_siblings(cpus, sorted(online & allowed))),
        offline=format_cores(_cores(cpus / "offline")),
    )


def allowed_cores(status: Path = STATUS) -> frozenset[int]:
    """Return the cores that this process may use, offline ones included: those of its control group, service or container."""
    return parse_cores(status.read_text().partition(ALLOWED)[2].partition("\n")[0])


def _numa_nodes(directory: Path, usable: frozenset[int]) -> Iterator[NumaNode]:
    ids = sorted(int(path.name.removeprefix("node")) for path in directory.glob("node[0-9]*"))
    for id_ in ids:
        yield NumaNode(id=id_, cores=format_cores(_cores(directory / f"node{id_}/cpulist") & usable))


def _siblings(cpus: Path, usable: list[int]) -> Iterator[str]:
    """Yield the groups of threads of one physical core. The first thread of each group stands for the group."""
    for core in usable:
        group = _cores(cpus / f"cpu{core}/topology/thread_siblings_list") & set(usable)
        if len(group) > 1 and core == min(group):
            yield format_cores(group)


def _cores(path: Path) -> frozenset[int]:
    try:
        return parse_cores(path.read_text())
    except (OSError, ValueError):
        return frozenset()
