"""Limits on the metrics in one response, and in all responses under construction: memory is counted before it is allocated.

A request for too much is rejected with a suggestion that fits. Truncated data could be mistaken for complete data.
"""

import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from shardboard.domain.metrics import intervals
from shardboard.domain.metrics.intervals import RESOLUTIONS, Resolution
from shardboard.errors import BadRequest, Unavailable
from shardboard.state.metrics.metric_history import FrameStats

MAX_INTERVALS = 20_000
"""Maximum number of intervals per object, because the text of an object is built in one piece."""
MAX_VALUES = 20_000_000
"""Maximum number of values in one response, four bytes each. The REST reference keeps 18 million for 1,024 shards."""
MAX_STORED = 2**31
"""Maximum number of stored bytes to read for one response."""
MAX_VALUES_IN_MEMORY = 5 * MAX_VALUES
"""Maximum number of values of all responses that are being built or sent."""


@dataclass(frozen=True)
class MetricQuery:
    """A metrics request: a number of objects with a number of metrics each. `shown` is None if all stored values are returned."""

    resolutions: Sequence[Resolution]
    weights: Mapping[int, FrameStats]
    """Weights of all resolutions in the span, by step."""
    last: int
    values_per_interval: int | None

    def values(self, steps: Sequence[int]) -> int:
        if self.values_per_interval is None:
            return sum(self.weights[step].stored for step in steps) // 4
        return sum(self.weights[step].frames for step in steps) * self.values_per_interval

    def frames(self, steps: Sequence[int]) -> int:
        return sum(self.weights[step].frames for step in steps)

    def share_of_limit(self, steps: Sequence[int]) -> float:
        """Return the share of the limits for one response; more than 1 is too much."""
        stored_bytes = sum(self.weights[step].stored for step in steps)
        return max(self.frames(steps) / MAX_INTERVALS, self.values(steps) / MAX_VALUES, stored_bytes / MAX_STORED)


def check_size(query: MetricQuery) -> int:
    """Return the number of values in the response. Raises BadRequest if there are too many."""
    steps = [resolution.step for resolution in query.resolutions]
    share = query.share_of_limit(steps)
    if share <= 1:
        return query.values(steps)
    suggestions = [f"stime={_moment(_latest_start(query, int(query.frames(steps) / share)))} or later"]
    coarser = (each for each in RESOLUTIONS if each.step >= min(steps) and steps != [each.step])
    if (resolution := next((each for each in coarser if query.share_of_limit([each.step]) <= 1), None)) is not None:
        suggestions.insert(0, f"interval={resolution.name}")
    message = (
        f"The request covers {query.frames(steps)} intervals with {query.values(steps)} values; one response can hold "
        f"{MAX_INTERVALS} and {MAX_VALUES}. Use {', or '.join(suggestions)}."
    )
    raise BadRequest("too_much", message, field="stime")


def check_points(points: int, each: int) -> int:
    """Return the number of values in a chart of `points` points with `each` values. Raises BadRequest if there are too many."""
    if points * each <= MAX_VALUES:
        return points * each
    max_count = MAX_VALUES // each
    advice = f"Use max_points={max_count}" if max_count else "Request fewer metrics or uids"
    message = f"The chart has {points * each} values; one response can hold {MAX_VALUES}. {advice}."
    raise BadRequest("too_much", message, field="max_points")


class ResponseMemory:
    """Number of values in memory for responses. Values are released when the response is garbage-collected."""

    def __init__(self) -> None:
        self._values = 0
        self._lock = threading.Lock()

    def count(self, values: int, answer: object) -> None:
        """Count the values that `answer` will hold until it is released. Raises Unavailable if other responses hold too many."""
        with self._lock:
            if self._values and self._values + values > MAX_VALUES_IN_MEMORY:
                raise Unavailable("busy", "Too many large responses are in progress; try again in a few seconds.")
            self._values += values
        weakref.finalize(answer, self._release, values)

    def _release(self, values: int) -> None:
        with self._lock:
            self._values -= values


response_memory = ResponseMemory()


def _latest_start(query: MetricQuery, frames: int) -> int:
    """Return the earliest start from which there are at most `frames` intervals."""
    steps = [resolution.step for resolution in query.resolutions]
    early, late = min(query.weights[step].first for step in steps if query.weights[step].frames), query.last
    while early < late:
        middle = (early + late) // 2
        if sum(intervals.points(middle, query.last, step) for step in steps) <= frames:
            late = middle
        else:
            early = middle + 1
    return early


def _moment(t: int) -> str:
    return datetime.fromtimestamp(t, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
