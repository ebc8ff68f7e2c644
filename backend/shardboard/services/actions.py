"""Orders for the loops: adding one is all that a handler does towards a long operation."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.state.actions import Action


def start(
    session: AsyncSession,
    name: str,
    *,
    object_uid: int,
    description: str,
    originator: str,
    deadline: timedelta,
    object_type: str = "bdb",
    params: dict[str, Any] | None = None,
) -> Action:
    """Queue an action; `name` is its state machine (SMCreateBDB, …). After `deadline` the loop gives up and cleans up."""
    now = datetime.now(UTC)
    action = Action(
        uid=str(uuid.uuid4()),
        name=name,
        object_type=object_type,
        object_uid=object_uid,
        status="queued",
        description=description,
        originator=originator,
        params=params or {},
        steps=[],
        created_at=now,
        deadline_at=now + deadline,
    )
    session.add(action)
    return action
