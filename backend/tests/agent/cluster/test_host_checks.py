"""Tests of the checks of machine settings, with files of machines of several kinds."""

from pathlib import Path

import pytest

from shardboard.agent.cluster import host_checks
from shardboard.agent.cluster.host_files import HostFiles
from shardboard.contract import HostCheck

CPU, IRQS = "sys/devices/system/cpu", "sys/class/net/eth0/device/msi_irqs"
BAD = {
    "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
    f"{CPU}/cpu0/cpufreq/scaling_governor": "powersave",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet",
    "sys/devices/system/node/node0/x": "",
    "sys/devices/system/node/node1/x": "",
    "proc/sys/vm/overcommit_memory": "0",
    "proc/sys/vm/swappiness": "60",
    "proc/sys/net/core/somaxconn": "128",
    "sys/kernel/mm/ksm/run": "1",
    "proc/11/comm": "ksmtuned",
    "proc/12/comm": "irqbalance",
    "proc/13/comm": "tuned",
    "proc/14/comm": "firewalld",
    "etc/tuned/active_profile": "balanced",
    "proc/sys/net/netfilter/nf_conntrack_count": "17",
    "proc/sys/net/netfilter/nf_conntrack_max": "65536",
    f"{CPU}/cpu0/power/energy_perf_bias": "6",
    f"{CPU}/cpu1/power/energy_perf_bias": "0",
    f"{IRQS}/30": "",
    f"{IRQS}/31": "",
    "proc/irq/30/smp_affinity_list": "0-3",
    "proc/irq/30/effective_affinity_list": "1",
    "proc/irq/31/smp_affinity_list": "1",
    **{f"{CPU}/cpu0/cpuidle/state1/{name}": text for name, text in {"name": "C1", "latency": "2"}.items()},
    **{
        f"{CPU}/cpu0/cpuidle/state2/{name}": text
        for name, text in {"name": "C6", "latency": "133", "disable": "0"}.items()
    },
    f"{CPU}/smt/active": "1",
}
GOOD = {
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    f"{CPU}/cpu0/cpufreq/scaling_governor": "performance",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
    "sys/devices/system/node/node0/x": "",
    "proc/sys/vm/overcommit_memory": "1",
    "proc/sys/vm/swappiness": "1",
    "proc/sys/net/core/somaxconn": "4096",
    "sys/kernel/mm/ksm/run": "0",
    "proc/13/comm": "tuned",
    "etc/tuned/active_profile": "network-latency",
    "proc/sys/net/netfilter/nf_conntrack_count": "0",
    f"{CPU}/cpu0/power/energy_perf_bias": "0",
    f"{IRQS}/30": "",
    f"{IRQS}/31": "",
    "proc/irq/30/smp_affinity_list": "0",
    "proc/irq/31/smp_affinity_list": "1",
    f"{CPU}/cpu0/cpuidle/state1/name": "C1",
    f"{CPU}/cpu0/cpuidle/state1/latency": "2",
    f"{CPU}/cpu0/cpuidle/state2/latency": "133",
    f"{CPU}/cpu0/cpuidle/state2/disable": "1",
    f"{CPU}/smt/active": "0",
}
OPTIONAL = {
    *("ksm", "ksmtuned", "irqbalance", "tuned", "firewall", "energy_bias", "interrupts_eth0", "c_states"),
    "hyper_threading",
}
DISTRIBUTIONS = {
    "debian": "ID=debian",
    "ubuntu": "ID=ubuntu\nID_LIKE=debian",
    "rhel": 'ID="rocky"\nID_LIKE="rhel centos fedora"',
    "other": "ID=alpine",
}


def checks_of(
    root: Path, files: dict[str, str], *, limit: int = 65_536, is_pinned: bool = False
) -> dict[str, HostCheck]:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    checks = host_checks.check(HostFiles(root), files=limit, cores=4, is_pinned=is_pinned)
    return {each.name: each for each in checks}


@pytest.mark.parametrize(("files", "limit", "good"), [(BAD, 1024, False), (GOOD, 65536, True)])
def test_every_setting_is_rated(tmp_path: Path, files: dict[str, str], limit: int, good: bool) -> None:
    checks = checks_of(tmp_path, files, limit=limit)
    assert len(checks) == 17
    assert {name for name, each in checks.items() if each.good is not good} == set()
    assert {name for name, each in checks.items() if each.optional} == OPTIONAL
    assert all(each.impact and each.remedy for each in checks.values())


