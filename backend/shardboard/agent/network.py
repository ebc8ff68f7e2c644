"""Making the network of this node worse for a while. Needs `ip` or `nft`, and the right to use them.

Cut off: routes swallow what the node sends. On a machine of its own it loses sight of the other nodes and the console, while
clients elsewhere still reach it: the kind of partition that makes two primaries out of one. On a loopback address, where all
nodes are one machine, nobody reaches it any more. Connections stay open and silent, as behind a dead switch.

Slow: some of the packets that arrive are lost. TCP sends them again a fifth of a second later, or more, so what is lost is
late: a crowded link, as far as clients can tell.
"""

import ipaddress
import logging
import shlex
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

log = logging.getLogger(__name__)

NOBODY = "203.0.113.1"
"""An address that is reserved for documents (RFC 5737): a route to it harms nobody and tells whether we may make one."""
MARGIN = 5
"""Seconds after which the network is mended by itself, should this agent be killed in between."""
LOST_PERCENT = 5
"""Of the packets that arrive at a slow node."""


class NetworkFault(ABC):
    """What one drill does to the network, by commands. `begin` and `end` may be called once each."""

    def __init__(self, make: Iterable[Sequence[str]], unmake: Iterable[Sequence[str]]) -> None:
        self._make = list(make)
        self._unmake = list(unmake)
        self._waiting: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def refusal(self) -> str:
        """Why this machine cannot do it; empty when it can."""

    def begin(self, seconds: float) -> None:
        """A process that outlives this one ends it, should `end` not be called."""
        commands = "; ".join(shlex.join(command) for command in self._unmake)
        self._waiting = subprocess.Popen(
            ["/bin/sh", "-c", f"sleep {seconds + MARGIN:.0f}; {commands}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        _run(self._make)

    def end(self) -> None:
        _run(self._unmake)
        if self._waiting is not None:
            self._waiting.kill()
            self._waiting.wait()


class Partition(NetworkFault):
    """This node does not hear the others, nor they it."""

    def __init__(self, own: str, peers: Sequence[str]) -> None:
        alone = ipaddress.ip_address(own).is_loopback
        self._targets = [own] if alone else sorted({peer for peer in peers if peer != own})
        self._table = ["table", "local"] if alone else []
        add, delete = ([self._command(what, target) for target in self._targets] for what in ("add", "del"))
        super().__init__(add, delete)

    def refusal(self) -> str:
        if any(ipaddress.ip_address(target).version != 4 for target in self._targets):
            return "only nodes with IPv4 addresses can be cut off"
        if not self._targets:
            return "there is nobody to cut this node off from"
        if shutil.which("ip") is None:
            return "the program ip (Debian package iproute2) is not installed on this node"
        tried = _complaint(self._command("add", NOBODY))
        if tried:
            return f"the agent may not change routes: {tried}"
        _complaint(self._command("del", NOBODY))
        return ""

    def _command(self, what: str, target: str) -> list[str]:
        return ["ip", "route", what, "blackhole", f"{target}/32", *self._table]


class Slowness(NetworkFault):
    """Packets that arrive at this node are lost now and then; on a machine of its own those of its own processes are not."""

    def __init__(self, own: str) -> None:
        address = ipaddress.ip_address(own)
        family = "ip" if address.version == 4 else "ip6"
        arriving = f"{family} daddr {address}" if address.is_loopback else 'iifname != "lo"'
        # Nodes of one machine have tables of their own.
        table = f"inet shardboard_slow_{int(address):x}"
        make = (
            f"add table {table}; "
            f"add chain {table} arriving {{ type filter hook input priority -300; }}; "
            f"add rule {table} arriving {arriving} numgen random mod 100 < {LOST_PERCENT} drop"
        )
        unmake = f"delete table {table}"
        # One transaction, so no packet ever meets it.
        self._attempt = ["nft", f"{make}; {unmake}"]
        super().__init__([["nft", make]], [["nft", unmake]])

    def refusal(self) -> str:
        if shutil.which("nft") is None:
            return "the program nft (Debian package nftables) is not installed on this node"
        tried = _complaint(self._attempt)
        return f"the agent may not filter packets: {tried}" if tried else ""


def _run(commands: Iterable[Sequence[str]]) -> None:
    for command in commands:
        if complaint := _complaint(command):
            log.warning("%s: %s", shlex.join(command), complaint)


def _complaint(command: Sequence[str]) -> str:
    """What went wrong, in the words of the program."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=5)
    first = done.stderr.strip().partition("\n")[0]
    return "" if done.returncode == 0 else first or f"{command[0]} ended with status {done.returncode}"
