"""Messages about the machine."""

from typing import Literal

from pydantic import Field

from shardboard.contract.base import Hex40, Message, Reply


class HostCheck(Reply):
    """One setting of a machine. `costs` describes the effect of a bad value, `mends` is the command or setting that fixes it."""

    name: str
    value: str
    good: bool
    costs: str
    mends: str


class NodeFacts(Reply):
    """Description of a machine. Sizes are in bytes."""

    hostname: str
    machine_id: str
    """Same for all agents of one machine, so that totals count it once."""
    architecture: str
    cores: int
    os_name: str
    os_family: str
    os_version: str
    total_memory: int
    """Of the machine, or the share that the agent may use."""
    storage_size: int
    storage_path: str
    agent_version: str
    engine_version: str
    """Version of `valkey-server`; empty if the binary is missing."""
    flash_path: str = ""
    """Empty if the agent has no flash."""
    flash_size: int = 0
    memtier_version: str = ""
    """Version of the memtier_benchmark on the agent's PATH; empty if there is none."""
    uptime: int
    """Seconds since the machine started."""
    host: list[HostCheck] = Field(default=[])
    probes_per_second: int | None = None
    """Maximum number of PINGs and canary writes per shard. None: the agent is from an earlier release."""


class CertificateRequest(Reply):
    """Request for a new certificate of the agent."""

    csr: str = ""
    """PEM, with the public part of a new key."""
    refused: str = ""
    """Why there is no request; empty if there is one."""


class AgentCertificate(Message):
    """The certificate that the agent requested."""

    certificate: str = Field(max_length=65_536)
    """PEM. Served from the next connection on."""


class TrustedCas(Message):
    """The CAs that the agent must trust."""

    certificates: str = Field(min_length=1, max_length=65_536)
    """PEM, concatenated. They apply to new connections; open connections of other CAs are closed."""
    bundle: str = Field(default="", max_length=262_144)
    """PEM, for load generators: also contains the issuers of these CAs, for programs that need a root CA."""


class CertificateReply(Reply):
    """Whether the agent accepted it."""

    refused: str = ""
    """Why the agent rejected it and keeps the previous one; empty if it accepted it."""


class Drill(Message):
    """A fault for a failure drill. `reboot` kills all shards, `freeze` stops them for a while, and during both the agent is silent.
    `kill` kills all shards and the agent itself, which its supervisor restarts. `cut_off` isolates the node from the network,
    `slow_network` drops some incoming packets. `kill_shard` and `freeze_shard` affect one shard and not the agent.
    """

    id: str
    """A request with a known id is not executed again."""
    kind: Literal["reboot", "kill", "freeze", "cut_off", "slow_network", "kill_shard", "freeze_shard"]
    seconds: float = Field(ge=1, le=120)
    uid: int | None = None
    engine_ids: list[Hex40] | None = None
    """The shards that may be killed or stopped. None: all shards, for a console of the previous release."""
    peers: list[str] = Field(default=[])
    """Addresses of the other nodes, from which this node is isolated."""


class DrillReply(Reply):
    """Whether the drill starts."""

    refused: str = ""
    """Why this machine cannot run the drill; empty if it starts."""