def test_values_describe_the_state(tmp_path: Path) -> None:
    checks = checks_of(tmp_path, BAD)
    assert {name: checks[name].value for name in sorted(OPTIONAL)} == {
        "c_states": "C6, wakes up in 133 µs",
        "energy_bias": "0, 6",
        "firewall": "firewalld, 17 of 65536 connections tracked",
        "hyper_threading": "on",
        "interrupts_eth0": "2 interrupts on 1 of 4 cores",
        "irqbalance": "running",
        "ksm": "merging",
        "ksmtuned": "running",
        "tuned": "balanced",
    }


@pytest.mark.parametrize(
    ("family", "package", "parameter", "services"),
    [
        ("debian", "apt-get install -y linux-cpupower\n", "update-grub", "systemctl stop ksmtuned"),
        ("ubuntu", "apt-get install -y linux-tools-common", "update-grub", "systemctl stop ksmtuned"),
        ("rhel", "dnf install -y kernel-tools\n", "grubby --update-kernel=ALL", "systemctl stop ksm ksmtuned"),
        ("other", "# Install the program cpupower.", "# Add nosmt to", "systemctl stop ksmtuned"),
    ],
)
def test_commands_are_those_of_the_distribution(
    tmp_path: Path, family: str, package: str, parameter: str, services: str
) -> None:
    checks = checks_of(tmp_path, {**BAD, "etc/os-release": DISTRIBUTIONS[family]})
    assert HostFiles(tmp_path).family == family
    for name, command in (("energy_bias", "set -b 0"), ("c_states", "idle-set -D 10")):
        assert checks[name].apply.startswith(package)
        assert checks[name].apply.endswith(f"\ncpupower {command}")
    assert checks["hyper_threading"].persist.startswith(parameter) or parameter in checks["hyper_threading"].persist
    assert checks["ksmtuned"].apply == services
    assert checks["swappiness"].persist == "echo 'vm.swappiness = 1' > /etc/sysctl.d/90-shardboard-swappiness.conf"


def test_every_setting_has_commands(tmp_path: Path) -> None:
    """The pinning of shards is a setting of the console, and the limit of files applies after a restart of the agent."""
    checks = checks_of(tmp_path, BAD)
    assert {name for name, each in checks.items() if not each.apply} == {"numa_nodes", "files"}
    assert {name for name, each in checks.items() if not each.persist} == {"numa_nodes"}


def test_interrupts_of_virtual_devices_are_found(tmp_path: Path) -> None:
    """The device of a network interface of a virtual machine is below the PCI device that has the interrupts."""
    pci = tmp_path / "sys/devices/pci0"
    (pci / "virtio1").mkdir(parents=True)
    (tmp_path / "sys/class/net/ens3").mkdir(parents=True)
    (tmp_path / "sys/class/net/ens3/device").symlink_to(pci / "virtio1")
    checks = checks_of(tmp_path, {"sys/devices/pci0/msi_irqs/40": "", "proc/irq/40/smp_affinity_list": "0-3"})
    assert checks["interrupts_ens3"].value == "1 interrupt on 4 of 4 cores"
    assert "ls /sys/class/net/ens3/device/../msi_irqs" in checks["interrupts_ens3"].apply


def test_interrupts_of_many_interfaces_are_checked_for_physical_ones_first(tmp_path: Path) -> None:
    names = [f"a{number:03}" for number in range(300)]
    files = {f"sys/class/net/{name}/device/msi_irqs/30": "" for name in [*names, "z0"]}
    files |= {f"sys/class/net/{name}/device/physfn": "" for name in names}
    checks = checks_of(tmp_path, {"proc/irq/30/smp_affinity_list": "0-3", **files})
    assert len([name for name in checks if name.startswith("interrupts_")]) == 64
    assert {"interrupts_z0", "interrupts_a062"} <= checks.keys()
    assert checks["interrupts"].value == "64 of 301 network interfaces checked, 237 omitted"
    assert len(checks) < 100, "the console accepts up to 256"


def test_pinned_shards_need_no_single_numa_node(tmp_path: Path) -> None:
    assert not checks_of(tmp_path, BAD)["numa_nodes"].good
    assert checks_of(tmp_path, BAD, is_pinned=True)["numa_nodes"].good


def test_programs_are_not_checked_in_containers(tmp_path: Path) -> None:
    checks = checks_of(tmp_path, {**BAD, ".dockerenv": ""})
    assert checks.keys() & OPTIONAL == OPTIONAL - {"ksmtuned", "irqbalance", "tuned", "firewall"}


def test_unreadable_settings_are_omitted(tmp_path: Path) -> None:
    assert checks_of(tmp_path, {".dockerenv": ""}).keys() == {"files"}


def test_checks_work_on_this_machine() -> None:
    assert "files" in [each.name for each in host_checks.check()]
