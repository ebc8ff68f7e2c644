"""Claim, load, act, apply: runs the actions in the store, each with the stepper registered for its name.

An action runs under a lease. A step loads what it needs, calls machines while no session is open, and applies its outcome only if
its lease token still holds. Only the leading console runs actions. When it starts to lead, it releases all leases: earlier leaders
can no longer write to the store, and the actions continue from the actual state of the machines.
"""

import asyncio
import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.parameters import Parameters, Unreachable, write
from shardboard.domain.cluster.actions import ActionStatus, StepStatus
from shardboard.domain.text import as_sentence
from shardboard.errors import AgentRefused, AgentUnreachable
from shardboard.kit.bus import Bus
from shardboard.kit.tasks import Tasks
from shardboard.kit.tenure import LostLeadership
from shardboard.state.cluster import actions, consoles
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster.actions import Action
from shardboard.store.db import Store
from shardboard.store.transient_errors import describe_error, is_transient

log = logging.getLogger(__name__)

LEASE = timedelta(seconds=10)
IDLE_SECONDS = 2.0
STORE_RETRY_SECONDS = 1.0
STEP_SECONDS = 120
UNREACHABLE_TIMEOUT = timedelta(seconds=10)
"""How long a machine can be unreachable before the action that needs it fails."""


@dataclass(frozen=True)
class Outcome:
    """Result of one step."""

    finished: bool = False
    failed: str = ""
    """Error message: the action ends as failed."""
    cancelled: bool = False
    """The action was cancelled, as requested in `Action.cancelled_by`, and its changes are undone or complete."""
    progress: float | None = None
    steps: list[dict[str, Any]] | None = None
    retry_in: float = 0.05
    """Seconds until the next step."""
    unreachable: str = ""
    """Why a machine did not respond. The action fails if this lasts longer than PATIENCE."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Passed to `finish`."""
    parameters: Parameters | None = None
    """Written to the action, for values that a later step can no longer determine."""


class Stepper(Protocol):
    """Performs one kind of action. `step` runs without a session; `finish` and `fail` write in the transaction that ends it."""

    async def step(self, action: Action) -> Outcome: ...

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None: ...

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None: ...


