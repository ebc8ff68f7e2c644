"""Network faults of failure drills, with `ip` or `nft` and the privilege to use them.

Isolation: blackhole routes drop what the node sends. A node on a separate machine loses contact with the other nodes and the
console, while clients elsewhere still reach it: the kind of partition that can produce two primaries. On a loopback address, where
all nodes share one machine, the node becomes unreachable for everyone. Connections stay open and silent, as behind a broken switch.

Slow network: some of the incoming packets are dropped. TCP sends them again after a fifth of a second or more, so clients see
delays as on a congested link.
"""

import ipaddress
import logging
import shlex
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

log = logging.getLogger(__name__)

PROBE_ADDRESSES = {4: "203.0.113.1", 6: "2001:db8::1"}
"""Addresses reserved for documentation (RFC 5737, RFC 3849). A route to them affects no traffic and shows whether the agent may add
routes.
"""
MARGIN = 5
"""Seconds after the end of a fault at which it is removed automatically, in case the agent is killed before."""
LOST_PERCENT = 5
"""Percentage of incoming packets that a slow node drops."""


class NetworkFault(ABC):
    """Fault that a drill applies with commands. `begin` and `end` can be called once each."""

    def __init__(self, make: Iterable[Sequence[str]], unmake: Iterable[Sequence[str]]) -> None:
        self._make = list(make)
        self._unmake = list(unmake)
        self._watchdog: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def unsupported_reason(self) -> str:
        """Return why this machine cannot apply the fault; empty if it can."""

    def start(self, seconds: float) -> None:
        """Apply the fault. A separate process removes it if this one is killed before `end`."""
        commands = "; ".join(shlex.join(command) for command in self._unmake)
        self._watchdog = subprocess.Popen(
            ["/bin/sh", "-c", f"sleep {seconds + MARGIN:.0f}; {commands}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        _run(self._make)

    def end(self) -> None:
        _run(self._unmake)
        if self._watchdog is not None:
            self._watchdog.kill()
            self._watchdog.wait()


class Partition(NetworkFault):
    """Isolates this node from the others in both directions."""

    def __init__(self, own: str, peers: Sequence[str]) -> None:
        is_loopback = ipaddress.ip_address(own).is_loopback
        self._targets = [own] if is_loopback else sorted({peer for peer in peers if peer != own})
        self._table = ["table", "local"] if is_loopback else []
        add, delete = ([self._command(operation, target) for target in self._targets] for operation in ("add", "del"))
        super().__init__(add, delete)

    def unsupported_reason(self) -> str:
        if not self._targets:
            return "there is no other node to cut this one off from"
        if shutil.which("ip") is None:
            return "the program ip (Debian package iproute2) is not installed on this node"
        for version in sorted({ipaddress.ip_address(target).version for target in self._targets}):
            if error := _error_of(self._command("add", PROBE_ADDRESSES[version])):
                return f"the agent is not permitted to change routes: {error}"
            _error_of(self._command("del", PROBE_ADDRESSES[version]))
        return ""

    def _command(self, what: str, target: str) -> list[str]:
        address = ipaddress.ip_address(target)
        return [
            "ip",
            f"-{address.version}",
            "route",
            what,
            "blackhole",
            f"{target}/{address.max_prefixlen}",
            *self._table,
        ]


class PacketLoss(NetworkFault):
    """Drops some of the packets that arrive at this node; on a separate machine, except those between its own processes."""

    def __init__(self, own: str) -> None:
        address = ipaddress.ip_address(own)
        family = "ip" if address.version == 4 else "ip6"
        arriving = f"{family} daddr {address}" if address.is_loopback else 'iifname != "lo"'
        # Nodes on one machine use separate tables.
        table = f"inet shardboard_slow_{int(address):x}"
        rules = (
            f"add table {table}; "
            f"add chain {table} arriving {{ type filter hook input priority -300; }}; "
            f"add rule {table} arriving {arriving} numgen random mod 100 < {LOST_PERCENT} drop"
        )
        delete_rules = f"delete table {table}"
        # Add and delete in one transaction, so that no packet is affected.
        self._attempt = ["nft", f"{rules}; {delete_rules}"]
        super().__init__([["nft", rules]], [["nft", delete_rules]])

    def unsupported_reason(self) -> str:
        if shutil.which("nft") is None:
            return "the program nft (Debian package nftables) is not installed on this node"
        error = _error_of(self._attempt)
        return f"the agent is not permitted to filter packets: {error}" if error else ""


def _run(commands: Iterable[Sequence[str]]) -> None:
    for command in commands:
        if error := _error_of(command):
            log.warning("drill: command %s failed: %s", shlex.join(command), error)


def _error_of(command: Sequence[str]) -> str:
    """Return the error message of a command; empty if it succeeded."""
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=5)
    first = result.stderr.strip().partition("\n")[0]
    return "" if result.returncode == 0 else first or f"{command[0]} ended with status {result.returncode}"
