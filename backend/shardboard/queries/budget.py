"""How much of the past one reply may hold, and all replies that are being made together: memory is counted before it is taken.

What is too much is refused with a question that would fit, and not cut: half a chart that looks whole helps nobody.
"""

import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from shardboard.domain import intervals
from shardboard.domain.intervals import RESOLUTIONS, Resolution
from shardboard.errors import BadRequest, Unavailable
from shardboard.state.metrics import Weight

MAX_INTERVALS = 20_000
"""Of one object. Its text is made in one piece."""
MAX_VALUES = 20_000_000
"""Of all objects in one reply, four bytes each: all that the reference keeps of 1,024 shards is 18 million."""
MAX_STORED = 2**31
"""Bytes to be read for it."""
MAX_HELD = 5 * MAX_VALUES
"""Values of all replies that are being made or sent."""


@dataclass(frozen=True)
class Question:
    """What was asked for: so many objects with so many metrics each; None where every stored value is shown."""

    resolutions: Sequence[Resolution]
    weights: Mapping[int, Weight]
    """Of every resolution in the span, by step."""
    last: int
    shown: int | None

    def values(self, steps: Sequence[int]) -> int:
        if self.shown is None:
            return sum(self.weights[step].stored for step in steps) // 4
        return sum(self.weights[step].frames for step in steps) * self.shown

    def frames(self, steps: Sequence[int]) -> int:
        return sum(self.weights[step].frames for step in steps)

    def share(self, steps: Sequence[int]) -> float:
        """Of what one reply may hold."""
        stored = sum(self.weights[step].stored for step in steps)
        return max(self.frames(steps) / MAX_INTERVALS, self.values(steps) / MAX_VALUES, stored / MAX_STORED)


def insist(question: Question) -> int:
    """How many values the answer holds. Raises BadRequest when they are too many."""
    steps = [resolution.step for resolution in question.resolutions]
    share = question.share(steps)
    if share <= 1:
        return question.values(steps)
    fewer = [f"stime={_moment(_latest_start(question, int(question.frames(steps) / share)))} or later"]
    coarser = (each for each in RESOLUTIONS if each.step >= min(steps) and steps != [each.step])
    if (fits := next((each for each in coarser if question.share([each.step]) <= 1), None)) is not None:
        fewer.insert(0, f"interval={fits.name}")
    sentence = (
        f"These are {question.frames(steps)} intervals with {question.values(steps)} values, more than one reply holds "
        f"({MAX_INTERVALS} and {MAX_VALUES}). Ask with {', or with '.join(fewer)}."
    )
    raise BadRequest("too_much", sentence, field="stime")


def insist_on_points(points: int, each: int) -> int:
    """The same for a chart of `points` with so many values `each`."""
    if points * each <= MAX_VALUES:
        return points * each
    fits = MAX_VALUES // each
    advice = f"Ask with max_points={fits}" if fits else "Ask for fewer metrics or uids"
    sentence = f"This chart has {points * each} values, more than one reply holds ({MAX_VALUES}). {advice}."
    raise BadRequest("too_much", sentence, field="max_points")


class Held:
    """Counts what is in memory, until it is gone from there, however the reply ended."""

    def __init__(self) -> None:
        self._values = 0
        self._lock = threading.Lock()

    def count(self, values: int, answer: object) -> None:
        """The values that an answer will hold, from now on until it is gone. Raises Unavailable when others hold too many."""
        with self._lock:
            if self._values and self._values + values > MAX_HELD:
                raise Unavailable("busy", "Too many large replies are being made; try again in a few seconds.")
            self._values += values
        weakref.finalize(answer, self._give_back, values)

    def _give_back(self, values: int) -> None:
        with self._lock:
            self._values -= values


held = Held()


def _latest_start(question: Question, frames: int) -> int:
    """From when on there are at most so many intervals."""
    steps = [resolution.step for resolution in question.resolutions]
    early, late = min(question.weights[step].first for step in steps if question.weights[step].frames), question.last
    while early < late:
        middle = (early + late) // 2
        if sum(intervals.points(middle, question.last, step) for step in steps) <= frames:
            late = middle
        else:
            early = middle + 1
    return early


def _moment(t: int) -> str:
    return datetime.fromtimestamp(t, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