class ActionLoop:
    """Works on all due actions concurrently, one task each."""

    def __init__(self, store: Store, bus: Bus, steppers: Mapping[str, Stepper], console_id: str) -> None:
        """`console_id` identifies this console across restarts. Only one process at a time may use it."""
        self._console_id = console_id
        self._store = store
        self._bus = bus
        self._steppers = steppers
        self._tasks: Tasks[str] = Tasks()

    async def run(self) -> None:
        """Run until cancelled. The tasks are cancelled too, and their leases expire."""
        await self._release_all()
        async with self._tasks.cancelled_at_exit():
            with self._bus.listen("change") as changes:
                while True:
                    await self._claim()
                    # A wake-up is a hint and due rows are authoritative, so poll even without one.
                    await changes.wait_until(lambda change: change[0] == "action", IDLE_SECONDS)

    async def _claim(self) -> None:
        async with self._store.read() as session:
            if not await actions.list_due(session, datetime.now(UTC)):
                return
        async with self._store.begin() as session:
            claimed = []
            for action in await actions.list_due(session, datetime.now(UTC)):
                # Our own step takes longer than its lease and no other console has taken over
                if action.uid in self._tasks or await self._is_of_newer_release(session, action):
                    continue
                action.lease_token = f"{self._console_id}:{uuid.uuid4().hex}"
                action.lease_until = datetime.now(UTC) + LEASE
                action.status = ActionStatus.RUNNING
                claimed.append(action)
        for action in claimed:
            self._tasks.start(action.uid, self._work(action.uid, action.lease_token or ""))

    async def _is_of_newer_release(self, session: AsyncSession, action: Action) -> bool:
        """Return whether only consoles of the newer release that uses the store can execute the action, when one of them leads."""
        return action.current_name not in self._steppers and await consoles.is_newer_release(session)

    async def _release_all(self) -> None:
        """Release the leases of earlier leaders, so that their actions continue before the leases expire."""
        async with self._store.begin() as session:
            for action in await actions.list_leased(session):
                action.lease_until = None

    async def _work(self, uid: str, token: str) -> None:
        failure, ends_action = "", True
        while True:
            try:
                async with self._store.read() as session:
                    action = await actions.by_uid(session, uid)
                if action is None or not action.is_leased_as(token):
                    return
                outcome = Outcome(failed=failure) if failure else await self._step(action)
                if not await self._apply(uid, token, outcome, ends=ends_action):
                    return
                pause = outcome.retry_in
            except Exception as error:
                if is_transient(error):
                    log.warning("action %s: waiting for the store: %s", uid, describe_error(error))
                    pause = STORE_RETRY_SECONDS
                elif not ends_action:
                    raise
                else:  # a retry would fail again: end the action, if necessary without its stepper
                    log.exception("action %s: writing the outcome failed", uid)
                    failure, ends_action, pause = (
                        failure or f"Internal error of the console ({describe_error(error)}).",
                        not failure,
                        0.0,
                    )
            await asyncio.sleep(pause)

    async def _step(self, action: Action) -> Outcome:
        stepper = self._steppers.get(action.current_name)
        if stepper is None:
            return Outcome(failed=f"This console does not support the action {action.name}.")
        try:
            async with asyncio.timeout(STEP_SECONDS):
                return await stepper.step(action)
        except (AgentUnreachable, TimeoutError) as error:
            return Outcome(unreachable=str(error) or "a machine did not respond in time", retry_in=0.5)
        except AgentRefused as error:
            return Outcome(failed=as_sentence(error.reason))
        except LostLeadership:
            raise
        except Exception as error:
            log.exception("action %s (%s): step failed", action.name, action.uid)
            if is_transient(error):
                return Outcome(unreachable=f"the store failed ({describe_error(error)})", retry_in=STORE_RETRY_SECONDS)
            return Outcome(failed=f"Internal error of the console ({describe_error(error)}). See its log.")

    async def _apply(self, uid: str, token: str, outcome: Outcome, *, ends: bool = True) -> bool:
        """Write the outcome. Return False if the action has ended or was taken over. With `ends` its stepper ends it."""
        now = datetime.now(UTC)
        async with self._store.begin() as session:
            action = await _leased_action(session, uid, token, outcome, now)
            if action is None:
                return False
            stepper = self._steppers.get(action.current_name) if ends else None
            reason = outcome.failed or _timeout_reason(action, outcome, now)
            if outcome.finished:
                action.status, action.progress, action.finished_at = ActionStatus.COMPLETED, 100.0, now
                action.steps = [{**step, "status": StepStatus.COMPLETED} for step in action.steps]
            elif outcome.cancelled:
                reason = f"It was canceled by {action.cancelled_by}."
                action.status, action.error, action.finished_at = ActionStatus.CANCELLED, reason, now
                action.steps = [_cancelled(step) for step in action.steps]
            elif reason:
                action.status, action.error, action.finished_at = ActionStatus.FAILED, reason, now
                action.steps = [_failed(step) for step in outcome.steps or action.steps]
            else:
                action.lease_until = now + LEASE
                if outcome.progress is not None:
                    action.progress = max(action.progress, round(outcome.progress, 1))
                if outcome.steps is not None and outcome.steps != action.steps:
                    action.steps = outcome.steps
                if outcome.parameters is not None:
                    write(action, outcome.parameters)
                return True
            if stepper is not None and outcome.finished:
                await stepper.finish(session, action, outcome)
            elif stepper is not None:
                await stepper.fail(session, action, reason)
        return False


async def _leased_action(session: AsyncSession, uid: str, token: str, outcome: Outcome, now: datetime) -> Action | None:
    """Return the action of the outcome; None if it has ended or was taken over.

    If this outcome may end it, the cluster row is locked. Requests for new actions check rows and running actions under that lock,
    and would otherwise see an action that ends in between neither as running nor as done.
    """
    action = await actions.by_uid(session, uid)
    may_finish = outcome.finished or outcome.failed or outcome.cancelled or outcome.unreachable
    if action is not None and (may_finish or now > action.deadline_at):
        await clusters.load_for_update(session)
        session.expire(action)
        action = await actions.by_uid(session, uid)
    return action if action is not None and action.is_leased_as(token) else None


def _timeout_reason(action: Action, outcome: Outcome, now: datetime) -> str:
    """Return the reason to give up, or "". Stores in the action since when a machine has been unreachable."""
    unreachable_since = Unreachable.parse(action).unreachable_since
    if outcome.unreachable:
        write(action, Unreachable(unreachable_since=unreachable_since or now))
        if now - (unreachable_since or now) > UNREACHABLE_TIMEOUT:
            return as_sentence(outcome.unreachable)
    elif unreachable_since is not None:
        write(action, Unreachable())
    if now > action.deadline_at:
        step_name = next(
            (step["name"] for step in (outcome.steps or action.steps) if step["status"] == StepStatus.RUNNING), ""
        )
        return f"It timed out during this step: {step_name}." if step_name else "It took too long."
    return ""


def _cancelled(step: dict[str, Any]) -> dict[str, Any]:
    return (
        {**step, "status": StepStatus.CANCELLED} if step["status"] in (StepStatus.PENDING, StepStatus.RUNNING) else step
    )


def _failed(step: dict[str, Any]) -> dict[str, Any]:
    return {**step, "status": StepStatus.FAILED} if step["status"] == StepStatus.RUNNING else step
