"""Messages about the machine itself."""

from typing import Literal

from pydantic import Field

from shardboard.agent.contract.base import Hex40, Message, Reply


class HostCheck(Reply):
    """One setting of a machine. `costs` says what a wrong one costs, `mends` is the line that mends it."""

    name: str
    value: str
    good: bool
    costs: str
    mends: str


class NodeFacts(Reply):
    """What a machine is. Sizes in bytes."""

    hostname: str
    machine_id: str
    """Same for all agents of one machine, so that totals count it once."""
    architecture: str
    cores: int
    os_name: str
    os_family: str
    os_version: str
    total_memory: int
    """Of the machine, or the share that the agent was told to use."""
    storage_size: int
    storage_path: str
    agent_version: str
    engine_version: str
    """Of `valkey-server`; empty when the binary is missing."""
    flash_path: str = ""
    """Empty when the agent was given no flash."""
    flash_size: int = 0
    memtier_version: str = ""
    """Of the memtier_benchmark on the agent's PATH; empty when there is none."""
    uptime: int
    """Seconds since the machine started."""
    host: list[HostCheck] = Field(default=[])
    probes_per_second: int | None = None
    """PINGs and canary writes that each shard gets at most. None: the agent is of an earlier release."""


class CertificateRequest(Reply):
    """For another certificate of the agent."""

    csr: str = ""
    """PEM, with the public half of a new key."""
    refused: str = ""
    """Why there is none; empty when there is."""


class AgentCertificate(Message):
    """What the agent asked for."""

    certificate: str = Field(max_length=65_536)
    """PEM. Shown from the next connection on."""


class Authorities(Message):
    """Whom the agent is to trust."""

    certificates: str = Field(min_length=1, max_length=65_536)
    """PEM, one after another. They count from the next connection on; open ones of others are closed."""
    bundle: str = Field(default="", max_length=262_144)
    """PEM, for load generators: with the authorities above these, for programs that want a root."""


class CertificateReply(Reply):
    """Whether the agent took it."""

    refused: str = ""
    """Why it did not, and shows the one before; empty when it did."""


class Drill(Message):
    """A fault to rehearse. `reboot` kills all shards, `freeze` stops them for a while, and in both the agent is silent; `kill`
    kills all shards and the agent itself, whose supervisor starts it again; `cut_off` takes the network away, `slow_network`
    loses some of what arrives; `kill_shard` and `freeze_shard` concern one shard and leave the agent alone."""

    id: str
    """An order that was heard before is not carried out again."""
    kind: Literal["reboot", "kill", "freeze", "cut_off", "slow_network", "kill_shard", "freeze_shard"]
    seconds: float = Field(ge=1, le=120)
    uid: int | None = None
    engine_ids: list[Hex40] | None = None
    """The shards that may be killed or stopped. None: all shards, as requested by a console of the release before."""
    peers: list[str] = Field(default=[])
    """Addresses of the other nodes, to be cut off from."""


class DrillReply(Reply):
    """Whether it begins."""

    refused: str = ""
    """Why this machine cannot do it; empty when it does."""
