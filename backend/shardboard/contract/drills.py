"""Messages about failure drills."""

import ipaddress
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from shardboard.contract.base import Hex40, Message, RenamedFields, Reply, Text

MAX_DRILL_SECONDS = 3600
"""Maximum duration of a drill."""
DrillId = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,64}$")]


class Drill(Message):
    """A fault for a failure drill. `reboot` kills all shards, `freeze` stops them for a while, and during both the agent is silent.
    `kill` kills all shards and the agent itself, which its supervisor restarts. `cut_off` isolates the node from the network,
    `slow_network` drops some incoming packets. `kill_shard` and `freeze_shard` affect one shard and not the agent.
    """

    id: DrillId
    """A request with a known id is not executed again."""
    kind: Literal["reboot", "kill", "freeze", "cut_off", "slow_network", "kill_shard", "freeze_shard"]
    seconds: float = Field(ge=1, le=MAX_DRILL_SECONDS)
    uid: int | None = None
    engine_ids: list[Hex40] | None = None
    """The shards that may be killed or stopped. None: all shards, for a console of the previous release."""
    peers: list[str] = Field(default=[])
    """Addresses of the other nodes, from which this node is isolated."""
    end_token: str = Field(default="", max_length=64)
    """Content of the datagram that ends the drill of an isolated node; empty: it cannot be ended early."""


class EndDrill(Message):
    """The drill that must end now."""

    id: DrillId


def drill_end_address(address: str) -> str:
    """Return the address at which an isolated node receives the datagram that ends its drill, on the UDP port with the number of
    the agent's port. A node that is isolated on a loopback address receives nothing at this address, so it uses a related one.
    """
    ip = ipaddress.ip_address(address)
    if not ip.is_loopback:
        return address
    second, third = ip.packed[-2:]
    return f"127.255.{second}.{third}"


class DrillReply(RenamedFields, Reply):
    """Whether the drill starts."""

    previous_names: ClassVar = {"error": "refused"}

    error: Text = ""
    """Why this machine cannot run the drill; empty if it starts."""
