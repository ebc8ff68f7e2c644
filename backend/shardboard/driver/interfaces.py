"""The interface to machines outside of the console, with the messages of the contract that it uses."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from typing import Any, Protocol

from shardboard.contract import (
    ENDPOINT_FIELDS,
    NODE_FIELDS,
    RING_SECONDS,
    SHARD_FIELDS,
    TIER_FIELDS,
    ChangePassword,
    CommandCounts,
    CommandResult,
    CpuPinning,
    Drill,
    FirewallReport,
    LateProxyReading,
    LoadLines,
    LoadReports,
    LoadState,
    MoveSlots,
    NodeFacts,
    NodeLogs,
    Outage,
    PeerAccess,
    PinningReport,
    ProbeTarget,
    ProxyDatabase,
    ProxyEndpoint,
    ProxyReading,
    ProxyReport,
    ProxyShard,
    ProxyState,
    ReadCommands,
    ReadHotSlots,
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
    max_line_bytes,
)
from shardboard.contract.file_streams import ReceiveFile, SendFile
from shardboard.contract.recovery_copies import CopyVersion, RecoveryCopy
from shardboard.contract.transfers import StartTransfer, TransferState
from shardboard.domain.alerting.mails import MailServer

__all__ = [
    "ENDPOINT_FIELDS",
    "NODE_FIELDS",
    "RING_SECONDS",
    "SHARD_FIELDS",
    "TIER_FIELDS",
    "Agents",
    "ChangePassword",
    "CommandCounts",
    "CommandResult",
    "CopyVersion",
    "CpuPinning",
    "Drill",
    "FirewallReport",
    "LateProxyReading",
    "LoadLines",
    "LoadReports",
    "LoadState",
    "MoveSlots",
    "NodeFacts",
    "NodeLogs",
    "NodeRef",
    "Outage",
    "PeerAccess",
    "PinningReport",
    "ProbeTarget",
    "ProxyDatabase",
    "ProxyEndpoint",
    "ProxyReading",
    "ProxyReport",
    "ProxyShard",
    "ProxyState",
    "ReadCommands",
    "ReadHotSlots",
    "RecoveryCopy",
    "RenewCertificates",
    "Sample",
    "ServedCertificate",
    "ServedDatabase",
    "ShardCommand",
    "ShardReport",
    "ShardTls",
    "SlotCounts",
    "SlotsMoved",
    "StartLoad",
    "StartTransfer",
    "TransferState",
    "canary",
    "max_line_bytes",
]


@dataclass(frozen=True)
class NodeRef:
    """Address of a node's agent."""

    uid: int
    addr: str
    port: int


@dataclass(frozen=True)
class ServedCertificate:
    """The certificate that an agent serves."""

    valid_until: datetime
    serial: str
    """Lowercase hexadecimal digits without leading zeros."""
    signing_key: str = ""
    """ID of the CA key (`tls.signing_key_of`)."""


class DeliveryFailed(Exception):
    """A message could not be delivered; the text is a message for users."""


class Hooks(Protocol):
    """Webhook receivers of events."""

    async def send(self, url: str, body: bytes, headers: Mapping[str, str], ca: str = "") -> None:
        """Send a message. Trusts the CA certificates in `ca` (PEM), or those of the system if it is empty.

        Raises DeliveryFailed.
        """


class Syslog(Protocol):
    """Syslog receivers."""

    async def send(self, url: str, ca: str, messages: Sequence[bytes]) -> None:
        """Send all messages in order. Raises DeliveryFailed."""


class Mails(Protocol):
    """Email to users."""

    async def send(self, server: MailServer, message: EmailMessage) -> None:
        """Send a message. Raises DeliveryFailed."""


