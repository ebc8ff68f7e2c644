"""Search for the highest rate at which a latency stays within a limit.

Pure: the next step follows from the measured steps alone, so a search continues after any interruption.

1. A closed loop, in which clients wait for replies, measures the peak. Waiting keeps its latency low, so it is only the start.
2. Open loops bisect the rate, from the peak downwards or, if the peak meets the limit, upwards. A step whose seconds disagree is
   repeated, and two of three measurements decide.
3. The found rate is measured again. If most of these confirmation runs miss the limit, the search continues below this rate.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log2
from statistics import median
from typing import Any, Literal

from shardboard.domain.text import plural

LimitName = Literal["average_ms", "p99_ms"]
Purpose = Literal["peak", "search", "confirmation"]
LimitedBy = Literal["database", "generator", "connections"]

PRECISION = 0.02
"""Relative distance of a met rate and a missed one at which the bisection ends."""
GROWTH = 1.5
"""Factor to the next rate while no rate has missed the limit."""
LEAST_SHARE = 1 / 1000
"""Share of the peak below which no rate is tried."""
MIN_RATE, MAX_RATE = 1.0, 1e9
MAX_STEPS = 60
_LIMIT_TEXTS: Mapping[str, str] = {"average_ms": "an average latency", "p99_ms": "a P99 latency"}
_LIMITED_BY_TEXTS: Mapping[str | None, str] = {
    "generator": "The load generator, and not the database, missed the next higher rate. Use more load nodes or threads.",
    "connections": "At the next higher rate, all connections were waiting for replies, which arrived within the limit. "
    "With more connections or a longer pipeline, the database may serve a higher rate.",
}


@dataclass(frozen=True)
class Target:
    limit: LimitName
    ms: float
    confirmations: int


@dataclass(frozen=True)
class PlannedStep:
    purpose: Purpose
    rate: float | None


@dataclass(frozen=True)
class Step:
    """A measured step. `rate` is None for the closed loop."""

    purpose: Purpose
    rate: float | None
    ops_per_second: float
    average_ms: float | None
    p99_ms: float | None
    met: bool
    steady: bool
    """Whether most seconds agree with `met`."""
    limited_by: LimitedBy | None
    """Why the limit was missed; None if it was met."""


@dataclass(frozen=True)
class Bracket:
    """The highest rate that met the limit (0: none) below the lowest one that missed it (None: none)."""

    low: float
    high: float | None
    undecided: float | None
    """Rate that must be measured again."""

    @property
    def is_narrow(self) -> bool:
        return self.high is not None and self.low > 0 and self.high <= self.low * (1 + PRECISION)


def next_step(steps: Sequence[Step], confirmations: int) -> PlannedStep | None:
    """Return the step that follows the measured ones; None if the search has ended."""
    if not steps:
        return PlannedStep("peak", None)
    peak = steps[0].ops_per_second
    if len(steps) >= MAX_STEPS or peak <= 0:
        return None
    bracket = bracket_of(steps, confirmations)
    if bracket.undecided is not None:
        return PlannedStep("search", bracket.undecided)
    if bracket.is_narrow or bracket.low >= MAX_RATE:
        is_complete = len(_confirmations(steps, bracket.low)) >= confirmations
        return None if is_complete else PlannedStep("confirmation", bracket.low)
    rate = _rate_between(bracket, peak)
    return None if rate < max(peak * LEAST_SHARE, MIN_RATE) else PlannedStep("search", rate)


def _rate_between(bracket: Bracket, peak: float) -> float:
    upwards = bracket.low * GROWTH if bracket.low else peak
    rate = upwards if bracket.high is None else (bracket.low + bracket.high) / 2
    return min(MAX_RATE, float(f"{rate:.4g}"))


def bracket_of(steps: Sequence[Step], confirmations: int) -> Bracket:
    """Return what the steps have shown."""
    verdicts = {rate: _verdict(_at(steps, rate), confirmations) for rate in _rates(steps)}
    high = min((rate for rate, met in verdicts.items() if met is False), default=None)
    low = max((rate for rate, met in verdicts.items() if met and (high is None or rate < high)), default=0.0)
    return Bracket(low, high, next((rate for rate, met in verdicts.items() if met is None), None))


def _verdict(steps: Sequence[Step], confirmations: int) -> bool | None:
    """Return whether a rate meets the limit; None if it must be measured again."""
    confirmed = [step for step in steps if step.purpose == "confirmation"]
    if confirmed:
        return 2 * sum(not step.met for step in confirmed) < confirmations
    if len(steps) == 1 and not steps[0].steady:
        return None
    votes = 2 * sum(step.met for step in steps)
    return votes > len(steps) if votes != len(steps) else None


def remaining(steps: Sequence[Step], confirmations: int) -> int:
    """Return the estimated number of further steps."""
    if not steps:
        return 2 + ceil(log2(1 / PRECISION)) + confirmations
    if next_step(steps, confirmations) is None:
        return 0
    bracket = bracket_of(steps, confirmations)
    confirmed = len(_confirmations(steps, bracket.low))
    if bracket.is_narrow:
        return max(1, confirmations - confirmed)
    if bracket.high is None or not bracket.low:
        return 1 + ceil(log2(1 / PRECISION)) + confirmations
    return ceil(log2((bracket.high / bracket.low - 1) / PRECISION)) + confirmations


def result(steps: Sequence[Step], target: Target) -> dict[str, Any]:
    """Return the result of a search, which may have been stopped early."""
    confirmations = target.confirmations
    bracket = bracket_of(steps, confirmations)
    confirmed = _confirmations(steps, bracket.low)
    best = _typical([step for step in confirmed or _at(steps, bracket.low) if step.met], target.limit)
    is_confirmed = len(confirmed) >= confirmations
    reply = {
        "limit": target.limit,
        "ms": target.ms,
        "rate": bracket.low or None,
        "ops_per_second": best.ops_per_second if best else None,
        "average_ms": best.average_ms if best else None,
        "p99_ms": best.p99_ms if best else None,
        "confirmations": len(confirmed),
        "confirmed": is_confirmed,
        "limited_by": _limited_by(_at(steps, bracket.high)),
        "curve": [_point(_at(steps, rate), rate, confirmations) for rate in sorted(_rates(steps))],
    }
    return {**reply, "text": _text(reply)}


def _limited_by(steps: Sequence[Step]) -> LimitedBy | None:
    """Return the most frequent reason of the measurements that missed the limit."""
    reasons = Counter(step.limited_by for step in steps if not step.met)
    return reasons.most_common(1)[0][0] if reasons else None


def _typical(steps: Sequence[Step], limit: LimitName) -> Step | None:
    """Return the step with the median latency."""
    ordered = sorted(steps, key=lambda step: getattr(step, limit) or 0.0)
    return ordered[(len(ordered) - 1) // 2] if ordered else None


def _point(steps: Sequence[Step], rate: float, confirmations: int) -> list[Any]:
    return [
        rate,
        *(
            median(values) if (values := [v for step in steps if (v := getattr(step, name)) is not None]) else None
            for name in ("average_ms", "p99_ms")
        ),
        bool(_verdict(steps, confirmations)),
    ]


def _text(reply: Mapping[str, Any]) -> str:
    limit = f"{_LIMIT_TEXTS[reply['limit']]} of at most {reply['ms']:g} ms"
    if reply["rate"] is None:
        text = f"No measured rate had {limit}."
    elif reply["confirmed"]:
        runs = plural(reply["confirmations"], "confirmation run")
        text = f"Highest rate with {limit}: {reply['rate']:,.0f} requests/s, in {runs}."
    else:
        text = f"Highest rate so far with {limit}: {reply['rate']:,.0f} requests/s. It was not confirmed."
    return f"{text} {_LIMITED_BY_TEXTS.get(reply['limited_by'], '')}".rstrip()


def _rates(steps: Sequence[Step]) -> list[float]:
    return list(dict.fromkeys(step.rate for step in steps if step.rate is not None))


def _at(steps: Sequence[Step], rate: float | None) -> list[Step]:
    return [step for step in steps if step.rate is not None and step.rate == rate]


def _confirmations(steps: Sequence[Step], rate: float) -> list[Step]:
    return [step for step in _at(steps, rate) if step.purpose == "confirmation"]
