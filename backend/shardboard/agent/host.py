"""How this machine is set up for an in-memory database: what costs latency or data, what it costs, and the line that mends it.

Looked at when the console asks for the machine's facts; reading some files of /proc and /sys takes less than a millisecond.
"""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

from shardboard.agent.contract import HostCheck

SYS, PROC = Path("/sys"), Path("/proc/sys")
FILES = 10_032
"""Descriptors that an engine wants: 10,000 clients, and its own."""
BACKLOG = 511


def check(sys: Path = SYS, proc: Path = PROC, *, files: int | None = None, cores: int | None = None) -> list[HostCheck]:
    """Every setting that could be read, good ones included."""
    limit = files if files is not None else resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    found = [
        *_huge_pages(sys / "kernel/mm/transparent_hugepage/enabled"),
        *_overcommit(proc / "vm/overcommit_memory"),
        *_number(
            "somaxconn",
            proc / "net/core/somaxconn",
            least=BACKLOG,
            costs="Connections are refused when many clients come at once.",
            mends=f"sysctl -w net.core.somaxconn={2 * BACKLOG}",
        ),
        *_number(
            "swappiness",
            proc / "vm/swappiness",
            most=10,
            costs="Pages of a database may be swapped out; a request for one waits for the disk.",
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
            good=unlimited or limit >= FILES,
            costs="A shard accepts fewer clients than it was told to.",
            mends=f"LimitNOFILE={2 * FILES} in the agent's systemd unit",
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
            costs="After a fork (resync, snapshot) every write copies 2 MiB: latency rises, and memory with it.",
            mends=f"echo madvise > {path}",
        )


def _overcommit(path: Path) -> Iterator[HostCheck]:
    value = _text(path)
    if value:
        yield HostCheck(
            name="overcommit_memory",
            value=value,
            good=value == "1",
            costs="The fork of a large shard may be refused, so it can neither save nor feed a replica.",
            mends="sysctl -w vm.overcommit_memory=1",
        )


def _governor(path: Path) -> Iterator[HostCheck]:
    value = _text(path)
    if value:
        yield HostCheck(
            name="cpu_governor",
            value=value,
            good=value == "performance",
            costs="Processors slow down between requests: the less load, the more latency.",
            mends="cpupower frequency-set -g performance",
        )


def _clock(path: Path) -> Iterator[HostCheck]:
    value = _text(path)
    if value:
        yield HostCheck(
            name="clock_source",
            value=value,
            good=value in ("tsc", "kvm-clock", "arch_sys_counter"),
            costs="Reading the time is a system call, several of them for every command.",
            mends=f"echo tsc > {path}",
        )


def _numa(path: Path, cores: int) -> Iterator[HostCheck]:
    count = len(list(path.glob("node[0-9]*")))
    if count:
        yield HostCheck(
            name="numa_nodes",
            value=str(count),
            good=count == 1,
            costs=f"A shard whose memory is at another of the {count} nodes of {cores} cores waits longer for it.",
            mends="numactl --cpunodebind=N --membind=N before the agent, with one agent for each NUMA node",
        )


def _number(name: str, path: Path, *, least: int = 0, most: int = 2**62, costs: str, mends: str) -> Iterator[HostCheck]:
    value = _text(path)
    if value.isdecimal():
        yield HostCheck(name=name, value=value, good=least <= int(value) <= most, costs=costs, mends=mends)


def _chosen(path: Path) -> str:
    """Of `always [madvise] never`."""
    return _text(path).partition("[")[2].partition("]")[0]


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
