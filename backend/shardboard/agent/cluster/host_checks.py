"""Host checks: settings of this machine that cost an in-memory database latency or data, with effects and fixes.

They run when the console requests the machine's facts. Reading the files of /proc and /sys takes less than a millisecond.
"""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

from shardboard.contract import HostCheck

SYS, PROC = Path("/sys"), Path("/proc/sys")
MIN_OPEN_FILES = 10_032
"""File descriptors that an engine needs: 10,000 clients and its own files."""
BACKLOG = 511


def check(sys: Path = SYS, proc: Path = PROC, *, files: int | None = None, cores: int | None = None) -> list[HostCheck]:
    """Return the result of each check whose setting could be read, passed ones included."""
    limit = files if files is not None else resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    found = [
        *_huge_pages(sys / "kernel/mm/transparent_hugepage/enabled"),
        *_overcommit(proc / "vm/overcommit_memory"),
        *_number(
            "somaxconn",
            proc / "net/core/somaxconn",
            minimum=BACKLOG,
            costs="Connections are refused when many clients connect at once.",
            mends=f"sysctl -w net.core.somaxconn={2 * BACKLOG}",
        ),
        *_number(
            "swappiness",
            proc / "vm/swappiness",
            maximum=10,
            costs="Memory pages of a database can be swapped out; requests for them then wait for the disk.",
            mends="sysctl -w vm.swappiness=1",
        ),
        *_governor(sys / "devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        *_clock(sys / "devices/system/clocksource/clocksource0/current_clocksource"),
        *_numa(sys / "devices/system/node", cores or os.cpu_count() or 1),
    ]
    unlimited = limit == resource.RLIM_INFINITY
    found.append(
        HostCheck(
            name="files",
            value="unlimited" if unlimited else str(limit),
            good=unlimited or limit >= MIN_OPEN_FILES,
            costs="A shard accepts fewer clients than configured.",
            mends=f"LimitNOFILE={2 * MIN_OPEN_FILES} in the agent's systemd unit",
        )
    )
    return found


def _huge_pages(path: Path) -> Iterator[HostCheck]:
    chosen = _chosen(path)
    if chosen:
        yield HostCheck(
            name="transparent_huge_pages",
            value=chosen,
            good=chosen != "always",
            costs="After a fork (resync, snapshot) each write copies 2 MiB, which increases latency and memory use.",
            mends=f"echo madvise > {path}",
        )


def _overcommit(path: Path) -> Iterator[HostCheck]:
    value = _text(path)
    if value:
        yield HostCheck(
            name="overcommit_memory",
            value=value,
            good=value == "1",
            costs="The fork of a large shard can fail, so that it can neither save nor synchronize a replica.",
            mends="sysctl -w vm.overcommit_memory=1",
        )


def _governor(path: Path) -> Iterator[HostCheck]:
    value = _text(path)
    if value:
        yield HostCheck(
            name="cpu_governor",
            value=value,
            good=value == "performance",
            costs="CPUs slow down between requests, so latency increases at low load.",
            mends="cpupower frequency-set -g performance",
        )


def _clock(path: Path) -> Iterator[HostCheck]:
    value = _text(path)
    if value:
        yield HostCheck(
            name="clock_source",
            value=value,
            good=value in ("tsc", "kvm-clock", "arch_sys_counter"),
            costs="Reading the time needs a system call, several times per command.",
            mends=f"echo tsc > {path}",
        )


def _numa(path: Path, cores: int) -> Iterator[HostCheck]:
    count = len(list(path.glob("node[0-9]*")))
    if count:
        yield HostCheck(
            name="numa_nodes",
            value=str(count),
            good=count == 1,
            costs=f"Memory access is slower for shards with memory on another of the {count} NUMA nodes ({cores} cores).",
            mends="numactl --cpunodebind=N --membind=N before the agent, with one agent for each NUMA node",
        )


def _number(
    name: str, path: Path, *, minimum: int = 0, maximum: int = 2**62, costs: str, mends: str
) -> Iterator[HostCheck]:
    value = _text(path)
    if value.isdecimal():
        yield HostCheck(name=name, value=value, good=minimum <= int(value) <= maximum, costs=costs, mends=mends)


def _chosen(path: Path) -> str:
    """Return the word in brackets, as in `always [madvise] never`."""
    return _text(path).partition("[")[2].partition("]")[0]


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
