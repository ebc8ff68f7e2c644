"""A planned handover in cluster mode is an election: when one can be won at once, how long it may hold writes back, and when
one that failed may be ordered again."""

from collections.abc import Mapping
from dataclasses import dataclass, field

FAR_BEHIND = 8 * 2**20
"""Bytes of a primary's writes that its replica may lack: the primary holds writes back until they have arrived."""
ENGINE_SECONDS = 5.0
"""How long the engine itself lets a handover hold writes back."""
REPLICA_MS, CRON_MS, MARGIN_MS = 200, 100, 50


@dataclass(frozen=True)
class Stand:
    """What the engines say just before."""

    answers: bool
    """The replica and who leads."""
    leads: bool = False
    """The replica does already."""
    linked: bool = False
    """The replica copies from who leads, and has everything but what is on its way."""
    behind: int = 0
    """Bytes."""
    epoch: int = 0
    """The newest election that the replica has heard of."""
    epochs: Mapping[int, int] = field(default_factory=dict)
    """The same of the primaries that answer, by uid."""
    voters: int = 0
    """Primaries that hold slots; 0 outside cluster mode, where nobody votes."""


@dataclass(frozen=True)
class Limits:
    """How long a handover may last, in ms, as replica and primary are told."""

    replica: int
    primary: int
    late: int
    """By how much the replica may notice it later than its order is waited for."""


def hindrance(stand: Stand) -> str:
    """Why an order would only hold writes back, as what may be said of the replica; empty when it would be won at once."""
    if not stand.answers:
        return "does not answer, or its primary does not"
    if not stand.linked:
        return "is not in sync"
    if stand.behind > FAR_BEHIND:
        return f"is {stand.behind / 2**20:.0f} MiB behind its primary"
    if stand.voters and len(stand.epochs) <= stand.voters // 2:
        return f"would get no majority: only {len(stand.epochs)} of {stand.voters} primaries answer"
    # A primary votes once in an epoch, and for no epoch that it has left behind. A replica asks for votes in the one after the
    # newest that it knows of: when a primary knows of a newer one, its vote is lost, and the replica does not ask again for long.
    if stand.epochs and max(stand.epochs.values()) > stand.epoch:
        return "has not heard of the newest election yet"
    return ""


def limits(hz: int) -> Limits:
    """The primary holds writes back for longer than its replica tries: one that won after its primary had gone on would lose
    what was written meanwhile. Both look at the time with their cron, at the pace of `hz`."""
    cron = max(CRON_MS, 1000 // hz)
    return Limits(REPLICA_MS, REPLICA_MS + cron + MARGIN_MS, cron - CRON_MS)


def again_after(tries: int, *, bounded: bool, node_timeout_ms: int) -> float:
    """Seconds until an order that failed may be repeated. `bounded`: the engine took the limits, and so is one (8.1 or newer) that
    begins a new election with each order. An older one asks for no votes for four node timeouts after it did, at least 8 s, and
    holds writes back for nothing when it is told to."""
    if bounded:
        return float(min(30, 2**tries))
    return max(8.0, 4 * node_timeout_ms / 1000) + 1


def why(*, caught_up: bool, seconds: float) -> str:
    """Of a handover that did not come about."""
    missing = "the votes of a majority of the primaries" if caught_up else "all that its primary had written"
    return f"it did not have {missing} within {seconds:.2g} s"
