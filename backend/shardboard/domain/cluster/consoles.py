"""States of consoles, and reasons for which the leader changes."""

from enum import StrEnum

LOST_SECONDS = 8.0
"""Time without a sign of life after which a console counts as lost."""


class ConsoleStatus(StrEnum):
    RUNNING = "running"
    STOPPED = "stopped"
    """It was stopped by a signal."""
    LOST = "lost"


class LeaderChange(StrEnum):
    STARTED = "started"
    """The store had no leader, or the same console led before."""
    STOPPED = "stopped"
    """The former leader was stopped by a signal."""
    EXPIRED = "expired"
    """The former leader no longer renewed its lease."""
    HANDED_OVER = "handed_over"
    """A user requested it."""


REASONS = {
    LeaderChange.STARTED: "the store had no leader",
    LeaderChange.STOPPED: "the former leader was stopped",
    LeaderChange.EXPIRED: "the former leader did not renew its lease",
    LeaderChange.HANDED_OVER: "a user requested it",
}
