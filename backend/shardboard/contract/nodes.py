"""Messages about the machine."""

from typing import ClassVar, Literal

from pydantic import Field

from shardboard.contract.base import Count, Message, Name, RenamedFields, Reply, Text
from shardboard.contract.cpu_pinning import CpuTopology


class HostCheck(RenamedFields, Reply):
    """One setting of a machine."""

    previous_names: ClassVar = {"impact": "costs", "remedy": "mends"}

    name: Name
    value: Text
    good: bool
    impact: Text
    """Effect of a bad value."""
    remedy: Text
    """Command or setting that fixes it."""
    optional: bool = False
    """Whether it only matters for exact measurements. A bad value is then not a problem of the node."""
    apply: Text = ""
    """Shell commands for the distribution of the machine that change it until the next restart; empty if there are none."""
    persist: Text = ""
    """Shell commands that change it from the next restart on; empty if there are none."""


class PeerAccess(Message):
    """Which machines may connect to the shards of a node."""

    enabled: bool
    """False: all machines."""
    addresses: list[str] = Field(default=[], max_length=65_536)
    """IP addresses of the nodes. The agent adds those of the calling console."""


class FirewallReport(Reply):
    """Whether packets from other machines to the ports of shards are dropped."""

    state: Literal["off", "active", "unavailable"] = "off"
    detail: str = Field(default="", max_length=1000)
    """Why it is unavailable."""


class NodeFacts(Reply):
    """Description of a machine. Sizes are in bytes."""

    hostname: Name
    machine_id: Name
    """Same for all agents of one machine, so that totals count it once."""
    architecture: Name
    cores: Count
    os_name: Name
    os_family: Name
    os_version: Name
    total_memory: Count
    """Of the machine, or the share that the agent may use."""
    storage_size: Count
    storage_path: Text
    agent_version: Name
    engine_version: Name
    """Version of `valkey-server`; empty if the binary is missing."""
    flash_path: Text = ""
    """Empty if the agent has no flash."""
    flash_size: Count = 0
    memtier_version: Name = ""
    """Version of the memtier_benchmark on the agent's PATH; empty if there is none."""
    uptime: Count
    """Seconds since the machine started."""
    host: list[HostCheck] = Field(default=[], max_length=256)
    addresses: list[Name] = Field(default=[], max_length=256)
    """IP addresses of the machine from which its processes can connect to other nodes."""
    firewall: FirewallReport | None = None
    """None: the agent is from an earlier release."""
    cpus: CpuTopology | None = None
    """None: the agent is from an earlier release."""
    probes_per_second: Count | None = None
    """Maximum number of PINGs and canary writes per shard. None: the agent is from an earlier release."""
    hides_internals: bool = False
    """Whether its proxy supports users who may not run CLUSTER and INFO (`info_section` in `canary.py`)."""


class CertificateRequest(RenamedFields, Reply):
    """Request for a new certificate of the agent."""

    previous_names: ClassVar = {"error": "refused"}

    csr: Text = ""
    """PEM, with the public part of a new key."""
    error: Text = ""
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


class CertificateReply(RenamedFields, Reply):
    """Whether the agent accepted it."""

    previous_names: ClassVar = {"error": "refused"}

    error: Text = ""
    """Why the agent rejected it and keeps the previous one; empty if it accepted it."""
