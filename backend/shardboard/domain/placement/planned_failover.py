"""Planned failover in cluster mode, which is an election: when it can be won immediately, how long it may pause writes, and when a
failed one may be requested again."""

from collections.abc import Mapping
from dataclasses import dataclass, field

FAR_BEHIND = 8 * 2**20
"""Maximum number of bytes that a replica may lack: the primary pauses writes until they have arrived."""
ENGINE_SECONDS = 5.0
"""Default time for which the engine lets a planned failover pause writes."""
REPLICA_MS, CRON_MS, MARGIN_MS = 200, 100, 50


@dataclass(frozen=True)
class ReplicationState:
    """State reported by the engines immediately before a planned failover."""

    answers: bool
    """Whether the replica and the current primary respond."""
    is_primary: bool = False
    """Whether the replica is already the primary."""
    linked: bool = False
    """Whether the replica is connected to the current primary and has all data except what is in transit."""
    lag_bytes: int = 0
    """Bytes that the replica lacks."""
    epoch: int = 0
    """The newest epoch that the replica knows."""
    epochs: Mapping[int, int] = field(default_factory=dict)
    """The newest epochs that the responding primaries know, by uid."""
    voters: int = 0
    """Number of primaries with slots; 0 outside of cluster mode, which has no votes."""


@dataclass(frozen=True)
class Limits:
    """Time limits of a planned failover in milliseconds for replica and primary."""

    replica: int
    primary: int
    late: int
    """Maximum additional delay until the replica detects the timeout."""


def obstacle(state: ReplicationState) -> str:
    """Return why a planned failover would pause writes without success, as a predicate about the replica; empty if it would succeed
    immediately."""
    if not state.answers:
        return "does not respond, or its primary does not respond"
    if not state.linked:
        return "is not in sync"
    if state.lag_bytes > FAR_BEHIND:
        return f"is {state.lag_bytes / 2**20:.0f} MiB behind its primary"
    if state.voters and len(state.epochs) <= state.voters // 2:
        return f"would not win a majority: only {len(state.epochs)} of {state.voters} primaries respond"
    # A primary votes once per epoch, and not for an epoch older than its own. A replica requests votes for the epoch after the
    # newest that it knows. If a primary knows a newer one, its vote is lost, and the replica does not request it again for a while.
    if state.epochs and max(state.epochs.values()) > state.epoch:
        return "does not know the newest epoch yet"
    return ""


def limits(hz: int) -> Limits:
    """Return the time limits. The primary pauses writes for longer than its replica tries: if a replica won after its primary had
    resumed, the writes in between would be lost. Both check the time in their cron, which runs `hz` times per second."""
    cron = max(CRON_MS, 1000 // hz)
    return Limits(REPLICA_MS, REPLICA_MS + cron + MARGIN_MS, cron - CRON_MS)


def retry_delay(attempts: int, *, bounded: bool, node_timeout_ms: int) -> float:
    """Return the seconds until a failed request may be repeated. `bounded` states that the engine accepted the time limits, as 8.1
    and later do. These engines start a new election with each request. Older engines do not request votes again within four node
    timeouts (at least 8 s) after an election, and a request in that time pauses writes in vain."""
    if bounded:
        return float(min(30, 2**attempts))
    return max(8.0, 4 * node_timeout_ms / 1000) + 1


def failure_reason(*, caught_up: bool, seconds: float) -> str:
    """Return why a planned failover did not succeed."""
    missing = "win the votes of a majority of the primaries" if caught_up else "receive all writes of its primary"
    return f"it did not {missing} within {seconds:.2g} s"
