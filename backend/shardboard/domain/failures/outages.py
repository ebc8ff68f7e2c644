"""Duration of outages for clients of the endpoints, derived from reports of the proxies of all nodes."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

AGREE_MS = 100
"""Times of two nodes are not compared if their clocks differ by more than this."""


class ReportedOutage(Protocol):
    """Report of one proxy about the loss of one primary. Columns that end in `_ms` use the clock of its node."""

    @property
    def bdb_uid(self) -> int: ...
    @property
    def reported_by(self) -> int: ...
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
    def is_exact(self) -> bool: ...
    @property
    def ahead_ms(self) -> int | None: ...
    @property
    def watched_until_ms(self) -> int | None:
        """By the console's clock: when the proxy stopped to serve the database before it could report the end."""
        ...


@dataclass(frozen=True)
class OutageSummary:
    """Consequences of an incident for clients of one database."""

    unserved_ms: int | None
    """The longest time that a slot was not served at any endpoint, from the last success before to the first success after; None if
    no client and no canary write is known to have failed or waited."""
    unserved_since_ms: int | None
    """Start of a continuing outage by the console's clock, if known."""
    served_again_ms: int | None
    """Time by the console's clock of the first successful request to the slot that was restored last. Only slots count whose loss
    clients noticed and that are served again; None if there are none."""
    failed: int
    """Requests that failed without being executed."""
    delayed: int
    """Requests that waited for a primary and then succeeded."""
    lost: int
    """Requests that the lost primary had received but not replied to."""


@dataclass(frozen=True)
class UnservedSpan:
    """Time in which clients of a database are known to have had no service for at least one slot, by the console's clock."""

    start_ms: int
    end_ms: int | None
    """End, or the time until which a proxy watched. None: it had not ended when it was reported last."""
    watching: frozenset[tuple[int, int]] = frozenset()
    """If it has not ended: the nodes whose proxies were watching, each with the time at which its proxy noticed, by its clock."""


def unserved_spans(seen: Sequence[ReportedOutage]) -> list[UnservedSpan]:
    """Return the spans of all losses in reports about one database. Losses that no client request or canary write noticed are
    omitted."""
    losses = [loss for shard in _by_shard(seen) for loss in _losses(shard)]
    return [span for loss in losses if (span := loss.span()) is not None]


def summarize(seen: Sequence[ReportedOutage]) -> OutageSummary:
    """Summarize all reports about one database in one incident."""
    losses = [loss for shard in _by_shard(seen) for loss in _losses(shard)]
    gaps = [(loss, gap) for loss in losses if (gap := loss.gap()) is not None]
    open_since = [loss.noticed for loss in losses if loss.ended_at is None]
    return OutageSummary(
        unserved_ms=max((gap for _, gap in gaps), default=None),
        unserved_since_ms=min(open_since, default=None),
        served_again_ms=max((end for loss, _ in gaps if (end := loss.served_at) is not None), default=None),
        failed=sum(each.failed for each in seen),
        delayed=sum(max(0, each.waited - each.failed) for each in seen),
        lost=sum(each.lost for each in seen),
    )


class _Loss:
    """One loss of one shard as reported by all proxies. The shard was up as long as it replied to any of them."""

    def __init__(self, first: ReportedOutage, before: int | None) -> None:
        self.parts = [first]
        self._before = before
        """When it was last known to be served before the loss, by the console's clock."""

    @property
    def noticed(self) -> int:
        return _aligned_time(self.parts[0], self.parts[0].noticed_ms)

    @property
    def served_at(self) -> int | None:
        """When it was served again for the first time, by the console's clock."""
        end_times = [
            _aligned_time(part, part.first_success_ms) for part in self.parts if part.first_success_ms is not None
        ]
        return min(end_times, default=None)

    @property
    def ended_at(self) -> int | None:
        """When it was served again, or when no proxy watched it any longer, by the console's clock."""
        if (served_at := self.served_at) is not None:
            return served_at
        ends = [part.watched_until_ms for part in self.parts]
        return None if None in ends else max(end for end in ends if end is not None)

    def gap(self) -> int | None:
        """Return milliseconds; None while it continues, or if no proxy had a client request or a canary write in that time."""
        if self.served_at is None or not any(
            part.waited or part.failed or part.lost or part.is_exact for part in self.parts
        ):
            return None
        if self._clocks_agree():
            return self._gap_of(self.parts)
        gaps = (self._gap_of([part for part in self.parts if part.reported_by == node]) for node in self._nodes())
        # The value of each proxy is at least the true one, so the smallest is the most accurate and never too small.
        return min((gap for gap in gaps if gap is not None), default=None)

    def span(self) -> UnservedSpan | None:
        """Return the time of the loss; None if it is not known to have affected requests."""
        if (served_at := self.served_at) is not None:
            gap = self.gap()
            return None if gap is None else UnservedSpan(served_at - gap, served_at)
        watched = [part for part in self.parts if part.is_exact]
        if not watched:
            return None  # requests are counted when it ends
        start = max(_aligned_time(part, part.last_success_ms or part.noticed_ms) for part in watched)
        watching = frozenset((part.reported_by, part.noticed_ms) for part in watched if part.watched_until_ms is None)
        if watching:
            return UnservedSpan(start, None, watching)
        return UnservedSpan(start, max(part.watched_until_ms or 0 for part in watched))

    def _gap_of(self, parts: Sequence[ReportedOutage]) -> int | None:
        end_times = [part.first_success_ms for part in parts if part.first_success_ms is not None]
        if not end_times:
            return None
        starts = [part.last_success_ms for part in parts if part.last_success_ms is not None]
        if self._before is not None:
            starts += [self._before + (part.ahead_ms or 0) for part in parts]
        return max(0, min(end_times) - max(starts, default=min(part.noticed_ms for part in parts)))

    def _nodes(self) -> set[int]:
        return {part.reported_by for part in self.parts}

    def _clocks_agree(self) -> bool:
        if len(self._nodes()) < 2:
            return True
        clock_offsets = [part.ahead_ms for part in self.parts if part.ahead_ms is not None]
        return len(clock_offsets) == len(self.parts) and max(clock_offsets) - min(clock_offsets) <= AGREE_MS


def _losses(seen: Sequence[ReportedOutage]) -> list[_Loss]:
    """Return the losses of one shard. Reports from before it was served again or no longer watched belong to the same loss."""
    losses: list[_Loss] = []
    for each in sorted(seen, key=lambda part: (_aligned_time(part, part.noticed_ms), part.reported_by)):
        ended_at = losses[-1].ended_at if losses else None
        if losses and (ended_at is None or _aligned_time(each, each.noticed_ms) < ended_at):
            losses[-1].parts.append(each)
        else:
            losses.append(_Loss(each, losses[-1].served_at if losses else None))
    return losses


def _by_shard(seen: Iterable[ReportedOutage]) -> list[list[ReportedOutage]]:
    by_shard: dict[tuple[str, int], list[ReportedOutage]] = defaultdict(list)
    for each in seen:
        by_shard[each.address, each.port].append(each)
    return list(by_shard.values())


def _aligned_time(part: ReportedOutage, moment: int) -> int:
    """Convert a time of a node's clock to the console's clock. Used to group reports, not for durations on one node."""
    return moment - (part.ahead_ms or 0)
