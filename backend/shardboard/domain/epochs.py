"""Configuration epochs that rise though nobody ordered it.

In a cluster whose newest epoch decides who owns a slot, a primary gets a newer one when it is elected, when slots are brought to
it, and when it had the same as another one. All of that is ordered by the console, or follows from a loss that it has seen. What
rises without either was told so by somebody else: with an administrator's password at a shard's port, or on its bus.
"""

from collections.abc import Mapping
from dataclasses import dataclass

JUMP = 100_000
"""More than elections and moves of slots can add to the newest epoch between two looks."""
ABSURD = 2**32
"""More than there could ever have been: one every tenth of a second, for a dozen years."""


@dataclass(frozen=True)
class Look:
    """What the primaries of one database said at a time."""

    epochs: Mapping[tuple[int, str], int]
    """Of every primary its own, by uid and process: one that was started again begins anew."""
    newest: int
    """The newest that any of them has heard of."""


@dataclass(frozen=True)
class Rise:
    shard_uid: int | None
    """None: the newest epoch of the cluster, which belongs to nobody."""
    before: int
    after: int


class Watch:
    """Over one database."""

    def __init__(self) -> None:
        self._before: Look | None = None
        self._is_suspected = False
        self._newest: int | None = None

    def change(self) -> None:
        """Something is under way, or has just ended: epochs are what they will be then."""
        self._before, self._is_suspected = None, False

    def see(self, now: Look) -> list[Rise]:
        """What rose and was not ordered. A rise is told when it is still there at the next look: what was lost, elected or ordered
        in the same moment is known by then."""
        jumps, before = self._jumps(now.newest), self._before
        if before is None or before.epochs.keys() != now.epochs.keys():
            self._before, self._is_suspected = now, False
            return jumps
        rises = [Rise(uid, before.epochs[uid, process], epoch) for (uid, process), epoch in now.epochs.items()]
        rises = [rise for rise in rises if rise.after > rise.before]
        if rises and not self._is_suspected:
            self._is_suspected = True
            return jumps
        self._before, self._is_suspected = now, False
        return rises + jumps

    def _jumps(self, newest: int) -> list[Rise]:
        before, self._newest = self._newest, newest
        is_far = newest > ABSURD if before is None else newest - before > JUMP
        return [Rise(None, before or 0, newest)] if is_far else []
