"""Retries of failed actions with increasing delays, and one event per reason instead of one per attempt."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.parameters import Retried
from shardboard.domain import backoff
from shardboard.domain.cluster.actions import ActionName, ActionStatus
from shardboard.state.alerting import events
from shardboard.state.alerting.events import record
from shardboard.state.cluster import actions
from shardboard.state.cluster.actions import Action


def should_retry(earlier: Sequence[Action], name: ActionName, situation: Any) -> bool:
    """Return whether to schedule `name` again. `earlier` are the object's actions, newest first. `situation` is compared with
    the situation of the last attempt: if it has changed, there is no delay.
    """
    failed = _failures(earlier, name)
    if not failed or Retried.parse(failed[0]).situation != situation:
        return True
    last_end = failed[0].finished_at or failed[0].created_at
    return datetime.now(UTC) >= last_end + timedelta(seconds=backoff.wait(len(failed)))


async def record_failure(
    session: AsyncSession, action: Action, type_: str, description: str, reason: str, *, source: str
) -> None:
    """Record an event of severity ERROR about the action's database. A further attempt that fails for the same reason only raises
    its count.
    """
    name = ActionName(action.current_name)
    attempts = await actions.list_attempts_for_bdb(session, action.object_uid, name)
    earlier_attempts = [each for each in attempts if each.uid != action.uid]
    previous = await events.newest(session, type_, bdb_uid=action.object_uid)
    if previous is not None and previous.details.get("reason") == reason and _failures(earlier_attempts, name):
        previous.details = {**previous.details, "attempts": previous.details["attempts"] + 1}
        return
    record(
        session,
        type_,
        description,
        source=source,
        severity="ERROR",
        originator=action.originator,
        bdb_uid=action.object_uid,
        action_uid=action.uid,
        details={"reason": reason, "attempts": 1},
    )


def _failures(earlier: Sequence[Action], name: ActionName) -> list[Action]:
    """Return the latest consecutive failures, newest first."""
    return list(
        takewhile(
            lambda action: action.status == ActionStatus.FAILED, (each for each in earlier if each.current_name == name)
        )
    )
