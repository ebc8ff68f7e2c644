"""Host checks: settings of this machine that cost an in-memory database latency or data, with effects and fixes.

They run when the console requests the machine's facts. Reading the files of /proc and /sys takes a few milliseconds.
"""

import os
import resource
from collections.abc import Iterator

from shardboard.agent.cluster import measurement_checks
from shardboard.agent.cluster.host_commands import Commands, cpupower, kernel_parameter, sysctl, tmpfiles, write_file
from shardboard.agent.cluster.host_files import HostFiles
from shardboard.contract import HostCheck

MIN_OPEN_FILES = 10_096
"""File descriptors that an engine needs: 10,000 clients, reserved connections and its own files."""
BACKLOG = 511
HUGE_PAGES = "sys/kernel/mm/transparent_hugepage/enabled"
CLOCK = "sys/devices/system/clocksource/clocksource0/current_clocksource"


def check(
    host: HostFiles | None = None, *, files: int | None = None, cores: int | None = None, is_pinned: bool = False
) -> list[HostCheck]:
    """Return the result of each check whose setting could be read, passed ones included. `is_pinned`: whether shards are pinned to
    cores.
    """
    host = host or HostFiles()
    cores = cores or os.cpu_count() or 1
    return [
        *_huge_pages(host),
        *_overcommit(host),
        *_somaxconn(host),
        *_swappiness(host),
        *_governor(host),
        *_clock(host),
        *_numa(host, cores, is_pinned=is_pinned),
        _open_files(files if files is not None else resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
        *measurement_checks.check(host, cores),
    ]


def _huge_pages(host: HostFiles) -> Iterator[HostCheck]:
    setting = host.selected_option(HUGE_PAGES)
    if setting:
        commands = write_file(f"/{HUGE_PAGES}", "madvise", "huge-pages")
        yield HostCheck(
            name="transparent_huge_pages",
            value=setting,
            good=setting != "always",
            impact="After a fork (resync, snapshot) each write copies 2 MiB, which increases latency and memory use.",
            remedy=commands.apply,
            apply=commands.apply,
            persist=commands.persist,
        )


def _overcommit(host: HostFiles) -> Iterator[HostCheck]:
    value = host.text("proc/sys/vm/overcommit_memory")
    if value:
        yield _sysctl_check(
            "overcommit_memory",
            value,
            good=value == "1",
            impact="The fork of a large shard can fail, so that it can neither save nor synchronize a replica.",
            commands=sysctl("vm.overcommit_memory", 1),
        )


def _somaxconn(host: HostFiles) -> Iterator[HostCheck]:
    value = host.text("proc/sys/net/core/somaxconn")
    if value.isdecimal():
        yield _sysctl_check(
            "somaxconn",
            value,
            good=int(value) >= BACKLOG,
            impact="Connections are refused when many clients connect at once.",
            commands=sysctl("net.core.somaxconn", 2 * BACKLOG),
        )


def _swappiness(host: HostFiles) -> Iterator[HostCheck]:
    value = host.text("proc/sys/vm/swappiness")
    if value.isdecimal():
        yield _sysctl_check(
            "swappiness",
            value,
            good=int(value) <= 10,
            impact="Memory pages of a database can be swapped out; requests for them then wait for the disk.",
            commands=sysctl("vm.swappiness", 1),
        )


def _sysctl_check(name: str, value: str, *, good: bool, impact: str, commands: Commands) -> HostCheck:
    return HostCheck(
        name=name,
        value=value,
        good=good,
        impact=impact,
        remedy=commands.apply,
        apply=commands.apply,
        persist=commands.persist,
    )


def _governor(host: HostFiles) -> Iterator[HostCheck]:
    value = host.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    if value:
        path = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
        persist = tmpfiles("cpu-governor", [(path, "performance")])
        commands = cpupower(host.family, "frequency-set -g performance", persist)
        yield HostCheck(
            name="cpu_governor",
            value=value,
            good=value == "performance",
            impact="CPUs slow down between requests, so latency increases at low load.",
            remedy="cpupower frequency-set -g performance",
            apply=commands.apply,
            persist=commands.persist,
        )


def _clock(host: HostFiles) -> Iterator[HostCheck]:
    value = host.text(CLOCK)
    if value:
        yield HostCheck(
            name="clock_source",
            value=value,
            good=value in ("tsc", "kvm-clock", "arch_sys_counter"),
            impact="Reading the time requires a system call, several times per command.",
            remedy=f"echo tsc > /{CLOCK}",
            apply=f"echo tsc > /{CLOCK}",
            persist=kernel_parameter(host.family, "clocksource=tsc"),
        )


def _numa(host: HostFiles, cores: int, *, is_pinned: bool) -> Iterator[HostCheck]:
    count = len(host.glob("sys/devices/system/node/node[0-9]*"))
    if count:
        yield HostCheck(
            name="numa_nodes",
            value=f"{count}, shards are pinned" if is_pinned and count > 1 else str(count),
            good=count == 1 or is_pinned,
            impact=f"Memory access is slower for shards with memory on another of the {count} NUMA nodes ({cores} cores).",
            remedy='Pin shards to NUMA nodes: PUT /v1/nodes/<uid> {"cpu_pinning": {"mode": "numa"}}',
        )


def _open_files(limit: int) -> HostCheck:
    unlimited = limit == resource.RLIM_INFINITY
    setting = f"LimitNOFILE={2 * MIN_OPEN_FILES}"
    return HostCheck(
        name="files",
        value="unlimited" if unlimited else str(limit),
        good=unlimited or limit >= MIN_OPEN_FILES,
        impact="A shard accepts fewer clients than configured.",
        remedy=f"{setting} in the agent's systemd unit",
        persist="mkdir -p /etc/systemd/system/shardboard-agent.service.d\n"
        f"printf '%s\\n' '[Service]' '{setting}' > /etc/systemd/system/shardboard-agent.service.d/files.conf\n"
        "systemctl daemon-reload\nsystemctl restart shardboard-agent",
    )
