"""Host checks that matter for exact measurements: services, power management, and interrupts that make latency vary.

All are optional: production machines can have good reasons for the other value, for example a firewall.
"""

from collections.abc import Iterator

from shardboard.agent.cluster.host_commands import (
    Commands,
    cpupower,
    kernel_parameter,
    spread_interrupts,
    stop_services,
    tmpfiles,
    write_file,
)
from shardboard.agent.cluster.host_files import HostFiles
from shardboard.contract import HostCheck

MAX_WAKE_UP_US = 10
"""Idle states from which a core takes at least this long to wake up are too deep, in microseconds."""
LOW_LATENCY_PROFILES = ("latency-performance", "network-latency", "network-throughput", "throughput-performance")
MAX_INTERFACES = 64
"""Number of network interfaces whose interrupts are checked. The console rejects a report with more than 256 checks."""
SMT = "sys/devices/system/cpu/smt"


def check(host: HostFiles, cores: int) -> Iterator[HostCheck]:
    """Yield the result of each check whose setting could be read."""
    yield from _ksm(host)
    if host.sees_all_programs:
        yield from _services(host)
        yield _firewall(host)
    yield from _energy_bias(host)
    yield from _interrupts(host, cores)
    yield from _idle_states(host)
    yield from _hyper_threading(host)


def _check(name: str, value: str, commands: Commands, *, good: bool, impact: str) -> HostCheck:
    return HostCheck(
        name=name,
        value=value,
        good=good,
        impact=impact,
        remedy=(commands.apply or commands.persist).rpartition("\n")[2],
        optional=True,
        apply=commands.apply,
        persist=commands.persist,
    )


def _ksm(host: HostFiles) -> Iterator[HostCheck]:
    value = host.text("sys/kernel/mm/ksm/run")
    if value:
        yield _check(
            "ksm",
            {"0": "off", "1": "merging", "2": "unmerging"}.get(value, value),
            write_file("/sys/kernel/mm/ksm/run", "0", "ksm"),
            good=value != "1",
            impact="The kernel compares memory pages to merge equal ones, which uses CPU time and evicts caches.",
        )


def _services(host: HostFiles) -> Iterator[HostCheck]:
    yield _service(
        host,
        "ksmtuned",
        ["ksm", "ksmtuned"] if host.family == "rhel" else ["ksmtuned"],
        impact="It turns on the merging of memory pages when memory is low, that is, in the middle of a measurement.",
    )
    yield _service(
        host,
        "irqbalance",
        ["irqbalance"],
        impact="It moves interrupts between cores every ten seconds, also to cores on which shards run.",
    )
    profile = host.text("etc/tuned/active_profile") if "tuned" in host.programs else ""
    install = {"rhel": "dnf install -y tuned\n", "other": ""}.get(host.family, "apt-get install -y tuned\n")
    yield _check(
        "tuned",
        profile or "not running",
        Commands(f"{install}tuned-adm profile network-latency", "systemctl enable tuned"),
        good=not profile or profile in LOW_LATENCY_PROFILES,
        impact="Profiles such as balanced and powersave let cores slow down and sleep, and undo settings made by hand.",
    )


def _service(host: HostFiles, name: str, units: list[str], *, impact: str) -> HostCheck:
    running = name in host.programs
    return _check(name, "running" if running else "not running", stop_services(units), good=not running, impact=impact)


def _firewall(host: HostFiles) -> HostCheck:
    found = []
    if "firewalld" in host.programs:
        found.append("firewalld")
    if "ENABLED=yes" in host.text("etc/ufw/ufw.conf").splitlines():
        found.append("ufw")
    services = found or (["nftables"] if host.family in ("debian", "ubuntu") else ["firewalld"])
    tracked = host.text("proc/sys/net/netfilter/nf_conntrack_count")
    if tracked.isdecimal() and int(tracked):
        found.append(f"{tracked} of {host.text('proc/sys/net/netfilter/nf_conntrack_max')} connections tracked")
    return _check(
        "firewall",
        ", ".join(found) or "off",
        stop_services(services),
        good=not found,
        impact="Each packet passes rules and connection tracking, and connections fail when the table is full. Turn it off only in "
        "an isolated network.",
    )


