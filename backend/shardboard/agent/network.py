"""Making the network of this node worse for a while. Needs `ip` or `nft`, and the right to use them.

Cut off: routes swallow what the node sends. On a machine of its own it loses sight of the other nodes and the console, while
clients elsewhere still reach it: the kind of partition that makes two primaries out of one. On a loopback address, where all
nodes are one machine, nobody reaches it any more. Connections stay open and silent, as behind a dead switch.

Slow: some of the packets that arrive are lost. TCP sends them again a fifth of a second later, or more, so what is lost is
late: a crowded link, as far as clients can tell.
"""

import ipaddress
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from typing import Protocol

NOBODY = "203.0.113.1"
"""An address that is reserved for documents (RFC 5737): a route to it harms nobody and tells whether we may make one."""
MARGIN = 5
"""Seconds after which the network is mended by itself, should this agent be killed in between."""
LOST_PERCENT = 5
"""Of the packets that arrive at a slow node."""


class Fault(Protocol):
    """What one drill does to the network. `begin` and `end` may be called once each."""

    def refusal(self) -> str:
        """Why this machine cannot do it; empty when it can."""

    def begin(self, seconds: float) -> None: ...
    def end(self) -> None: ...


class Partition:
    """This node does not hear the others, nor they it."""

    def __init__(self, own: str, peers: Sequence[str]) -> None:
        alone = ipaddress.ip_address(own).is_loopback
        self._targets = [own] if alone else sorted({peer for peer in peers if peer != own})
        self._table = ["table", "local"] if alone else []
        self._undo = Undo(self._command("del", target) for target in self._targets)

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

    def begin(self, seconds: float) -> None:
        self._undo.after(seconds + MARGIN)
        for target in self._targets:
            _complaint(self._command("add", target))

    def end(self) -> None:
        self._undo.now()

    def _command(self, what: str, target: str) -> list[str]:
        return ["ip", "route", what, "blackhole", f"{target}/32", *self._table]


class Slowness:
    """Packets that arrive at this node are lost now and then; on a machine of its own those of its own processes are not."""

    def __init__(self, own: str) -> None:
        address = ipaddress.ip_address(own)
        family = "ip" if address.version == 4 else "ip6"
        arriving = f"{family} daddr {address}" if address.is_loopback else 'iifname != "lo"'
        # Nodes of one machine have tables of their own.
        table = f"inet shardboard_slow_{int(address):x}"
        self._make = (
            f"add table {table}; "
            f"add chain {table} arriving {{ type filter hook input priority -300; }}; "
            f"add rule {table} arriving {arriving} numgen random mod 100 < {LOST_PERCENT} drop"
        )
        self._unmake = f"delete table {table}"
        self._undo = Undo([["nft", self._unmake]])

    def refusal(self) -> str:
        if shutil.which("nft") is None:
            return "the program nft (Debian package nftables) is not installed on this node"
        # One transaction, so no packet ever meets it.
        tried = _complaint(["nft", f"{self._make}; {self._unmake}"])
        return f"the agent may not filter packets: {tried}" if tried else ""

    def begin(self, seconds: float) -> None:
        self._undo.after(seconds + MARGIN)
        _complaint(["nft", self._make])

    def end(self) -> None:
        self._undo.now()


class Undo:
    """Commands that are run once: when told to, or else by a process that outlives this one."""

    def __init__(self, commands: Iterable[Sequence[str]]) -> None:
        self._commands = [list(command) for command in commands]
        self._waiting: subprocess.Popen[bytes] | None = None

    def after(self, seconds: float) -> None:
        commands = "; ".join(shlex.join(command) for command in self._commands)
        self._waiting = subprocess.Popen(
            ["/bin/sh", "-c", f"sleep {seconds:.0f}; {commands}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def now(self) -> None:
        for command in self._commands:
            _complaint(command)
        if self._waiting is not None:
            self._waiting.kill()
            self._waiting.wait()


def _complaint(command: Sequence[str]) -> str:
    """What went wrong, in the words of the program."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=5)
    first = done.stderr.strip().partition("\n")[0]
    return "" if done.returncode == 0 else first or f"{command[0]} ended with status {done.returncode}"
