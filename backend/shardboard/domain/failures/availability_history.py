"""Availability of a database over time: for how long it was served, for how long it was not, and for how long this is unknown.

Time is divided into seconds of UTC. A second counts as served only if samples of all its parts show that all slots were served.
Measured outages are subtracted with a precision of 1 ms. All other time is unknown.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Self

from shardboard.domain.failures.outages import ReportedOutage, UnservedSpan

SETTLED_SECONDS = 5
"""Age from which a complete second is counted. Proxies report the start of an outage within 2 s."""
FINAL_SECONDS = 130
"""Age from which an incomplete second is counted. Agents keep samples for 120 s."""

Interval = tuple[int, int]
"""Start and end in ms since 1970."""

_OPEN_END = 10**15
"""End of an interval that continues, in ms."""


class ServiceState(Enum):
    """Service of a database in one second, derived from samples. A second without a state is unknown."""

    USED = "used"
    """All slots have a primary, and clients received replies."""
    IDLE = "idle"
    """All slots have a primary, and an endpoint listens. Only canary writes show whether it served."""
    UNCLEAR = "unclear"
    """All pairs have a running shard, but not all have a primary that serves, for example during a failover."""
    DOWN = "down"
    """No endpoint listens, or no shard of a pair is running."""


class TrafficChange(Enum):
    """Event about the traffic of a database."""

    STOPPED = "bdb_stop_traffic_request"
    RESUMING = "bdb_resume_traffic_request"
    RESUMED = "bdb_traffic_resumed"


@dataclass(frozen=True)
class ServiceSecond:
    """Contents of the samples of one second."""

    states: Mapping[int, ServiceState]
    """By database uid; databases with a part that did not report are missing."""
    proxies: Mapping[int, int]
    """Start of the process of each proxy that reported, in ms by the clock of its node, by node uid."""
    endpoints: Collection[tuple[int, int]] = frozenset()
    """Endpoints that these proxies served: uids of database and node."""


@dataclass(frozen=True)
class Availability:
    """Milliseconds. Their sum is the length of the counted time."""

    served_ms: int = 0
    failed_ms: int = 0
    unknown_ms: int = 0

    def __add__(self, other: Self) -> "Availability":
        return Availability(
            self.served_ms + other.served_ms, self.failed_ms + other.failed_ms, self.unknown_ms + other.unknown_ms
        )

    @property
    def percent(self) -> float | None:
        """Share of the known time in which the database was served, rounded down to five digits, so that 100 means no failure;
        None if nothing is known."""
        known = self.served_ms + self.failed_ms
        return self.served_ms * 10**7 // known / 10**5 if known else None


def countable_until(first: int, now: int, states: Collection[int], failed: Iterable[Interval] = ()) -> int:
    """Return the end of the seconds from `first` on that can be counted at `now`: those with a state, those that failed completely,
    and those whose samples can no longer arrive."""
    until, settled = max(first, now - FINAL_SECONDS), now - SETTLED_SECONDS
    lost = {t for start, end in failed for t in range(max(until, -(-start // 1000)), min(settled, end // 1000))}
    while until < settled and (until in states or until in lost):
        until += 1
    return until


def stopped_intervals(
    changes: Iterable[tuple[int, TrafficChange]], first_ms: int, *, is_stopped: bool
) -> list[Interval]:
    """Return when an administrator had stopped the traffic. `changes` are the events since `first_ms` in order, each with its time,
    and `is_stopped` is the current state. Until the endpoints serve again, the traffic counts as stopped."""
    intervals: list[Interval] = []
    for at, change in changes:
        if change is TrafficChange.STOPPED:
            intervals.append((at, _OPEN_END))
        else:  # the time of RESUMED replaces that of RESUMING
            start = intervals.pop()[0] if intervals else first_ms
            intervals.append((start, at))
    return intervals or ([(first_ms, _OPEN_END)] if is_stopped else [])


def watched_until(
    outage: ReportedOutage, seconds: Mapping[int, ServiceSecond], stopped: Iterable[Interval]
) -> int | None:
    """Return the time at which the proxy that reported an outage stopped to serve the database without having seen its end, by the
    console's clock in ms; None if it still served it when it reported last.

    A proxy that was restarted, or whose endpoint was removed in the meantime, no longer knows the outage.
    """
    node_uid, noticed = outage.reported_by, outage.noticed_ms - (outage.ahead_ms or 0)
    ends = [max(start, noticed) for start, end in stopped if end > noticed]
    confirmed = noticed
    for t in sorted(t for t in seconds if t * 1000 > noticed):
        started = seconds[t].proxies.get(node_uid)
        if started is None:
            continue
        if started > outage.noticed_ms or (outage.bdb_uid, node_uid) not in seconds[t].endpoints:
            ends.append(confirmed)
            break
        confirmed = (t + 1) * 1000
    return min(ends, default=None)


def failed_intervals(
    spans: Iterable[UnservedSpan],
    seconds: Mapping[int, ServiceSecond],
    first: int,
    last: int,
    *,
    has_canaries: bool,
    stopped: Sequence[Interval] = (),
) -> list[Interval]:
    """Return the measured outages in `first <= second < last`, without the time in which the traffic was stopped.

    An outage that has not ended continues for as long as the process that reported it keeps reporting, because a proxy that was
    restarted no longer knows it. Without canary writes, only its end shows for how long it lasted.
    """
    intervals = []
    for span in spans:
        end = span.end_ms
        if end is None and has_canaries:
            end = _last_confirmed_ms(span, seconds, last)
        if end is not None:
            intervals.append((max(span.start_ms, first * 1000), min(end, last * 1000)))
    return _without(_merged(intervals), stopped)


def states_with_traffic(
    bdb_uid: int, seconds: Mapping[int, ServiceSecond], stopped: Sequence[Interval]
) -> dict[int, ServiceState]:
    """Return the states of a database by second, without seconds in which its traffic was stopped: a closed endpoint is then not a
    failure."""
    return {
        t: second.states[bdb_uid]
        for t, second in seconds.items()
        if bdb_uid in second.states and not _length(stopped, *_second(t))
    }


def count(
    first: int,
    last: int,
    states: Mapping[int, ServiceState],
    failed: Sequence[Interval],
    *,
    has_canaries: bool,
) -> dict[str, Availability]:
    """Count `first <= second < last` of one database, by month. `failed` is the result of `failed_intervals`."""
    known = {t: state for t, state in states.items() if first <= t < last}
    lost = _merged([*failed, *(_second(t) for t, state in known.items() if state is ServiceState.DOWN)])
    served = _merged([_second(t) for t, state in known.items() if _is_served(t, state, failed, has_canaries)])
    return {month: _count(begin, end, served, lost) for month, begin, end in _months(first * 1000, last * 1000)}


def month_of(second: int) -> str:
    """Return the month of a second in UTC, such as `2026-11`."""
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m}"


def month_range(month: str) -> tuple[datetime, datetime]:
    """Return the start of a month of UTC, such as `2026-11`, and the start of the next one."""
    start = datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC)
    return start, (start + timedelta(days=32)).replace(day=1)


def _count(begin: int, end: int, served: Sequence[Interval], lost: Sequence[Interval]) -> Availability:
    failed_ms = _length(lost, begin, end)
    served_ms = _length(_merged([*served, *lost]), begin, end) - failed_ms
    return Availability(served_ms, failed_ms, end - begin - served_ms - failed_ms)


def _is_served(t: int, state: ServiceState, failed: Sequence[Interval], has_canaries: bool) -> bool:
    """Return whether clients were served in the part of a second in which no outage was measured."""
    if state is ServiceState.UNCLEAR:  # a measured outage explains why there was no primary
        return any(start < (t + 1) * 1000 and end > t * 1000 for start, end in failed)
    return state is ServiceState.USED or (state is ServiceState.IDLE and has_canaries)


def _last_confirmed_ms(span: UnservedSpan, seconds: Mapping[int, ServiceSecond], last: int) -> int | None:
    confirmed = [
        t
        for t, second in seconds.items()
        if t < last and any(second.proxies.get(node, noticed + 1) <= noticed for node, noticed in span.watching)
    ]
    return (max(confirmed) + 1) * 1000 if confirmed else None


def _months(begin: int, end: int) -> list[tuple[str, int, int]]:
    """Divide an interval at the months of UTC."""
    parts = []
    while begin < end:
        month = month_of(begin // 1000)
        part_end = min(end, round(month_range(month)[1].timestamp()) * 1000)
        parts.append((month, begin, part_end))
        begin = part_end
    return parts


def _second(t: int) -> Interval:
    return t * 1000, (t + 1) * 1000


def _merged(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the union of intervals as separate intervals in order."""
    merged: list[Interval] = []
    for start, end in sorted(each for each in intervals if each[0] < each[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _without(intervals: Iterable[Interval], removed: Iterable[Interval]) -> list[Interval]:
    """Return the parts of intervals that are not in `removed`."""
    parts = list(intervals)
    for begin, end in removed:
        parts = [
            part
            for start, stop in parts
            for part in ((start, min(stop, begin)), (max(start, end), stop))
            if part[0] < part[1]
        ]
    return parts


def _length(intervals: Iterable[Interval], begin: int, end: int) -> int:
    return sum(max(0, min(stop, end) - max(start, begin)) for start, stop in intervals)
