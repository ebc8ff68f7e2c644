"""Shell commands that change settings of a machine, for its distribution. Users run them as root; the agent never does."""

from collections.abc import Sequence
from dataclasses import dataclass

from shardboard.agent.cluster.host_files import Family

CPUPOWER = {
    "debian": "apt-get install -y linux-cpupower",
    "ubuntu": 'apt-get install -y linux-tools-common "linux-tools-$(uname -r)"',
    "rhel": "dnf install -y kernel-tools",
    "other": "# Install the program cpupower.",
}


@dataclass(frozen=True)
class Commands:
    """Commands that apply a setting until the next restart of the machine, and from then on. Empty: there are none."""

    apply: str = ""
    persist: str = ""


def sysctl(name: str, value: int) -> Commands:
    file = f"/etc/sysctl.d/90-shardboard-{name.rpartition('.')[2].replace('_', '-')}.conf"
    return Commands(f"sysctl -w {name}={value}", f"echo '{name} = {value}' > {file}")


def write_file(path: str, value: str, name: str) -> Commands:
    """Write to a file of /sys. `path` can contain `*`. systemd-tmpfiles writes it at each start of the machine."""
    target = f"for file in {path}; do echo {value} > $file; done" if "*" in path else f"echo {value} > {path}"
    return Commands(target, tmpfiles(name, [(path, value)]))


def tmpfiles(name: str, writes: Sequence[tuple[str, str]]) -> str:
    lines = " ".join(f"'w {path} - - - - {value}'" for path, value in writes)
    return f"printf '%s\\n' {lines} > /etc/tmpfiles.d/shardboard-{name}.conf"


def cpupower(family: Family, arguments: str, persist: str) -> Commands:
    """Call cpupower. On machines where it cannot be installed, the commands in `persist` have the same effect after a restart."""
    return Commands(f"{CPUPOWER[family]}\ncpupower {arguments}", persist)


def stop_services(names: Sequence[str]) -> Commands:
    text = " ".join(names)
    return Commands(f"systemctl stop {text}", f"systemctl disable {text}")


def kernel_parameter(family: Family, parameter: str) -> str:
    """Return the commands that add a boot parameter."""
    if family == "rhel":
        return f"grubby --update-kernel=ALL --args='{parameter}'"
    if family == "other":
        return f"# Add {parameter} to the kernel parameters of the boot loader."
    return f"sed -i 's/^GRUB_CMDLINE_LINUX=\"/&{parameter} /' /etc/default/grub\nupdate-grub"


def spread_interrupts(interface: str, directory: str, cores: int) -> Commands:
    """Distribute the interrupts of a network interface over the cores, as long as irqbalance does not move them."""
    loop = (
        f"i=0; for irq in $(ls {directory} | sort -n); do "
        f"echo $((i % {cores})) > /proc/irq/$irq/smp_affinity_list; i=$((i + 1)); done"
    )
    script, unit = f"/usr/local/sbin/spread-{interface}", f"spread-{interface}.service"
    persist = (
        f"cat > {script} <<'END'\n#!/bin/sh\n{loop}\nEND\nchmod 755 {script}\n"
        f"cat > /etc/systemd/system/{unit} <<'END'\n"
        f"[Unit]\nDescription=Spread interrupts of {interface}\nAfter=network-online.target\n"
        f"[Service]\nType=oneshot\nExecStart={script}\n[Install]\nWantedBy=multi-user.target\nEND\n"
        f"systemctl disable irqbalance\nsystemctl enable {unit}"
    )
    return Commands(f"systemctl stop irqbalance\n{loop}", persist)
