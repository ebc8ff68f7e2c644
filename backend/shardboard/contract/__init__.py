"""The interface between console and agent: JSON over HTTPS, all operations are idempotent. `protocol.py` describes
compatibility between releases.

| Call | Request | Reply |
|---|---|---|
| GET /facts | | NodeFacts |
| GET /shards | | list[ShardReport] |
| POST /shards/start | StartShards | list[ShardOutcome] |
| POST /shards/restart | RestartShards | list[ShardOutcome] |
| POST /shards/end_hung | KillHungShards | list[ShardOutcome] |
| POST /shards/remove | RemoveShards | list[ShardOutcome] |
| POST /shards/certificates | RenewCertificates | list[CommandResult], of its shards |
| POST /shards/command | list[ShardCommand] | list[CommandResult] |
| POST /proxy/apply | ProxyState | ProxyReport |
| GET /proxy | | ProxyReport |
| POST /proxy/commands | ReadCommands | CommandCounts |
| POST /drill | Drill | DrillReply; the fault starts and ends automatically |
| POST /drill/end | EndDrill | DrillReply, when the fault is removed |
| POST /shards/password | ChangePassword | list[CommandResult], one for each shard of the database on the node |
| POST /shards/move_slots | MoveSlots | SlotsMoved |
| POST /shards/hot_slots | ReadHotSlots | list[SlotCounts] |
| POST /loads/start | StartLoad | LoadState |
| POST /loads/read | ReadLoad | LoadLines |
| POST /loads/stop | LoadReference | LoadState |
| POST /loads/reports | LoadReference | LoadReports |
| POST /loads/remove | LoadReference | LoadState |
| POST /transfers/start | StartTransfer | TransferState |
| POST /transfers/states | TransferReferences | list[TransferState] |
| POST /transfers/stop | TransferReferences | list[TransferState] |
| POST /transfers/remove | TransferReferences | list[TransferState]: `absent` |
| POST /probe | list[ProbeTarget] | list[bool] |
| POST /logs | ReadLogs | NodeLogs |
| POST /certificate/request | | CertificateRequest: the agent has created a new key |
| POST /certificate | AgentCertificate, for that key | CertificateReply |
| POST /authorities | TrustedCas | CertificateReply |
| POST /firewall | PeerAccess | FirewallReport |
| POST /cpu_pinning | CpuPinning | PinningReport |
| GET /recovery_copies | | list[CopyVersion] |
| POST /recovery_copies | KeepCopies | list[CopyVersion], of all copies that it has |
| POST /recovery_copies/read | ReadCopy | list[RecoveryCopy], empty without the copy |
| GET /samples?after=N | | NDJSON stream of Sample: newer ones from the ring, then one per second; empty lines are pulses |
"""

from shardboard.contract.base import Hex40, Message, Port
from shardboard.contract.command_stats import CommandCount, CommandCounts, ReadCommands
from shardboard.contract.cpu_pinning import CpuPinning, CpuTopology, PinningReport
from shardboard.contract.drills import MAX_DRILL_SECONDS, Drill, DrillReply, EndDrill, drill_end_address
from shardboard.contract.hot_slots import ReadHotSlots, SlotCount, SlotCounts
from shardboard.contract.load_generators import LoadLines, LoadReference, LoadReports, LoadState, ReadLoad, StartLoad
from shardboard.contract.logs import NodeLogs, ReadLogs
from shardboard.contract.nodes import (
    AgentCertificate,
    CertificateReply,
    CertificateRequest,
    FirewallReport,
    HostCheck,
    NodeFacts,
    PeerAccess,
    TrustedCas,
)
from shardboard.contract.proxies import (
    Outage,
    ProxyCanary,
    ProxyDatabase,
    ProxyEndpoint,
    ProxyReport,
    ProxyShard,
    ProxyState,
    ServedDatabase,
)
from shardboard.contract.samples import (
    ENDPOINT_FIELDS,
    MAX_LINE_BYTES,
    MAX_OUTAGES,
    NODE_FIELDS,
    PULSE_SECONDS,
    RARE_PULSE_SECONDS,
    RING_SECONDS,
    SHARD_FIELDS,
    TIER_FIELDS,
    EndpointReading,
    LateProxyReading,
    ProxyReading,
    Sample,
    fit_rows,
    max_line_bytes,
)
from shardboard.contract.shards import (
    APPLICATION_RIGHTS,
    BdbSpec,
    ChangePassword,
    CommandResult,
    KillHungShards,
    MoveSlots,
    Peer,
    ProbeTarget,
    RemoveShards,
    RenewCertificates,
    RestartShards,
    ShardCommand,
    ShardOutcome,
    ShardReport,
    ShardSpec,
    ShardTls,
    SlotsMoved,
    StartShards,
    TierSpec,
    flush_rules,
    known_rules,
    numbered_database_rules,
)

__all__ = [
    "APPLICATION_RIGHTS",
    "ENDPOINT_FIELDS",
    "MAX_DRILL_SECONDS",
    "MAX_LINE_BYTES",
    "MAX_OUTAGES",
    "NODE_FIELDS",
    "PULSE_SECONDS",
    "RARE_PULSE_SECONDS",
    "RING_SECONDS",
    "SHARD_FIELDS",
    "TIER_FIELDS",
    "AgentCertificate",
    "BdbSpec",
    "CertificateReply",
    "CertificateRequest",
    "ChangePassword",
    "CommandCount",
    "CommandCounts",
    "CommandResult",
    "CpuPinning",
    "CpuTopology",
    "Drill",
    "DrillReply",
    "EndDrill",
    "EndpointReading",
    "FirewallReport",
    "Hex40",
    "HostCheck",
    "KillHungShards",
    "LateProxyReading",
    "LoadLines",
    "LoadReference",
    "LoadReports",
    "LoadState",
    "Message",
    "MoveSlots",
    "NodeFacts",
    "NodeLogs",
    "Outage",
    "Peer",
    "PeerAccess",
    "PinningReport",
    "Port",
    "ProbeTarget",
    "ProxyCanary",
    "ProxyDatabase",
    "ProxyEndpoint",
    "ProxyReading",
    "ProxyReport",
    "ProxyShard",
    "ProxyState",
    "ReadCommands",
    "ReadHotSlots",
    "ReadLoad",
    "ReadLogs",
    "RemoveShards",
    "RenewCertificates",
    "RestartShards",
    "Sample",
    "ServedDatabase",
    "ShardCommand",
    "ShardOutcome",
    "ShardReport",
    "ShardSpec",
    "ShardTls",
    "SlotCount",
    "SlotCounts",
    "SlotsMoved",
    "StartLoad",
    "StartShards",
    "TierSpec",
    "TrustedCas",
    "drill_end_address",
    "fit_rows",
    "flush_rules",
    "known_rules",
    "max_line_bytes",
    "numbered_database_rules",
]
