"""Messages in which consoles on the same PostgreSQL announce their changes to each other, sent with NOTIFY.

A message is a JSON array of three values: the id of the console; the changes as pairs of kind and uid, or null for "everything
changed"; and the uid of the newest event of the transaction, or 0.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

CHANNEL = "shardboard"
MAX_BYTES = 7900
"""Maximum size of a message; PostgreSQL accepts 7,999 bytes."""
MAX_MESSAGES = 64
"""Maximum number of messages of one transaction. If more are needed, "everything changed" is sent instead."""

Change = tuple[str, Any]
"""Kind and uid of a row."""

_NOTIFY = "SELECT pg_notify($1, message) FROM unnest($2::text[]) AS message"


@dataclass(frozen=True)
class Notification:
    """A received message."""

    console_id: str
    changes: Sequence[Change] | None
    """None: everything may have changed."""
    newest_event: int


def encode(console_id: str, changes: Iterable[Change]) -> list[str]:
    """Return the messages that announce these changes."""
    ordered = sorted(changes, key=str)
    newest_event = max((uid for kind, uid in ordered if kind == "event"), default=0)
    head, tail = f"[{json.dumps(console_id)},", f",{newest_event}]"
    available = MAX_BYTES - len(head) - len(tail) - len("[]")
    parts: list[list[str]] = []
    size = available
    for change in ordered:
        item = json.dumps(change, separators=(",", ":"))
        size += len(item) + 1
        if size > available:
            parts.append([])
            size = len(item)
        parts[-1].append(item)
    if len(parts) > MAX_MESSAGES:
        return [f"{head}null{tail}"]
    return [f"{head}[{','.join(items)}]{tail}" for items in parts]


def decode(message: str) -> Notification:
    """Parse a message. One in another format, such as that of a later release, means that everything may have changed."""
    try:
        console_id, changes, newest_event = json.loads(message)
        parsed = None if changes is None else [(str(kind), uid) for kind, uid in changes]
        return Notification(str(console_id), parsed, int(newest_event))
    except (ValueError, TypeError):
        return Notification("", None, 0)


async def notify(session: AsyncSession, console_id: str, changes: Iterable[Change]) -> None:
    """Announce these changes to other consoles when the transaction commits."""
    if messages := encode(console_id, changes):
        connection = await session.connection()
        await connection.exec_driver_sql(_NOTIFY, (CHANNEL, messages))
