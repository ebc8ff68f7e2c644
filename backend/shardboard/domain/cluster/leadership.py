"""Leadership among the consoles of one store: when a console may take over, and until when it may act.

A leader renews its lease by increasing a counter in the store. Another console takes over after it has seen an unchanged counter
for LEASE_SECONDS by the local clock. No clocks of different machines are compared, so wrong or changing clocks do no harm.

The leader counts ACT_SECONDS from the moment before it sent its last successful renewal. Others count LEASE_SECONDS from the moment
after they received that renewal's value. Therefore, the leader stops acting before another console can take over.
"""

from dataclasses import dataclass, replace

LEASE_SECONDS = 1.4
ACT_SECONDS = 1.2
"""Shorter than LEASE_SECONDS by more than clocks of two machines can drift apart in this time."""
RENEW_SECONDS = 0.3
WATCH_SECONDS = 0.15
"""Interval at which the other consoles read the lease."""
SUCCESSOR_SECONDS = 2.0
"""Time for the chosen successor to take over a released lease, before any other console does."""
NEWER_SECONDS = 2.0
"""Time for consoles of the newest release to take over, before those of the release before do."""
MAX_TERM_LEAD = 1_000_000
"""Maximum difference by which the term at an agent can exceed the term in the store. A faulty agent must not exhaust the terms."""


@dataclass(frozen=True)
class Lease:
    """The lease as it is in the store."""

    term: int
    console_id: str
    """Console that has the lease or had it last; empty at first."""
    renewals: int
    released: bool
    successor: str | None = None
    """Console to which the leader shall release the lease or has released it."""


class LeaseWatch:
    """Knowledge of one console about the lease, from reading it repeatedly."""

    def __init__(self, console_id: str) -> None:
        self._console_id = console_id
        self.lease: Lease | None = None
        self._first_read = 0.0
        self.unchanged_seconds = 0.0
        """Time for which the lease is known not to have changed."""
        self.leader_is_alive = False
        """Whether another console has renewed the lease since this console started to watch."""
        self.is_outdated = False
        """Whether a newer release than that of this console has migrated the store."""

    def record(self, lease: Lease, *, sent: float, received: float) -> None:
        """Add a reading, with the times before the query was sent and after the reply was received."""
        if self.lease is None or lease != replace(self.lease, successor=lease.successor):
            self.leader_is_alive = self.lease is not None and not lease.released
            self._first_read, self.unchanged_seconds = received, 0.0
        else:
            self.unchanged_seconds = max(self.unchanged_seconds, sent - self._first_read)
        self.lease = lease

    def reset(self) -> None:
        """Start again, at another server of the store: its lease may be older than what was read at the previous one."""
        self.lease, self.unchanged_seconds, self.leader_is_alive = None, 0.0, False

    @property
    def may_claim(self) -> bool:
        """Whether a console that does not lead may take over the lease it has read.

        Its own lease is that of an earlier tenure, which has ended: only one process at a time uses a console ID.
        """
        lease = self.lease
        if lease is None:
            return False
        if lease.console_id == self._console_id and not lease.released:
            return True
        if lease.released and lease.successor == self._console_id:
            return True
        delay = NEWER_SECONDS if self.is_outdated else 0.0
        if not lease.released:
            return self.unchanged_seconds > LEASE_SECONDS + delay
        return self.unchanged_seconds >= delay + (SUCCESSOR_SECONDS if lease.successor is not None else 0.0)


def may_raise(own_term: int, seen_term: int) -> bool:
    """Return whether the leader may adopt a term above one that an agent has reported."""
    return own_term <= seen_term <= own_term + MAX_TERM_LEAD
