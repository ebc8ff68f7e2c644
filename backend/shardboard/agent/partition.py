"""Cutting this node off the network for a while, by routes that swallow what is sent. Needs `ip` and the right to use it.

On a machine of its own the node loses sight of the other nodes and the console, while clients elsewhere still reach it: the
kind of partition that makes two primaries out of one. On a loopback address, where all nodes are one machine, nobody reaches
it any more. Connections stay open and silent, as behind a dead switch.
"""

import ipaddress
import shutil
import subprocess
from collections.abc import Sequence

NOBODY = "203.0.113.1"
"""An address that is reserved for documents (RFC 5737): a route to it harms nobody and tells whether we may make one."""
MARGIN = 5
"""Seconds after which the route goes by itself, should this agent be killed in between."""


class Partition:
    """Routes made by one drill. `begin` and `end` may be called once each."""

    def __init__(self, own: str, peers: Sequence[str]) -> None:
        alone = ipaddress.ip_address(own).is_loopback
        self._targets = [own] if alone else sorted({peer for peer in peers if peer != own})
        self._table = ["table", "local"] if alone else []
        self._undo: subprocess.Popen[bytes] | None = None

    def refusal(self) -> str:
        """Why this machine cannot do it; empty when it can."""
        if any(ipaddress.ip_address(target).version != 4 for target in self._targets):
            return "only nodes with IPv4 addresses can be cut off"
        if not self._targets:
            return "there is nobody to cut this node off from"
        if shutil.which("ip") is None:
            return "the program ip (Debian package iproute2) is not installed on this node"
        tried = self._route("add", NOBODY)
        if tried:
            return f"the agent may not change routes: {tried}"
        self._route("del", NOBODY)
        return ""

    def begin(self, seconds: float) -> None:
        undo = "; ".join(" ".join(self._command("del", target)) for target in self._targets)
        self._undo = subprocess.Popen(
            ["/bin/sh", "-c", f"sleep {seconds + MARGIN:.0f}; {undo}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for target in self._targets:
            self._route("add", target)

    def end(self) -> None:
        for target in self._targets:
            self._route("del", target)
        if self._undo is not None:
            self._undo.kill()
            self._undo.wait()

    def _command(self, what: str, target: str) -> list[str]:
        return ["ip", "route", what, "blackhole", f"{target}/32", *self._table]

    def _route(self, what: str, target: str) -> str:
        """What went wrong, in the words of `ip`."""
        done = subprocess.run(self._command(what, target), capture_output=True, text=True, check=False, timeout=5)
        return "" if done.returncode == 0 else done.stderr.strip() or f"ip ended with status {done.returncode}"
