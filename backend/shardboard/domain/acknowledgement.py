"""Acknowledgement of an active alarm: a user takes care of it, and receivers of notifications are not reminded."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Acknowledgement:
    """It ends with the alarm, or at `until`."""

    username: str
    """The user who acknowledged the alarm."""
    time: datetime
    until: datetime | None
    """None: it is valid until the alarm ends."""
    note: str
    assigned_to: str
    """Username of the user who takes care of the alarm. The assignment remains when the acknowledgement expires."""

    def is_valid(self, now: datetime) -> bool:
        return self.until is None or now < self.until

    def stored(self) -> dict[str, Any]:
        """Return the JSON that `parse` reads."""
        until = self.until.isoformat() if self.until is not None else None
        return {**vars(self), "time": self.time.isoformat(), "until": until}

    @classmethod
    def parse(cls, stored: Mapping[str, Any]) -> "Acknowledgement":
        until = stored["until"]
        return cls(
            username=stored["username"],
            time=datetime.fromisoformat(stored["time"]),
            until=datetime.fromisoformat(until) if until is not None else None,
            note=stored["note"],
            assigned_to=stored["assigned_to"],
        )


def expired_between(acknowledgement: Acknowledgement | None, start: datetime, end: datetime) -> bool:
    """Return whether an acknowledgement expired in `start < time <= end`."""
    return acknowledgement is not None and acknowledgement.until is not None and start < acknowledgement.until <= end