def _energy_bias(host: HostFiles) -> Iterator[HostCheck]:
    path = "sys/devices/system/cpu/cpu*/power/energy_perf_bias"
    values = sorted({text for file in host.glob(path) if (text := host.text(str(file)))})
    if values:
        yield _check(
            "energy_bias",
            ", ".join(values),
            cpupower(host.family, "set -b 0", tmpfiles("energy-bias", [(f"/{path}", "0")])),
            good=values == ["0"],
            impact="Above 0, the CPU saves energy at the expense of speed: it raises its frequency later and sleeps earlier.",
        )


def _interrupts(host: HostFiles, cores: int) -> Iterator[HostCheck]:
    """Check the network interfaces with interrupts, physical ones first. A machine can have hundreds of virtual functions."""
    found = []
    for interface in host.glob("sys/class/net/*"):
        for level in ("device", "device/.."):  # in virtual machines, they belong to the parent of the device
            directory = f"{interface}/{level}/msi_irqs"
            if numbers := host.names(directory):
                is_virtual = bool(host.glob(f"{interface}/device/physfn"))
                found.append((is_virtual, interface.name, directory, numbers))
                break
    found.sort()
    for _, name, directory, numbers in found[:MAX_INTERFACES]:
        yield from _interrupts_of(host, name, directory, numbers, cores)
    if len(found) > MAX_INTERFACES:
        yield HostCheck(
            name="interrupts",
            value=f"{MAX_INTERFACES} of {len(found)} network interfaces checked, {len(found) - MAX_INTERFACES} omitted",
            good=True,
            impact="Few cores can receive all packets of the interfaces that were not checked.",
            remedy="cat /proc/interrupts",
            optional=True,
        )


def _interrupts_of(
    host: HostFiles, interface: str, directory: str, numbers: list[str], cores: int
) -> Iterator[HostCheck]:
    affinities = [host.cores(f"proc/irq/{number}/smp_affinity_list") for number in numbers]
    effective = [host.cores(f"proc/irq/{number}/effective_affinity_list") for number in numbers]
    used = frozenset[int]().union(*(each or allowed for each, allowed in zip(effective, affinities, strict=True)))
    if used:
        yield _check(
            f"interrupts_{interface}",
            f"{len(numbers)} {'interrupt' if len(numbers) == 1 else 'interrupts'} on {len(used)} of {cores} cores",
            spread_interrupts(interface, f"/{directory}", cores),
            good=len(used) >= min(len(numbers), cores),
            impact="Few cores receive all packets, and shards and proxies on these cores wait for them.",
        )


def _idle_states(host: HostFiles) -> Iterator[HostCheck]:
    """Check the idle states of the first core, which all cores have."""
    states = []
    for path in host.glob("sys/devices/system/cpu/cpu0/cpuidle/state[0-9]*"):
        latency = host.text(f"{path}/latency")
        if latency.isdecimal():
            states.append((int(latency), path.name, host.text(f"{path}/name"), host.text(f"{path}/disable") == "1"))
    enabled = [(latency, name) for latency, _, name, disabled in states if not disabled]
    if not enabled:
        return
    slowest, deepest = max(enabled)
    deep = [state for wake_up, state, _, _ in states if wake_up >= MAX_WAKE_UP_US]
    writes = [(f"/sys/devices/system/cpu/cpu*/cpuidle/{state}/disable", "1") for state in deep]
    persist = tmpfiles("idle-states", writes) if writes else ""
    yield _check(
        "c_states",
        f"{deepest}, wakes up in {slowest} µs",
        cpupower(host.family, f"idle-set -D {MAX_WAKE_UP_US}", persist),
        good=slowest < MAX_WAKE_UP_US,
        impact="A core that sleeps deeply adds its wake-up time to the next request.",
    )


def _hyper_threading(host: HostFiles) -> Iterator[HostCheck]:
    active = host.text(f"{SMT}/active")
    if active:
        yield _check(
            "hyper_threading",
            "on" if active == "1" else "off",
            Commands(f"echo off > /{SMT}/control", kernel_parameter(host.family, "nosmt")),
            good=active != "1",
            impact="Two threads share the units of a physical core, so a shard is slower while the other thread is busy. If you "
            "turn it off, half of the cores go offline: check the CPU pinning of the node afterwards.",
        )
