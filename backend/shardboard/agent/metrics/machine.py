"""Facts and samples of the machine, by psutil."""

import ipaddress
import os
import platform
import socket
import time
from pathlib import Path

import psutil

from shardboard import __version__
from shardboard.agent.benchmarks import memtier
from shardboard.agent.cluster import cpu_topology, host_checks
from shardboard.agent.databases.engine import engine_version
from shardboard.agent.databases.flash import Flash
from shardboard.agent.settings import AgentSettings
from shardboard.contract import NODE_FIELDS, NodeFacts

MAX_ADDRESSES = 256
PRESSURE = Path("/proc/pressure")


def facts(settings: AgentSettings, flash: Flash | None = None, *, is_pinned: bool = False) -> NodeFacts:
    """Return a description of this machine. A missing engine is reported as an empty version. `is_pinned`: whether shards are
    pinned to cores.
    """
    release = _os_release()
    return NodeFacts(
        hostname=socket.gethostname(),
        machine_id=_machine_id(),
        architecture=platform.machine(),
        cores=psutil.cpu_count() or 1,
        os_name=release.get("PRETTY_NAME", platform.system()),
        os_family=release.get("ID_LIKE", release.get("ID", "")).split(" ")[0],
        os_version=release.get("VERSION_ID", platform.release()),
        total_memory=settings.memory or psutil.virtual_memory().total,
        storage_size=psutil.disk_usage(str(settings.state_dir)).total,
        storage_path=str(settings.state_dir),
        agent_version=__version__,
        engine_version=engine_version(settings.engine),
        flash_path=str(flash.root) if flash is not None else "",
        flash_size=flash.size if flash is not None else 0,
        memtier_version=memtier.version(),
        uptime=int(time.time() - psutil.boot_time()),
        cpus=cpu_topology.read(),
        host=host_checks.check(is_pinned=is_pinned),
        addresses=_addresses(),
        hides_internals=True,
    )


class MachineSampler:
    """Samples counters and gauges of the machine and of the agent process, in the order of NODE_FIELDS."""

    def __init__(self, settings: AgentSettings, flash: Flash | None = None) -> None:
        self._flash = str(flash.root) if flash is not None else None
        self._state_dir = str(settings.state_dir)
        self._process = psutil.Process()

    def sample(self) -> list[float | None]:
        cpu = psutil.cpu_times()
        memory = psutil.virtual_memory()
        net = psutil.net_io_counters()
        disk = psutil.disk_io_counters()
        cpu_times = self._process.cpu_times()
        storage = os.statvfs(self._state_dir)
        values: dict[str, float | None] = {
            "cpu_user": cpu.user + cpu.nice,
            "cpu_system": cpu.system + cpu.irq + cpu.softirq + cpu.steal,
            "cpu_iowait": cpu.iowait,
            "cpu_idle": cpu.idle,
            "free_memory": memory.free,
            "available_memory": memory.available,
            "net_in": net.bytes_recv,
            "net_out": net.bytes_sent,
            "disk_read": disk.read_bytes if disk else 0,
            "disk_write": disk.write_bytes if disk else 0,
            "storage_free": storage.f_bfree * storage.f_frsize,
            "storage_avail": storage.f_bavail * storage.f_frsize,
            "agent_cpu": cpu_times.user + cpu_times.system,
            "agent_rss": self._process.memory_info().rss,
            "cpu_nice": cpu.nice,
            "cpu_irqs": cpu.irq + cpu.softirq,
            "cpu_steal": cpu.steal,
            **{f"pressure_{name}": _pressure(name) for name in ("cpu", "io", "memory")},
            "flash_free": None if self._flash is None else _free(self._flash),
        }
        return [None if (value := values[name]) is None else float(value) for name in NODE_FIELDS]


def _addresses() -> list[str]:
    """Return the addresses of all interfaces that other machines can see as the source of a connection."""
    families = (socket.AF_INET, socket.AF_INET6)
    entries = (entry for entries in psutil.net_if_addrs().values() for entry in entries if entry.family in families)
    found = (ipaddress.ip_address(entry.address.partition("%")[0]) for entry in entries)
    return sorted({str(address) for address in found if not (address.is_loopback or address.is_link_local)})[
        :MAX_ADDRESSES
    ]


def _free(path: str) -> float | None:
    """Return the bytes available to an unprivileged user; None while the disk is unavailable."""
    try:
        usage = os.statvfs(path)
    except OSError:
        return None
    return float(usage.f_bavail * usage.f_frsize)


def _pressure(resource: str) -> float | None:
    """Return the seconds since boot in which some task waited for this resource; None if the kernel does not count it."""
    try:
        with open(PRESSURE / resource) as file:  # noqa: PTH123 - Path.open costs as much as the reading
            return int(file.readline().rpartition("total=")[2]) / 1e6
    except (OSError, ValueError):
        return None


def _os_release() -> dict[str, str]:
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


def _machine_id() -> str:
    for path in (Path("/etc/machine-id"), Path("/proc/sys/kernel/random/boot_id")):
        try:
            if text := path.read_text().strip():
                return text
        except OSError:
            continue
    return socket.gethostname()
