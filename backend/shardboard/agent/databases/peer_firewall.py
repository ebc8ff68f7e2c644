"""Packet filter that admits only nodes of the cluster to the ports of shards.

Without it, anyone who can reach these ports can occupy their connections, although they cannot log in. The rules are in one
nftables table of this agent. They apply to the ports of its shards at its own address, and never to its own port, to endpoints or
to connections within the machine. Ports expire from the rules unless the agent renews them: without a running agent, all ports are
open again, so outdated rules cannot lock out nodes.
"""

import asyncio
import ipaddress
import logging
import shutil
import subprocess
from collections.abc import Collection, Iterable
from contextlib import suppress

from shardboard.agent.databases.engine_client import EngineError
from shardboard.agent.databases.processes import ShardSupervisor
from shardboard.agent.databases.shard import LocalShard
from shardboard.agent.databases.shard_config import ADMIN
from shardboard.contract import FirewallReport, PeerAccess, canary

log = logging.getLogger(__name__)

CHECK_SECONDS = 1.0
EXPIRY_SECONDS, RENEW_SECONDS = 60, 20
"""Seconds after which a port is open again if the agent does not renew the rules, and seconds between renewals."""
TIMEOUT = 5.0
CHECKED_CONNECTIONS = (("TYPE", "replica"), ("USER", ADMIN), ("USER", canary.USER))
"""Filters of CLIENT LIST for connections that only the cluster can open. Valkey 8 supports the first one only."""


class PeerFirewall:
    """The table of this agent."""

    def __init__(self, supervisor: ShardSupervisor, address: str) -> None:
        self._supervisor = supervisor
        self._address = ipaddress.ip_address(address) if _is_ip(address) else None
        self._peers: frozenset[str] | None = None
        """Addresses that are admitted; None: all."""
        self._tried: tuple[frozenset[str], frozenset[int]] | None = None
        """Peers and ports of the last attempt to apply the rules."""
        self._tried_at = 0.0
        self._changing = asyncio.Lock()
        self._is_closed = False
        self.report = FirewallReport(state="off")

    @property
    def _table(self) -> str:
        # Nodes on one machine use separate tables.
        return f"inet shardboard_shards_{int(self._address or 0):x}"

    async def set_peers(self, request: PeerAccess, callers: Collection[str]) -> FirewallReport:
        """Apply the rules with these peers, and the addresses of the calling console. Return the state."""
        async with self._changing:
            admitted = frozenset(filter(_is_ip, (*request.addresses, *callers)))
            self._peers = admitted if request.enabled else None
            await self._update()
            return self.report

    async def run(self) -> None:
        """Remove the rules of a killed agent, then keep the rules up to date until cancelled."""
        async with self._changing:
            if self._tried is None:
                await self._remove()
        while True:
            async with self._changing:
                await self._update()
            await asyncio.sleep(CHECK_SECONDS)

    async def close(self) -> None:
        """Remove the rules. They are not applied again."""
        async with self._changing:
            self._is_closed = True
            await self._remove()

    async def _update(self) -> None:
        if self._is_closed:
            return
        if self._peers is None:
            if self.report.state == "active":
                await self._remove()
            self.report, self._tried = FirewallReport(state="off"), None
            return
        ports = frozenset(port for shard in self._supervisor.shards.values() for port in _ports(shard))
        desired, now = (self._peers, ports), asyncio.get_running_loop().time()
        if desired == self._tried and now - self._tried_at < RENEW_SECONDS:
            return
        was_active = self.report.state == "active"
        reason = self._unsupported_reason() or ("" if was_active else await self._foreign_connection())
        reason = reason or await _run_nft(self._rules(*desired))
        if reason and was_active:
            await self._remove()
        if reason and reason != self.report.detail:
            log.info("firewall: the ports of shards are open: %s", reason)
        self.report = FirewallReport(state="unavailable" if reason else "active", detail=reason[:1000])
        self._tried, self._tried_at = desired, now

    def _unsupported_reason(self) -> str:
        if self._address is None:
            return "the address of the node is not an IP address"
        if self._address.is_loopback:
            return "the node has a loopback address, which other machines cannot reach"
        if shutil.which("nft") is None:
            return "the program nft (Debian package nftables) is not installed on this node"
        return ""

    async def _foreign_connection(self) -> str:
        """Return why the rules would interrupt the cluster: a connection that has logged in comes from an unknown address, for
        example because of address translation. Empty if there is none.
        """
        admitted = {*(self._peers or ()), str(self._address)}
        for shard in list(self._supervisor.shards.values()):
            for found in await _cluster_addresses(shard):
                if found not in admitted and not ipaddress.ip_address(found).is_loopback:
                    return f"connections of the cluster come from {found}, which is not an address of a node"
        return ""

    def _rules(self, peers: Iterable[str], ports: Iterable[int]) -> str:
        """Return the script that replaces the table in one transaction."""
        own = self._address
        assert own is not None  # noqa: S101 - checked by `_unsupported_reason`
        families = {4: ("ip", "ipv4_addr"), 6: ("ip6", "ipv6_addr")}
        admitted = {own, *(each for each in map(ipaddress.ip_address, peers) if each.version == own.version)}
        family, kind = families[own.version]
        guarded = ", ".join(f"{port} timeout {EXPIRY_SECONDS}s" for port in sorted(ports))
        return f"""
            add table {self._table}
            delete table {self._table}
            table {self._table} {{
                set ports {{ type inet_service; flags timeout; {f"elements = {{ {guarded} }};" if guarded else ""} }}
                set peers {{ type {kind}; elements = {{ {", ".join(map(str, admitted))} }}; }}
                chain input {{
                    type filter hook input priority -10; policy accept;
                    iifname "lo" accept
                    {family} daddr {own} tcp dport @ports {family} saddr != @peers counter drop
                }}
            }}
        """

    async def _remove(self) -> None:
        if not self._unsupported_reason():
            await _run_nft(f"add table {self._table}\ndelete table {self._table}")


def _ports(shard: LocalShard) -> list[int]:
    spec = shard.record.spec
    return [spec.port, spec.bus_port] if shard.record.bdb.cluster else [spec.port]


async def _cluster_addresses(shard: LocalShard) -> set[str]:
    found: set[str] = set()
    with suppress(EngineError, TimeoutError):
        async with asyncio.timeout(TIMEOUT):
            for chosen in CHECKED_CONNECTIONS:
                reply = await (await shard.connect()).execute("CLIENT", "LIST", *chosen)
                found |= {host for line in reply.splitlines() if _is_ip(host := _host(line))}
    return found


def _host(line: str) -> str:
    """Return the host in the field `addr` of a line of CLIENT LIST."""
    address = line.partition(" addr=")[2].partition(" ")[0]
    return address.rpartition(":")[0].strip("[]")


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


async def _run_nft(script: str) -> str:
    """Run a script as one transaction. Return the error; empty if it succeeded."""
    try:
        done = await asyncio.to_thread(
            subprocess.run,
            ["nft", "-f", "-"],
            input=script,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"nft failed: {error}"
    first = done.stderr.strip().partition("\n")[0]
    return "" if done.returncode == 0 else f"the agent is not permitted to filter packets: {first or done.returncode}"
