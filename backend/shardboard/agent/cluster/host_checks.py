"""Host checks: settings of this machine that cost an in-memory database latency or data, with effects and fixes.

They run when the console requests the machine's facts. Reading the files of /proc and /sys takes less than a millisecond.
"""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

from shardboard.contract import HostCheck

SYS, PROC = Path("/sys"), Path("/proc/sys")
MIN_OPEN_FILES = 10_096
"""File descriptors that an engine needs: 10,000 clients, reserved connections and its own files."""
BACKLOG = 511


def check(sys: Path = SYS, proc: Path = PROC, *, files: int | None = None, cores: int | None = None) -> list[HostCheck]:
    """Return the result of each check whose setting could be read, passed ones included."""
    limit = files if files is not None else resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    results = [
        *_huge_pages(sys / "kernel/mm/transparent_hugepage/enabled"),
        *_overcommit(proc / "vm/overcommit_memory"),
        *_number(
            "somaxconn",
            proc / "net/core/somaxconn",
            minimum=BACKLOG,
            impact="Connections are refused when many clients connect at once.",
            remedy=f"sysctl -w net.core.somaxconn={2 * BACKLOG}",
        ),
        *_number(
            "swappiness",
            proc / "vm/swappiness",
            maximum=10,
            impact="Memory pages of a database can be swapped out; requests for them then wait for the disk.",
            remedy="sysctl -w vm.swappiness=1",
        ),
        *_governor(sys / "devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        *_clock(sys / "devices/system/clocksource/clocksource0/current_clocksource"),
        *_numa(sys / "devices/system/node", cores or os.cpu_count() or 1),
    ]
    unlimited = limit == resource.RLIM_INFINITY
    results.append(
        HostCheck(
            name="files",
            value="unlimited" if unlimited else str(limit),
            good=unlimited or limit >= MIN_OPEN_FILES,
            impact="A shard accepts fewer clients than configured.",
            remedy=f"LimitNOFILE={2 * MIN_OPEN_FILES} in the agent's systemd unit",
        )
    )
    return results


def _huge_pages(path: Path) -> Iterator[HostCheck]:
    setting = _selected_option(path)
    if setting:
        yield HostCheck(
            name="transparent_huge_pages",
            value=setting,
            good=setting != "always",
            impact="After a fork (resync, snapshot) each write copies 2 MiB, which increases latency and memory use.",
            remedy=f"echo madvise > {path}",
        )


def _overcommit(path: Path) -> Iterator[HostCheck]:
    value = _text(path)
    if value:
        yield HostCheck(
            name="overcommit_memory",
            value=value,
            good=value == "1",
            impact="The fork of a large shard can fail, so that it can neither save nor synchronize a replica.",
            remedy="sysctl -w vm.overcommit_memory=1",
        )


def _governor(path: Path) -> Iterator[HostCheck]:
    value = _text(path)
    if value:
        yield HostCheck(
            name="cpu_governor",
            value=value,
            good=value == "performance",
            impact="CPUs slow down between requests, so latency increases at low load.",
            remedy="cpupower frequency-set -g performance",
        )


def _clock(path: Path) -> Iterator[HostCheck]:
    value = _text(path)
    if value:
        yield HostCheck(
            name="clock_source",
            value=value,
            good=value in ("tsc", "kvm-clock", "arch_sys_counter"),
            impact="Reading the time requires a system call, several times per command.",
            remedy=f"echo tsc > {path}",
        )


def _numa(path: Path, cores: int) -> Iterator[HostCheck]:
    count = len(list(path.glob("node[0-9]*")))
    if count:
        yield HostCheck(
            name="numa_nodes",
            value=str(count),
            good=count == 1,
            impact=f"Memory access is slower for shards with memory on another of the {count} NUMA nodes ({cores} cores).",
            remedy="numactl --cpunodebind=N --membind=N before the agent, with one agent for each NUMA node",
        )


def _number(
    name: str, path: Path, *, minimum: int = 0, maximum: int = 2**62, impact: str, remedy: str
) -> Iterator[HostCheck]:
    value = _text(path)
    if value.isdecimal():
        yield HostCheck(name=name, value=value, good=minimum <= int(value) <= maximum, impact=impact, remedy=remedy)


def _selected_option(path: Path) -> str:
    """Return the word in brackets, as in `always [madvise] never`."""
    return _text(path).partition("[")[2].partition("]")[0]


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
