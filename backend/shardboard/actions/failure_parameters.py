"""Parameters of actions after failures, and of drills."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import AliasChoices, Field

from shardboard.actions.move_parameters import HandoverParameters
from shardboard.actions.parameters import Cancellable, Moment, Parameters, Retried


@dataclass(frozen=True)
class Promotion:
    """The replica of one pair that replaces a lost or leaving primary."""

    pair: int
    lost: int
    """Uid of the primary."""
    promoted: Annotated[int, Field(validation_alias=AliasChoices("promoted", "heir"))]
    """Uid of the replica."""
    bytes_behind: int | None
    """Lag behind the last reported offset of the primary; None: unknown."""
    method: str = ""
    """`FORCE`, `TAKEOVER`, `REPLICAOF` or `graceful`."""


@dataclass(frozen=True, kw_only=True)
class FailoverParameters(Retried):
    """Failover of lost primaries."""

    chosen: tuple[Promotion, ...] = ()
    """Stored before the commands are sent."""
    refused: tuple[int, ...] = ()
    """Uids of replicas that did not win the vote."""


@dataclass(frozen=True, kw_only=True)
class RequestedFailoverParameters(HandoverParameters):
    """Failover on request."""

    shards: tuple[int, ...]
    """Uids of the primaries."""
    force: bool
    chosen: tuple[Promotion, ...] | None = None
    """None before the first step."""
    took: Mapping[int, float] = field(default_factory=dict)
    """Seconds by uid of the promoted replica."""


@dataclass(frozen=True, kw_only=True)
class ShardParameters(Parameters):
    """Recovery of replicas, and demotion of stale primaries."""

    shards: tuple[int, ...]
    """Uids."""


@dataclass(frozen=True, kw_only=True)
class RestartParameters(ShardParameters, Retried):
    """Restart of dead primaries."""

    discard_data: bool
    """Whether they start empty."""
    saved_times: Mapping[int, float | None] = field(default_factory=dict)
    """Started shards by uid: when their data was written, in epoch seconds, if known."""


@dataclass(frozen=True, kw_only=True)
class RepairParameters(Parameters):
    """Repair of a database that differs from the store."""

    empty: tuple[int, ...]
    """Uids of the shards that may be started without data."""
    is_taken_over: bool = False
    """Whether the store contains what the agents reported. Afterwards, `empty` are the shards that must be started."""


@dataclass(frozen=True, kw_only=True)
class DrillParameters(Cancellable):
    kind: str
    seconds: float
    shard_uid: int | None
    """None: all shards of the node."""
    together_with: tuple[int, ...] = ()
    """Other nodes of the same zone, if the drill affects a zone. A node is not cut off from them."""
    end_token: str = ""
    """Authenticates the datagram that ends the drill of an isolated node."""
    started_at: Moment | None = None
    """When the agent accepted the drill."""
    eta_seconds: float | None = None
    """Remaining time; see `Action.eta_seconds`."""
