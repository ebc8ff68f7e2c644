"""Writing the log. Call it in the transaction that makes the change."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.state.events import Event


def record(
    session: AsyncSession,
    type_: str,
    description: str,
    *,
    source: str,
    severity: str = "INFO",
    originator: str = "system",
    bdb_uid: int | None = None,
    node_uid: int | None = None,
    shard_uid: int | None = None,
    action_uid: str | None = None,
    details: dict[str, Any] | None = None,
) -> Event:
    """Add one event: `description` is a past-tense sentence, `source` is cluster, node, bdb or shard."""
    event = Event(
        time=datetime.now(UTC),
        type=type_,
        severity=severity,
        source=source,
        description=description,
        originator=originator,
        bdb_uid=bdb_uid,
        node_uid=node_uid,
        shard_uid=shard_uid,
        action_uid=action_uid,
        details=details or {},
    )
    session.add(event)
    return event
