"""The small interface that machines hide behind, with the messages of the contract that pass through it."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from typing import Protocol

from shardboard.agent.contract import (
    ENDPOINT_FIELDS,
    NODE_FIELDS,
    SHARD_FIELDS,
    TIER_FIELDS,
    ChangePassword,
    CommandCounts,
    CommandResult,
    Drill,
    HotSlots,
    LoadLines,
    LoadReports,
    LoadState,
    MoveSlots,
    NodeFacts,
    NodeLogs,
    Outage,
    ProbeTarget,
    ProxyDatabase,
    ProxyEndpoint,
    ProxyReading,
    ProxyReport,
    ProxyShard,
    ProxyState,
    ReadCommands,
    RenewCertificates,
    Sample,
    ServedDatabase,
    ShardCommand,
    ShardOutcome,
    ShardReport,
    ShardTls,
    SlotCounts,
    SlotsMoved,
    StartLoad,
    StartShards,
    canary,
)
from shardboard.domain.mails import MailServer

__all__ = [
    "ENDPOINT_FIELDS",
    "NODE_FIELDS",
    "SHARD_FIELDS",
    "TIER_FIELDS",
    "Agents",
    "ChangePassword",
    "CommandCounts",
    "CommandResult",
    "Drill",
    "HotSlots",
    "LoadLines",
    "LoadReports",
    "LoadState",
    "MoveSlots",
    "NodeFacts",
    "NodeLogs",
    "NodeRef",
    "Outage",
    "ProbeTarget",
    "ProxyDatabase",
    "ProxyEndpoint",
    "ProxyReading",
    "ProxyReport",
    "ProxyShard",
    "ProxyState",
    "ReadCommands",
    "RenewCertificates",
    "Sample",
    "ServedDatabase",
    "ShardCommand",
    "ShardReport",
    "ShardTls",
    "ShownCertificate",
    "SlotCounts",
    "SlotsMoved",
    "StartLoad",
    "canary",
]


@dataclass(frozen=True)
class NodeRef:
    """Where a node's agent listens."""

    uid: int
    addr: str
    port: int


@dataclass(frozen=True)
class ShownCertificate:
    """What an agent proves itself by to whoever connects."""

    ends: datetime
    serial: str
    """Hexadecimal, in small letters, without zeros in front."""
    signing_key: str = ""
    """Names the authority (`tls.signing_key_of`)."""


class HookFailed(Exception):
    """A webhook was not told; the message is a sentence."""


class Hooks(Protocol):
    """Addresses outside that are told of events."""

    async def send(self, url: str, body: bytes, headers: Mapping[str, str], ca: str = "") -> None:
        """Trusting the authorities of `ca` (PEM), or those that the system trusts. Raises HookFailed."""


class Syslog(Protocol):
    """Receivers of syslog."""

    async def send(self, url: str, ca: str, messages: Sequence[bytes]) -> None:
        """All of them, in their order. Raises HookFailed."""


class Mails(Protocol):
    """Mail to people."""

    async def send(self, server: MailServer, message: EmailMessage) -> None:
        """Raises HookFailed."""


class Agents(Protocol):
    """What the console may ask of agents. Every call raises AgentUnreachable or AgentRefused and may be repeated.

    `shards` are engine ids by uid. An agent treats a shard that it has with another engine id as absent.
    """

    async def facts(self, node: NodeRef) -> NodeFacts: ...

    async def logs(self, node: NodeRef, shards: Mapping[int, str]) -> NodeLogs:
        """Of the agent, its proxy, and those of these shards that are there."""
        ...

    def certificate_ends(self, node_uid: int) -> datetime | None:
        """Until when the certificate holds that was looked at last; None before."""
        ...

    async def look_at_certificate(self, node: NodeRef) -> ShownCertificate:
        """The one that the agent shows to whoever connects now."""
        ...

    async def request_certificate(self, node: NodeRef) -> str:
        """Let the agent make a new key; the request for a certificate for it, PEM."""
        ...

    async def give_certificate(self, node: NodeRef, certificate: str) -> None:
        """Let the agent show this (PEM, for the key of the last request) from the next connection on."""
        ...

    async def tell_authorities(self, node: NodeRef, certificates: str, bundle: str) -> None:
        """Let the agent trust these authorities (PEM) and no others, from the next connection on, and load generators those of
        `bundle`."""
        ...

    async def shards(self, node: NodeRef) -> list[ShardReport]: ...

    async def start(self, node: NodeRef, request: StartShards) -> list[ShardOutcome]: ...

    async def restart(self, node: NodeRef, shards: Mapping[int, str], *, discard_data: bool) -> list[ShardOutcome]:
        """Start dead shards again where they are, from what they have on disk or empty."""
        ...

    async def end_hung(self, node: NodeRef, shards: Mapping[int, str]) -> list[ShardOutcome]:
        """End those that do not answer even now; they are dead then, as if they had crashed."""
        ...

    async def remove(
        self, node: NodeRef, shards: Mapping[int, str], *, dead_only: bool = False
    ) -> list[ShardOutcome]: ...

    async def command(self, node: NodeRef, commands: Sequence[ShardCommand]) -> list[CommandResult]: ...

    async def renew_certificates(self, node: NodeRef, order: RenewCertificates) -> list[CommandResult]:
        """Let the shards of a database on `node` prove themselves by other certificates."""
        ...

    async def change_password(self, node: NodeRef, order: ChangePassword) -> list[CommandResult]:
        """Let the agent of `node` command the shards of a database by another password."""
        ...

    async def move_slots(self, node: NodeRef, order: MoveSlots) -> SlotsMoved:
        """Move slots away from a shard of `node`, for a bounded time."""
        ...

    async def hot_slots(self, node: NodeRef, order: HotSlots) -> list[SlotCounts]:
        """The slots of shards of `node` with the highest counts, as their engines say."""
        ...

    async def read_commands(self, node: NodeRef, order: ReadCommands) -> CommandCounts:
        """What the proxy of `node` counted of single commands."""
        ...

    async def probe(self, node: NodeRef, targets: Sequence[ProbeTarget]) -> list[bool]:
        """Whether shards of other nodes answer, as seen from `node`."""
        ...

    async def probe_here(self, targets: Sequence[ProbeTarget]) -> list[bool]:
        """The same, as seen from the console itself: for when no other agent can be asked."""
        ...

    async def apply_proxy(self, node: NodeRef, state: ProxyState) -> ProxyReport:
        """Let the proxy of the node do exactly this."""
        ...

    async def proxy(self, node: NodeRef) -> ProxyReport: ...

    async def drill(self, node: NodeRef, drill: Drill) -> str:
        """Begin a rehearsed fault; it ends by itself. Returns why that machine cannot do it, or ""."""
        ...

    async def start_load(self, node: NodeRef, order: StartLoad) -> LoadState:
        """Let the node put load on a database. Repeating the order starts nothing again."""
        ...

    async def read_load(self, node: NodeRef, load: str, after: int, wait: float) -> LoadLines:
        """What the generator has told after so many lines; waits a little for the next one."""
        ...

    async def stop_load(self, node: NodeRef, load: str) -> LoadState: ...

    async def load_reports(self, node: NodeRef, load: str) -> LoadReports: ...

    async def remove_load(self, node: NodeRef, load: str) -> LoadState: ...

    def samples(self, node: NodeRef, after: int, boot: str) -> AsyncIterator[Sample | None]:
        """Samples newer than `after`, then each new one until the connection breaks; None is a pulse in between."""
        ...

    async def close(self) -> None: ...
