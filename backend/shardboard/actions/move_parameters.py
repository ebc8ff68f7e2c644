"""Parameters of actions that consist of shard moves, and of planned failovers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field, PlainSerializer

from shardboard.actions.parameters import Moment, Parameters, Retried
from shardboard.domain.cluster.node_status import NodeDuty
from shardboard.domain.placement.full_sync_limit import Transfer
from shardboard.domain.placement.moves import Move

StoredMoves = Annotated[
    tuple[Move, ...],
    BeforeValidator(lambda stored: tuple(Move.parse(each) for each in stored)),
    PlainSerializer(lambda moves: [move.stored() for move in moves], when_used="json"),
]
StoredTransfers = Annotated[
    tuple[Transfer, ...],
    BeforeValidator(lambda stored: tuple(Transfer(*each) for each in stored)),
    PlainSerializer(
        lambda transfers: [[each.uid, each.to_node, each.from_node] for each in transfers], when_used="json"
    ),
]


@dataclass(frozen=True)
class FailedHandover:
    """Failed attempts of one planned failover."""

    attempts: Annotated[int, Field(validation_alias=AliasChoices("attempts", "tries"))]
    retry_at: Annotated[Moment, Field(validation_alias=AliasChoices("retry_at", "again_at"))]


@dataclass(frozen=True, kw_only=True)
class HandoverParameters(Parameters):
    """Part of actions with planned failovers."""

    failed_handovers: Mapping[int, FailedHandover] = field(default_factory=dict)
    """By uid of the replica to promote."""


@dataclass(frozen=True, kw_only=True)
class MoveParameters(HandoverParameters):
    """All actions with moves. Moves are identified by their position in `moves`."""

    moves: StoredMoves = ()
    cancellable: bool = False
    concurrent_databases: int = 0
    """Databases whose shards move at the same time; 0: all."""
    concurrent_pairs: int = 0
    """Pairs whose shards move at the same time; 0: all."""
    staying: Mapping[int, str] = field(default_factory=dict)
    """Shards that the plan could not move, by uid, with the reason."""
    done: tuple[int, ...] = ()
    failed: Mapping[int, str] = field(default_factory=dict)
    """Reasons by move."""
    committed: tuple[int, ...] = ()
    """Uids of new shards that may have been promoted."""
    eta_seconds: float | None = None

    @property
    def open(self) -> dict[int, Move]:
        """Moves that are neither done nor failed, by number."""
        return {
            number: move
            for number, move in enumerate(self.moves)
            if number not in self.done and number not in self.failed
        }

    @property
    def unsettled(self) -> list[Move]:
        """Moves whose new shard is neither in place nor removed."""
        return [move for number, move in enumerate(self.moves) if number not in self.done]


@dataclass(frozen=True, kw_only=True)
class NodeParameters(MoveParameters):
    """Maintenance and removal of a node."""

    duty_before: NodeDuty
    """Duty that the node gets back if the action fails."""
    snapshot: str = ""
    """Name of the placement snapshot that the action created or restores."""


@dataclass(frozen=True, kw_only=True)
class SwitchBackParameters(MoveParameters, Retried):
    """Switch back to former primaries."""


@dataclass(frozen=True, kw_only=True)
class ReplicaHaParameters(MoveParameters, Retried):
    """Rebuild of replicas on other nodes."""

    node: int
    """Uid of the node that is down."""


@dataclass(frozen=True, kw_only=True)
class FullSyncParameters(Parameters):
    """Part of actions that start replicas, written by the limiter of full syncs."""

    full_syncs: StoredTransfers = ()
    """Full syncs that were admitted."""
