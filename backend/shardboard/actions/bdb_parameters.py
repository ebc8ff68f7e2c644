"""Parameters of changes of a database."""

from collections.abc import Mapping
from dataclasses import dataclass

from shardboard.actions.move_parameters import MoveParameters
from shardboard.actions.parameters import Moment, Parameters


@dataclass(frozen=True, kw_only=True)
class UpdateParameters(MoveParameters):
    """Change of a database."""

    changed: tuple[str, ...]
    """Names of the changed fields."""


@dataclass(frozen=True, kw_only=True)
class AdminPasswordParameters(Parameters):
    """Change of the admin password."""

    at: int = 0
    """Index of the current step."""


@dataclass(frozen=True, kw_only=True)
class ReshardParameters(Parameters):
    """The first group is written by the request, the second by the steps."""

    cancellable: bool = False
    desired: Mapping[int, str]
    """Slots of each pair in the format of `domain.slots.render`."""
    new_shards: tuple[int, ...]
    """Uids of the shards of new pairs."""
    removed_shards: int
    """Number of shards of pairs that are removed."""
    shards: int
    """Number of shards afterwards."""
    total: int
    """Number of slots to move."""
    count_before: int
    """Number of pairs before."""
    memory_before: int
    flash_before: int | None = None

    widened: bool = False
    """Whether the memory limits of growing shards were raised."""
    joined: bool = False
    """Whether all new shards serve."""
    moving_since: Moment | None = None
    left_at_first: int | None = None
    """Number of slots to move at that time."""
    keys: int = 0
    """Number of moved keys."""
    eta_seconds: float | None = None
    pause_until: Moment | None = None
    stalled_since: Moment | None = None
