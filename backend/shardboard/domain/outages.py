"""How long clients of the endpoints were not served, from what the proxies of all nodes saw."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

AGREE_MS = 100
"""Clocks of two nodes that differ by more are not compared: what was a success on one could be any time on the other."""


class SeenOutage(Protocol):
    """What one proxy saw of one primary that was lost. Columns that end in `_ms` are by the clock of its node."""

    @property
    def bdb_uid(self) -> int: ...
    @property
    def seen_by(self) -> int: ...
    @property
    def address(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def slots(self) -> str: ...
    @property
    def noticed_ms(self) -> int: ...
    @property
    def last_success_ms(self) -> int | None: ...
    @property
    def first_success_ms(self) -> int | None: ...
    @property
    def waited(self) -> int: ...
    @property
    def failed(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def watched(self) -> bool: ...
    @property
    def ahead_ms(self) -> int | None: ...


@dataclass(frozen=True)
class Account:
    """What clients of one database noticed."""

    unserved_ms: int | None
    """The longest that a slot was not served at any endpoint, from the last success to the first one afterwards; None: neither a
    client nor a canary is known to have been refused or kept waiting."""
    unserved_since_ms: int | None
    """By the console's clock: since when a slot is not served, as far as is known."""
    served_again_ms: int | None
    """By the console's clock: of the slots whose loss clients noticed and that are served again, the first good request of the
    slowest one; None where there is none."""
    failed: int
    """Requests that were answered with an error without having been executed,"""
    delayed: int
    """that waited for a primary and were answered then,"""
    lost: int
    """and those that the lost primary had got and not answered."""


def account(seen: Sequence[SeenOutage]) -> Account:
    """Of one database, of all that belongs to one incident."""
    losses = [loss for shard in _by_shard(seen) for loss in _losses(shard)]
    gaps = [(loss, gap) for loss in losses if (gap := loss.gap()) is not None]
    open_since = [loss.noticed for loss in losses if loss.is_open]
    return Account(
        unserved_ms=max((gap for _, gap in gaps), default=None),
        unserved_since_ms=min(open_since, default=None),
        served_again_ms=max((end for loss, _ in gaps if (end := loss.served_at) is not None), default=None),
        failed=sum(each.failed for each in seen),
        delayed=sum(max(0, each.waited - each.failed) for each in seen),
        lost=sum(each.lost for each in seen),
    )


class _Loss:
    """One loss of one shard, as all proxies together saw it: it was there while it answered anyone."""

    def __init__(self, first: SeenOutage, before: int | None) -> None:
        self.parts = [first]
        self._before = before
        """When it was last known to be served before, by the console's clock."""

    @property
    def noticed(self) -> int:
        return _aligned(self.parts[0], self.parts[0].noticed_ms)

    @property
    def is_open(self) -> bool:
        return self.served_at is None

    @property
    def served_at(self) -> int | None:
        """When it was first served again, by the console's clock."""
        ends = [_aligned(part, part.first_success_ms) for part in self.parts if part.first_success_ms is not None]
        return min(ends, default=None)

    def gap(self) -> int | None:
        """Milliseconds; None while it goes on, and where no proxy got a request meanwhile, or wrote by itself."""
        if self.is_open or not any(part.waited or part.failed or part.lost or part.watched for part in self.parts):
            return None
        if self._clocks_agree():
            return self._gap_of(self.parts)
        own = (self._gap_of([part for part in self.parts if part.seen_by == node]) for node in self._nodes())
        # Each proxy's own figure is at least the true one: the smallest is nearest to it, and never too good.
        return min((gap for gap in own if gap is not None), default=None)

    def _gap_of(self, parts: Sequence[SeenOutage]) -> int | None:
        ends = [part.first_success_ms for part in parts if part.first_success_ms is not None]
        if not ends:
            return None
        begins = [part.last_success_ms for part in parts if part.last_success_ms is not None]
        if self._before is not None:
            begins += [self._before + (part.ahead_ms or 0) for part in parts]
        return max(0, min(ends) - max(begins, default=min(part.noticed_ms for part in parts)))

    def _nodes(self) -> set[int]:
        return {part.seen_by for part in self.parts}

    def _clocks_agree(self) -> bool:
        if len(self._nodes()) < 2:
            return True
        ahead = [part.ahead_ms for part in self.parts if part.ahead_ms is not None]
        return len(ahead) == len(self.parts) and max(ahead) - min(ahead) <= AGREE_MS


def _losses(seen: Sequence[SeenOutage]) -> list[_Loss]:
    """Of one shard. What is noticed before anyone was served again is the same loss."""
    found: list[_Loss] = []
    for each in sorted(seen, key=lambda part: (_aligned(part, part.noticed_ms), part.seen_by)):
        served_at = found[-1].served_at if found else None
        if found and (served_at is None or _aligned(each, each.noticed_ms) < served_at):
            found[-1].parts.append(each)
        else:
            found.append(_Loss(each, served_at))
    return found


def _by_shard(seen: Iterable[SeenOutage]) -> list[list[SeenOutage]]:
    found: dict[tuple[str, int], list[SeenOutage]] = defaultdict(list)
    for each in seen:
        found[each.address, each.port].append(each)
    return list(found.values())


def _aligned(part: SeenOutage, moment: int) -> int:
    """A time of that node's clock, by the console's: only to say what belongs together, never for a duration on one node."""
    return moment - (part.ahead_ms or 0)
