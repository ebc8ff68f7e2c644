"""The action loop claims, loads, acts and applies. Fake steppers let a test control each moment."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from backend.tests.support.real_shards import wait_until
from sqlalchemy import text
from sqlalchemy.exc import OperationalError, ProgrammingError
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
from shardboard.console import Console
from shardboard.contract.protocol import PROTOCOL
from shardboard.domain.cluster.actions import OPEN_STATUSES
from shardboard.errors import AgentRefused, AgentUnreachable
from shardboard.reconcilers import loop as loops
from shardboard.reconcilers.loop import ActionLoop, Outcome
from shardboard.state.cluster import actions
from shardboard.state.cluster.actions import Action
from shardboard.state.cluster.consoles import StoreRelease

pytestmark = pytest.mark.store


class FakeStepper:
    """Stepper that returns the outcomes in order, and then the last one repeatedly. It records how the action ended."""

    def __init__(self, *outcomes: Outcome | Exception) -> None:
        self.outcomes = list(outcomes)
        self.taken = 0
        self.finished: list[Outcome] = []
        self.failed: list[str] = []
        self.entered = asyncio.Event()
        self.may_continue = asyncio.Event()
        self.may_continue.set()

    async def step(self, action: Action) -> Outcome:
        self.taken += 1
        self.entered.set()
        await self.may_continue.wait()
        outcome = self.outcomes[min(self.taken, len(self.outcomes)) - 1]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        self.finished.append(outcome)

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        self.failed.append(reason)


async def start_action(console: Console, *, deadline: float = 60, **columns: Any) -> str:
    async with console.store.begin() as session:
        session.info["locked"] = True
        action = queue.enqueue(
            session,
            "SMTest",
            object_uid=1,
            description="Test",
            originator="test",
            deadline=timedelta(seconds=deadline),
        )
        for name, value in columns.items():
            setattr(action, name, value)
    return action.uid


async def get_action(console: Console, uid: str) -> Action:
    async with console.store.read() as session:
        action = await actions.by_uid(session, uid)
    assert action is not None
    return action


@asynccontextmanager
async def running(console: Console, steps: FakeStepper, instance: str = "test") -> AsyncIterator[ActionLoop]:
    loop = ActionLoop(console.store, console.bus, {"SMTest": steps}, instance)
    task = asyncio.create_task(loop.run())
    try:
        yield loop
    finally:
        tasks = list(loop._tasks.values())
        task.cancel()
        await asyncio.gather(task, *tasks, return_exceptions=True)


async def wait_for_end(console: Console, uid: str) -> Action:
    async def find_action() -> Action | None:
        action = await get_action(console, uid)
        return action if action.status not in OPEN_STATUSES else None

    action: Action = await wait_until(find_action)
    return action


async def run_to_end(console: Console, steps: FakeStepper, **columns: Any) -> Action:
    uid = await start_action(console, **columns)
    async with running(console, steps):
        return await wait_for_end(console, uid)


STEPS = [{"name": "one", "status": "completed"}, {"name": "two", "status": "running"}]


async def test_an_action_runs_until_it_is_finished(console: Console) -> None:
    steps = FakeStepper(
        Outcome(progress=20.04, steps=STEPS, retry_in=0), Outcome(progress=10, retry_in=0), Outcome(finished=True)
    )
    with console.bus.listen("change") as changes:
        action = await run_to_end(console, steps)
        assert ("change", ("action", action.uid)) in changes.drain()
    assert (action.status, action.progress, action.error) == ("completed", 100, "")
    assert [step["status"] for step in action.steps] == ["completed", "completed"]
    assert action.finished_at is not None
    assert (steps.taken, len(steps.finished), steps.failed) == (3, 1, [])


async def test_a_temporary_store_failure_does_not_fail_an_action(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "STORE_RETRY_SECONDS", 0.01)
    unavailable = OperationalError("SELECT 1", {}, Exception("connection was closed"))
    action = await run_to_end(
        console, FakeStepper(unavailable, ConnectionRefusedError("no store"), Outcome(finished=True))
    )
    assert (action.status, action.error) == ("completed", "")
    monkeypatch.setattr(loops, "UNREACHABLE_TIMEOUT", timedelta(seconds=0.1))
    action = await run_to_end(console, FakeStepper(unavailable))
    assert (action.status, action.error) == ("failed", "The store failed (OperationalError: connection was closed).")


async def test_a_step_is_repeated_and_written_after_a_store_failure(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "STORE_RETRY_SECONDS", 0.01)
    apply, failures = ActionLoop._apply, [ConnectionRefusedError("no store")]

    async def failing(loop: ActionLoop, uid: str, token: str, outcome: Outcome, *, ends: bool) -> bool:
        if failures:
            raise failures.pop()
        return await apply(loop, uid, token, outcome, ends=ends)

    monkeypatch.setattr(ActionLoop, "_apply", failing)
    steps = FakeStepper(Outcome(finished=True))
    action = await run_to_end(console, steps)
    assert (action.status, steps.taken, len(steps.finished)) == ("completed", 2, 1)


async def refuse(session: AsyncSession, _action: Action, _what: Any) -> None:
    await session.execute(text("SELECT 1 FROM nowhere"))


@pytest.mark.parametrize("refuses", [("finish",), ("finish", "fail")])
async def test_an_end_that_the_store_rejects_fails_the_action(console: Console, refuses: tuple[str, ...]) -> None:
    steps = FakeStepper(Outcome(finished=True))
    for method in refuses:
        setattr(steps, method, refuse)
    action = await run_to_end(console, steps)
    assert action.status == "failed"
    assert action.error.startswith("Internal error of the console (")
    assert "nowhere" in action.error
    assert steps.failed == ([] if "fail" in refuses else [action.error])


async def test_progress_is_stored_and_never_decreases(console: Console) -> None:
    steps = FakeStepper(
        Outcome(progress=20.04, steps=STEPS, retry_in=0), Outcome(progress=10, retry_in=0), Outcome(retry_in=60)
    )
    uid = await start_action(console)
    async with running(console, steps):
        await wait_until(lambda: steps.taken == 3)  # then the outcome of the second step is written
        action = await get_action(console, uid)
    assert (action.status, action.progress, action.steps) == ("running", 20.0, STEPS)


@pytest.mark.parametrize(
    ("outcome", "error"),
    [
        (Outcome(failed="Nothing fits.", steps=STEPS), "Nothing fits."),
        (AgentRefused("the agent of node 1 answered 422"), "The agent of node 1 answered 422."),
        (ZeroDivisionError(), "Internal error of the console (ZeroDivisionError). See its log."),
        (
            ProgrammingError("SELECT nothing", {}, Exception("no such column: nothing")),
            "Internal error of the console (ProgrammingError: no such column: nothing). See its log.",
        ),
    ],
)
async def test_a_permanent_failure_fails_the_action_at_once(console: Console, outcome: Any, error: str) -> None:
    steps = FakeStepper(outcome)
    action = await run_to_end(console, steps)
    assert (action.status, action.error) == ("failed", error)
    assert (steps.taken, steps.finished, steps.failed) == (1, [], [error])
    assert not any(step["status"] == "running" for step in action.steps)


async def test_an_unknown_action_fails(console: Console) -> None:
    action = await run_to_end(console, FakeStepper(), name="SMDoTheImpossible")
    assert action.error == "This console does not support the action SMDoTheImpossible."


async def test_an_action_of_a_newer_release_waits_for_a_console_of_that_release(console: Console) -> None:
    async with console.store.begin() as session:
        await session.merge(StoreRelease(uid=1, number=PROTOCOL + 1))
    newer, known = await start_action(console, name="SMOfTheNextRelease"), await start_action(console)
    async with running(console, FakeStepper(Outcome(finished=True))):
        await wait_for_end(console, known)
    assert (await get_action(console, newer)).status == "queued"


async def test_a_short_outage_of_an_agent_does_not_fail_an_action(console: Console) -> None:
    steps = FakeStepper(AgentUnreachable("node 1 is unreachable"), Outcome(retry_in=0), Outcome(finished=True))
    action = await run_to_end(console, steps)
    assert action.status == "completed"
    assert "unreachable_since" not in action.params


async def test_an_agent_that_stays_unreachable_fails_the_action(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "UNREACHABLE_TIMEOUT", timedelta(seconds=0.2))
    steps = FakeStepper(Outcome(unreachable="node 1 is unreachable", retry_in=0.01))
    action = await run_to_end(console, steps)
    assert (action.status, action.error) == ("failed", "Node 1 is unreachable.")
    assert steps.taken >= 2
    assert action.finished_at is not None
    assert action.finished_at - action.created_at > timedelta(seconds=0.2)


async def test_a_successful_step_restarts_the_time_limit(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "UNREACHABLE_TIMEOUT", timedelta(seconds=0.15))
    unavailable, success = Outcome(unreachable="node 1 is unreachable", retry_in=0.1), Outcome(retry_in=0)
    steps = FakeStepper(unavailable, success, unavailable, success, unavailable, success, Outcome(finished=True))
    assert (await run_to_end(console, steps)).status == "completed"


async def test_an_action_fails_at_its_deadline(console: Console) -> None:
    action = await run_to_end(console, FakeStepper(Outcome(steps=STEPS, retry_in=0)), deadline=-1)
    assert action.error == "It timed out during this step: two."
    assert [step["status"] for step in action.steps] == ["completed", "failed"]
    action = await run_to_end(console, FakeStepper(Outcome(retry_in=0)), deadline=-1)
    assert action.error == "It took too long."


async def test_an_action_that_finishes_at_its_deadline_completes(console: Console) -> None:
    assert (await run_to_end(console, FakeStepper(Outcome(finished=True)), deadline=-1)).status == "completed"


async def test_without_the_lease_nothing_is_written(console: Console) -> None:
    steps = FakeStepper(Outcome(finished=True))
    steps.may_continue.clear()
    uid = await start_action(console)
    async with running(console, steps) as loop:
        await steps.entered.wait()
        async with console.store.begin() as session:
            action = await actions.by_uid(session, uid)
            assert action is not None
            action.lease_token, action.lease_until = "other:1", datetime.now(UTC) + timedelta(hours=1)
        steps.may_continue.set()
        await wait_until(lambda: not loop._tasks)
    action = await get_action(console, uid)
    assert (action.status, action.progress, action.lease_token) == ("running", 0, "other:1")
    assert (steps.finished, steps.failed) == ([], [])


async def test_an_action_that_ended_during_a_step_is_not_changed(console: Console) -> None:
    steps = FakeStepper(Outcome(finished=True))
    steps.may_continue.clear()
    uid = await start_action(console)
    async with running(console, steps) as loop:
        await steps.entered.wait()
        async with console.store.begin() as session:
            action = await actions.by_uid(session, uid)
            assert action is not None
            action.status, action.error = "failed", "The database was deleted."
        steps.may_continue.set()
        await wait_until(lambda: not loop._tasks)
    action = await get_action(console, uid)
    assert (action.status, action.error) == ("failed", "The database was deleted.")
    assert steps.finished == []


async def test_a_new_leader_continues_the_actions_of_the_former_one_at_once(console: Console) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    own_action = await start_action(console, status="running", lease_token="test:1", lease_until=later)
    other_action = await start_action(console, status="running", lease_token="other:1", lease_until=later)
    steps = FakeStepper(Outcome(finished=True))
    async with running(console, steps):
        for uid in (own_action, other_action):
            action = await wait_for_end(console, uid)
            assert (action.lease_token or "").startswith("test:")


async def test_a_step_that_outlasts_the_lease_is_performed_once(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "LEASE", timedelta(seconds=0.05))
    monkeypatch.setattr(loops, "IDLE_SECONDS", 0.02)
    steps = FakeStepper(Outcome(finished=True))
    steps.may_continue.clear()
    uid = await start_action(console)
    async with running(console, steps):
        await steps.entered.wait()
        await asyncio.sleep(0.3)
        steps.may_continue.set()
        await wait_for_end(console, uid)
    assert steps.taken == 1


async def test_actions_do_not_wait_for_each_other(console: Console) -> None:
    slow, quick = FakeStepper(Outcome(finished=True)), FakeStepper(Outcome(finished=True))
    slow.may_continue.clear()
    loop = ActionLoop(console.store, console.bus, {"SMTest": slow, "SMQuick": quick}, "test")
    task = asyncio.create_task(loop.run())
    try:
        await start_action(console)
        await slow.entered.wait()
        await wait_for_end(console, await start_action(console, name="SMQuick"))
    finally:
        tasks = list(loop._tasks.values())
        task.cancel()
        await asyncio.gather(task, *tasks, return_exceptions=True)


async def test_new_actions_wake_the_loop(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "IDLE_SECONDS", 3600)
    steps = FakeStepper(Outcome(finished=True))
    async with running(console, steps):
        await wait_until(lambda: console.bus.has_listeners("change"))
        await wait_for_end(console, await start_action(console))


async def test_due_actions_are_found_without_a_wake_up(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "IDLE_SECONDS", 0.1)

    async def publish_noise() -> None:
        while True:
            console.bus.publish("change", ("shard", 1))
            await asyncio.sleep(0.01)

    noise_task = asyncio.create_task(publish_noise())
    try:
        async with running(console, FakeStepper(Outcome(finished=True))):
            await wait_until(lambda: console.bus.has_listeners("change"))  # earlier leases have been released
            lease = datetime.now(UTC) + timedelta(seconds=0.3)
            await wait_for_end(
                console, await start_action(console, status="running", lease_token="x:1", lease_until=lease)
            )
    finally:
        noise_task.cancel()
