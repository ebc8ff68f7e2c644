"""States of consoles, reasons for which the leader changes, and origins of their web UI."""

import re
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
    MORE_AGENTS = "more_agents"
    """The former leader released the lease because this console reaches more agents."""


REASONS = {
    LeaderChange.STARTED: "the store had no leader",
    LeaderChange.STOPPED: "the former leader was stopped",
    LeaderChange.EXPIRED: "the former leader did not renew its lease",
    LeaderChange.HANDED_OVER: "a user requested it",
    LeaderChange.MORE_AGENTS: "it reaches more agents than the former leader",
}

_URL = re.compile(r"(?P<scheme>https?)://(?P<host>[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?(?:/.*)?")
_DEFAULT_PORTS = {"http": 80, "https": 443}


def origin_of(address: str) -> str | None:
    """Return the origin of a console's address as browsers send it; None if the address is not a URL of a web site."""
    match = _URL.fullmatch(address.lower())
    if match is None:
        return None
    origin = f"{match['scheme']}://{match['host']}"
    port = int(match["port"] or 0)
    return f"{origin}:{port}" if port and port != _DEFAULT_PORTS[match["scheme"]] else origin