class Agents(Protocol):
    """Requests to agents. Every call is idempotent and can raise AgentUnreachable or AgentRefused.

    `shards` are engine ids by uid. An agent treats a shard that it has with another engine id as missing.
    """

    async def facts(self, node: NodeRef) -> NodeFacts: ...

    async def logs(self, node: NodeRef, shards: Mapping[int, str]) -> NodeLogs:
        """Return the logs of the agent, its proxy, and those of the given shards that it has."""
        ...

    def cut_off_reason(self, node_uid: int) -> str:
        """Return why the console does not communicate with the agent of a node for a while; empty if it does."""
        ...

    def certificate_expiry(self, node_uid: int) -> datetime | None:
        """Return the expiry of the certificate that was read last; None before."""
        ...

    async def read_certificate(self, node: NodeRef) -> ServedCertificate:
        """Return the certificate that the agent currently serves."""
        ...

    async def request_certificate(self, node: NodeRef) -> str:
        """Make the agent create a new key, and return its certificate signing request (PEM)."""
        ...

    async def install_certificate(self, node: NodeRef, certificate: str) -> None:
        """Make the agent serve this certificate (PEM, for the key of the last request) for new connections."""
        ...

    async def set_trusted_cas(self, node: NodeRef, certificates: str, bundle: str) -> None:
        """Make the agent trust only these CA certificates (PEM) for new connections, and its load generators those of `bundle`."""
        ...

    async def shards(self, node: NodeRef) -> list[ShardReport]: ...

    async def start(self, node: NodeRef, request: StartShards) -> list[ShardOutcome]: ...

    async def restart(self, node: NodeRef, shards: Mapping[int, str], *, discard_data: bool) -> list[ShardOutcome]:
        """Start dead shards again on their node, from their data on disk or empty."""
        ...

    async def kill_hung(self, node: NodeRef, shards: Mapping[int, str]) -> list[ShardOutcome]:
        """Kill shards that still do not respond; afterwards they are dead as after a crash."""
        ...

    async def remove(
        self, node: NodeRef, shards: Mapping[int, str], *, dead_only: bool = False
    ) -> list[ShardOutcome]: ...

    async def command(self, node: NodeRef, commands: Sequence[ShardCommand]) -> list[CommandResult]: ...

    async def renew_certificates(self, node: NodeRef, request: RenewCertificates) -> list[CommandResult]:
        """Make the shards of a database on `node` use other certificates."""
        ...

    async def change_password(self, node: NodeRef, request: ChangePassword) -> list[CommandResult]:
        """Make the agent of `node` use another password for the shards of a database."""
        ...

    async def move_slots(self, node: NodeRef, request: MoveSlots) -> SlotsMoved:
        """Move slots away from a shard of `node` for a limited time."""
        ...

    async def hot_slots(self, node: NodeRef, request: ReadHotSlots) -> list[SlotCounts]:
        """Return the slots of shards of `node` with the highest counts, as reported by the engines."""
        ...

    async def read_commands(self, node: NodeRef, request: ReadCommands) -> CommandCounts:
        """Return the counts of single commands from the proxy of `node`."""
        ...

    async def probe(self, node: NodeRef, targets: Sequence[ProbeTarget]) -> list[bool]:
        """Return whether shards of other nodes respond to `node`."""
        ...

    async def probe_from_console(self, targets: Sequence[ProbeTarget]) -> list[bool]:
        """Return whether shards respond to the console itself; used if no other agent can be queried."""
        ...

    async def apply_proxy(self, node: NodeRef, state: ProxyState) -> ProxyReport:
        """Make the proxy of the node apply exactly this state."""
        ...

    async def proxy(self, node: NodeRef) -> ProxyReport: ...

    async def set_peers(self, node: NodeRef, access: PeerAccess) -> FirewallReport:
        """Set which machines may connect to the shards of a node. Return the state."""
        ...

    async def pin_processes(self, node: NodeRef, pinning: CpuPinning) -> PinningReport:
        """Set the cores on which the processes of a node run. Return what was applied."""
        ...

    async def drill(self, node: NodeRef, drill: Drill) -> str:
        """Start a failure drill, which ends automatically. Return why the machine cannot run it, or an empty string."""
        ...

    async def end_drill(self, node: NodeRef, drill_id: str, token: str) -> None:
        """End a drill now. Returns when its fault is removed. `token` is the `end_token` of the drill."""
        ...

    async def start_load(self, node: NodeRef, request: StartLoad) -> LoadState:
        """Start a load generator on the node. A repeated request does not start another one."""
        ...

    async def read_load(self, node: NodeRef, load: str, after: int, wait: float) -> LoadLines:
        """Return the output of the generator after a number of lines; waits up to `wait` seconds for more."""
        ...

    async def stop_load(self, node: NodeRef, load: str) -> LoadState: ...

    async def load_reports(self, node: NodeRef, load: str) -> LoadReports: ...

    async def remove_load(self, node: NodeRef, load: str) -> LoadState: ...

    async def start_transfer(self, node: NodeRef, request: StartTransfer) -> TransferState:
        """Start a transfer on the node. A repeated request does not start another one. `absent` with an error: it was refused."""
        ...

    async def transfer_states(self, node: NodeRef, ids: Sequence[str]) -> list[TransferState]:
        """Return the states in the order of `ids`."""
        ...

    async def stop_transfers(self, node: NodeRef, ids: Sequence[str]) -> list[TransferState]:
        """Ask transfers to end. They end soon afterwards with the error code `stopped`, and leave no incomplete file."""
        ...

    async def remove_transfers(self, node: NodeRef, ids: Sequence[str]) -> list[TransferState]:
        """Kill transfers that still run, and delete their results. Unknown ids are ignored."""
        ...

    def send_file(self, node: NodeRef, request: SendFile) -> AsyncGenerator[bytes]:
        """Yield the content of a file of a location."""
        ...

    async def receive_file(self, node: NodeRef, request: ReceiveFile, content: AsyncIterator[bytes]) -> dict[str, Any]:
        """Write a file of a location. Return `{"bytes", "sha256"}`. `content` must have the announced size."""
        ...

    async def keep_copies(
        self, node: NodeRef, copies: Sequence[RecoveryCopy], names: Sequence[str]
    ) -> list[CopyVersion]:
        """Make the agent keep these copies and no others than `names`. Return the versions that it has."""
        ...

    async def list_copies(self, node: NodeRef) -> list[CopyVersion]: ...

    async def read_copy(self, node: NodeRef, name: str) -> RecoveryCopy | None: ...

    def samples(
        self, node: NodeRef, after: int, boot: str, max_line: Callable[[], int], *, rare_pulses: bool
    ) -> AsyncIterator[Sample | None]:
        """Yield samples newer than `after`, then new ones until the connection breaks; None is a pulse between samples. `max_line`
        returns the current maximum of bytes of a sample. With `rare_pulses`, there is one only after a second without a sample.
        """
        ...

    async def close(self) -> None: ...
