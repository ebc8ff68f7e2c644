"""Detection of configuration epochs that rise without a known reason.

In cluster mode the newest epoch decides which primary owns a slot. A primary gets a newer epoch when it is elected, when slots are
moved to it, and when its epoch collides with that of another primary. The console either schedules these changes itself, or they
follow a loss that it has detected. Any other rise was caused by another party, with an administrator's password on the port of a
shard or through its cluster bus.
"""

from collections.abc import Mapping
from dataclasses import dataclass

JUMP = 100_000
"""More than elections and slot moves can add to the newest epoch between two polls."""
ABSURD = 2**32
"""More than is possible: one epoch every tenth of a second for twelve years."""


@dataclass(frozen=True)
class EpochSnapshot:
    """Epochs reported by the primaries of one database at one time."""

    epochs: Mapping[tuple[int, str], int]
    """Epoch of each primary by uid and process; a restarted process has a new identity."""
    newest: int
    """The newest epoch that any of them knows."""


@dataclass(frozen=True)
class EpochIncrease:
    shard_uid: int | None
    """None for the newest epoch of the cluster, which belongs to no particular shard."""
    before: int
    after: int


class EpochMonitor:
    """Detects epoch rises of one database."""

    def __init__(self) -> None:
        self._before: EpochSnapshot | None = None
        self._is_suspected = False
        self._newest: int | None = None

    def reset(self) -> None:
        """Start again from the next poll, because an operation is in progress or has just ended."""
        self._before, self._is_suspected = None, False

    def observe(self, now: EpochSnapshot) -> list[EpochIncrease]:
        """Return epochs that rose without a known reason. A rise is reported only if the next poll confirms it, because by then
        losses, elections and operations of the same moment are known."""
        epoch_jumps, previous = self._jumps(now.newest), self._before
        if previous is None or previous.epochs.keys() != now.epochs.keys():
            self._before, self._is_suspected = now, False
            return epoch_jumps
        increases = [
            EpochIncrease(uid, previous.epochs[uid, process], epoch) for (uid, process), epoch in now.epochs.items()
        ]
        increases = [each for each in increases if each.after > each.before]
        if increases and not self._is_suspected:
            self._is_suspected = True
            return epoch_jumps
        self._before, self._is_suspected = now, False
        return increases + epoch_jumps

    def _jumps(self, newest: int) -> list[EpochIncrease]:
        previous, self._newest = self._newest, newest
        is_far = newest > ABSURD if previous is None else newest - previous > JUMP
        return [EpochIncrease(None, previous or 0, newest)] if is_far else []
