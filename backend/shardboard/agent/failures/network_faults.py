"""Network faults of failure drills, with `ip` or `nft` and the privilege to use them.

Isolation: blackhole routes drop what the node sends. They are in a separate table, so that a rule can exempt the UDP port at
which the console ends the drill: with reverse path filters, the kernel drops packets from addresses that it has no route to. A
node on a separate machine loses contact with the other nodes and the console, while clients elsewhere still reach it: the kind of
partition that can produce two primaries. On a loopback address, where all nodes share one machine, the node becomes unreachable
for everyone. Connections stay open and silent, as behind a broken switch.

Slow network: some of the incoming packets are dropped. TCP sends them again after a fifth of a second or more, so clients see
delays as on a congested link.
"""

import ipaddress
import logging
import os
import shlex
import shutil
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path

log = logging.getLogger(__name__)

PROBE_ADDRESSES = {4: "203.0.113.1", 6: "2001:db8::1"}
"""Addresses reserved for documentation (RFC 5737, RFC 3849). A route to them affects no traffic and shows whether the agent may add
routes.
"""
MARGIN = 5
"""Seconds after the end of a fault at which it is removed automatically, in case the agent is killed before."""
WATCHDOG = """
now() { read -r up rest < /proc/uptime; echo "${up%.*}"; }
end=$(($(now) + SECONDS_LEFT))
while [ "$(now)" -lt $end ] && [ -e "$RECORD" ]; do sleep 1; done
[ -e "$RECORD" ] || sleep 1
[ -e "$RECORD" ] || [ ! -d "${RECORD%/*}" ] || exit 0
rm -f "$RECORD"
"""
"""Waits for the time at which the fault is removed. If the record of the drill is deleted, the agent has ended the drill; if its
directory is deleted too, there is no agent that could. A deletion of the directory takes a moment.
"""
TABLE, PRIORITY = "9700", 9700
"""Routing table of blackhole routes, and priority of the first of its two rules: before the main table (32766)."""
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

    def start(self, seconds: float, record: Path) -> None:
        """Apply the fault. The watchdog removes it if this process is killed before `end`, unless `record` no longer exists."""
        self._watchdog = subprocess.Popen(
            ["/bin/sh", "-c", WATCHDOG + "; ".join(shlex.join(command) for command in self._unmake)],
            # Nothing else that relates it to the agent: tools that end all processes of a cluster must not end it.
            env={
                "PATH": os.environ["PATH"],
                "RECORD": str(record.absolute()),
                "SECONDS_LEFT": f"{seconds + MARGIN:.0f}",
            },
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        _run(self._make)

    def end(self) -> None:
        _run(self._unmake)
        if self._watchdog is not None:
            os.killpg(self._watchdog.pid, signal.SIGKILL)  # the shell and its `sleep`
            self._watchdog.wait()


class Partition(NetworkFault):
    """Isolates this node from the others in both directions."""

    def __init__(self, own: str, peers: Sequence[str], port: int) -> None:
        """`port` is the UDP port at which the node stays reachable."""
        is_loopback = ipaddress.ip_address(own).is_loopback
        self._targets = [own] if is_loopback else sorted({peer for peer in peers if peer != own})
        versions = sorted({ipaddress.ip_address(target).version for target in self._targets})
        self._port = port
        if is_loopback:  # the kernel looks up local addresses before all rules
            make = [_route("add", target, "local") for target in self._targets]
            unmake = [_route("del", target, "local") for target in self._targets]
        else:
            make = [
                *(rule for version in versions for rule in self._rules("add", version)),
                *(_route("add", target, TABLE) for target in self._targets),
            ]
            unmake = [
                *(_route("del", target, TABLE) for target in self._targets),
                *(rule for version in versions for rule in self._rules("del", version)),
            ]
        super().__init__(make, unmake)

    def unsupported_reason(self) -> str:
        if not self._targets:
            return "there is no other node to cut this one off from"
        if shutil.which("ip") is None:
            return "the program ip (Debian package iproute2) is not installed on this node"
        for version in sorted({ipaddress.ip_address(target).version for target in self._targets}):
            if error := _error_of(_route("add", PROBE_ADDRESSES[version], TABLE)):
                return f"the agent is not permitted to change routes: {error}"
            _error_of(_route("del", PROBE_ADDRESSES[version], TABLE))
        return ""

    def _rules(self, what: str, version: int) -> list[list[str]]:
        """Return the commands for the rule that exempts the port, and for the one that uses the table for all other packets."""
        rule = ["ip", f"-{version}", "rule", what, "priority"]
        return [
            [*rule, str(PRIORITY), "ipproto", "udp", "sport", str(self._port), "lookup", "main"],
            [*rule, str(PRIORITY + 1), "lookup", TABLE],
        ]


def _route(what: str, target: str, table: str) -> list[str]:
    address = ipaddress.ip_address(target)
    return [
        "ip",
        f"-{address.version}",
        "route",
        what,
        "blackhole",
        f"{target}/{address.max_prefixlen}",
        "table",
        table,
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
