"""Claim, load, act, apply: with steps of the test's own, so that every moment can be chosen."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from backend.tests.shards import until
from sqlalchemy import text
from sqlalchemy.exc import OperationalError, ProgrammingError
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.console import Console
from shardboard.errors import AgentRefused, AgentUnreachable
from shardboard.orders import queue
from shardboard.reconcilers import loop as loops
from shardboard.reconcilers.loop import ActionLoop, Outcome
from shardboard.state import actions
from shardboard.state.actions import Action

pytestmark = pytest.mark.store


class Steps:
    """Takes the outcomes in turn, the last one again and again; remembers how it ended."""

    def __init__(self, *outcomes: Outcome | Exception) -> None:
        self.outcomes = list(outcomes)
        self.taken = 0
        self.finished: list[Outcome] = []
        self.failed: list[str] = []
        self.entered = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def step(self, action: Action) -> Outcome:
        self.taken += 1
        self.entered.set()
        await self.go_on.wait()
        outcome = self.outcomes[min(self.taken, len(self.outcomes)) - 1]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        self.finished.append(outcome)

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        self.failed.append(reason)


async def order(console: Console, *, deadline: float = 60, **columns: Any) -> str:
    async with console.store.begin() as session:
        session.info["locked"] = True
        made = queue.start(
            session,
            "SMTest",
            object_uid=1,
            description="Test",
            originator="test",
            deadline=timedelta(seconds=deadline),
        )
        for name, value in columns.items():
            setattr(made, name, value)
    return made.uid


async def read(console: Console, uid: str) -> Action:
    async with console.store.read() as session:
        found = await actions.by_uid(session, uid)
    assert found is not None
    return found


@asynccontextmanager
async def running(console: Console, steps: Steps, instance: str = "test") -> AsyncIterator[ActionLoop]:
    loop = ActionLoop(console.store, console.bus, {"SMTest": steps}, instance)
    task = asyncio.create_task(loop.run())
    try:
        yield loop
    finally:
        working = list(loop._tasks.values())
        task.cancel()
        await asyncio.gather(task, *working, return_exceptions=True)


async def ended(console: Console, uid: str) -> Action:
    async def there() -> Action | None:
        found = await read(console, uid)
        return found if found.status not in actions.OPEN else None

    found: Action = await until(there)
    return found


async def ends_as(console: Console, steps: Steps, **order_columns: Any) -> Action:
    uid = await order(console, **order_columns)
    async with running(console, steps):
        return await ended(console, uid)


STEPS = [{"name": "one", "status": "completed"}, {"name": "two", "status": "running"}]


async def test_an_action_goes_on_until_it_is_finished(console: Console) -> None:
    steps = Steps(
        Outcome(progress=20.04, steps=STEPS, again_in=0), Outcome(progress=10, again_in=0), Outcome(finished=True)
    )
    with console.bus.listen("change") as changes:
        action = await ends_as(console, steps)
        assert ("change", ("action", action.uid)) in changes.drain()
    assert (action.status, action.progress, action.error) == ("completed", 100, "")
    assert [step["status"] for step in action.steps] == ["completed", "completed"]
    assert action.finished_at is not None
    assert (steps.taken, len(steps.finished), steps.failed) == (3, 1, [])


async def test_a_store_that_fails_for_a_moment_ends_nothing(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "AWAY_SECONDS", 0.01)
    away = OperationalError("SELECT 1", {}, Exception("connection was closed"))
    action = await ends_as(console, Steps(away, ConnectionRefusedError("no store"), Outcome(finished=True)))
    assert (action.status, action.error) == ("completed", "")
    monkeypatch.setattr(loops, "PATIENCE", timedelta(seconds=0.1))
    action = await ends_as(console, Steps(away))
    assert (action.status, action.error) == ("failed", "The store failed (OperationalError: connection was closed).")


async def test_what_a_step_achieved_is_written_when_the_store_is_back(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "AWAY_SECONDS", 0.01)
    apply, failures = ActionLoop._apply, [ConnectionRefusedError("no store")]

    async def failing(loop: ActionLoop, uid: str, token: str, outcome: Outcome, *, ends: bool) -> bool:
        if failures:
            raise failures.pop()
        return await apply(loop, uid, token, outcome, ends=ends)

    monkeypatch.setattr(ActionLoop, "_apply", failing)
    steps = Steps(Outcome(finished=True))
    action = await ends_as(console, steps)
    assert (action.status, steps.taken, len(steps.finished)) == ("completed", 2, 1)


async def refused(session: AsyncSession, _action: Action, _what: Any) -> None:
    await session.execute(text("SELECT 1 FROM nowhere"))


@pytest.mark.parametrize("refuses", [("finish",), ("finish", "fail")])
async def test_an_end_that_the_store_refuses_fails_the_action(console: Console, refuses: tuple[str, ...]) -> None:
    steps = Steps(Outcome(finished=True))
    for method in refuses:
        setattr(steps, method, refused)
    action = await ends_as(console, steps)
    assert action.status == "failed"
    assert action.error.startswith("Internal error of the console (")
    assert "nowhere" in action.error
    assert steps.failed == ([] if "fail" in refuses else [action.error])


async def test_progress_is_kept_and_never_goes_back(console: Console) -> None:
    steps = Steps(
        Outcome(progress=20.04, steps=STEPS, again_in=0), Outcome(progress=10, again_in=0), Outcome(again_in=60)
    )
    uid = await order(console)
    async with running(console, steps):
        await until(lambda: steps.taken == 3)  # then what the second one said is written
        action = await read(console, uid)
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
async def test_permanent_failures_end_it_at_once(console: Console, outcome: Any, error: str) -> None:
    steps = Steps(outcome)
    action = await ends_as(console, steps)
    assert (action.status, action.error) == ("failed", error)
    assert (steps.taken, steps.finished, steps.failed) == (1, [], [error])
    assert not any(step["status"] == "running" for step in action.steps)


async def test_an_action_that_nobody_knows_fails(console: Console) -> None:
    action = await ends_as(console, Steps(), name="SMDoTheImpossible")
    assert action.error == "This console does not support the action SMDoTheImpossible."


async def test_a_machine_that_is_back_soon_is_forgiven(console: Console) -> None:
    steps = Steps(AgentUnreachable("node 1 is away"), Outcome(again_in=0), Outcome(finished=True))
    action = await ends_as(console, steps)
    assert action.status == "completed"
    assert "unreachable_since" not in action.params


async def test_patience_ends(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "PATIENCE", timedelta(seconds=0.2))
    steps = Steps(Outcome(unreachable="node 1 is away", again_in=0.01))
    action = await ends_as(console, steps)
    assert (action.status, action.error) == ("failed", "Node 1 is away.")
    assert steps.taken >= 2
    assert action.finished_at is not None
    assert action.finished_at - action.created_at > timedelta(seconds=0.2)


async def test_patience_starts_anew_after_a_good_step(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "PATIENCE", timedelta(seconds=0.15))
    away, fine = Outcome(unreachable="node 1 is away", again_in=0.1), Outcome(again_in=0)
    steps = Steps(away, fine, away, fine, away, fine, Outcome(finished=True))
    assert (await ends_as(console, steps)).status == "completed"


async def test_deadline(console: Console) -> None:
    action = await ends_as(console, Steps(Outcome(steps=STEPS, again_in=0)), deadline=-1)
    assert action.error == "It timed out during this step: two."
    assert [step["status"] for step in action.steps] == ["completed", "failed"]
    action = await ends_as(console, Steps(Outcome(again_in=0)), deadline=-1)
    assert action.error == "It took too long."


async def test_what_is_finished_in_the_end_is_not_failed_by_the_deadline(console: Console) -> None:
    assert (await ends_as(console, Steps(Outcome(finished=True)), deadline=-1)).status == "completed"


async def test_a_stolen_lease_writes_nothing(console: Console) -> None:
    steps = Steps(Outcome(finished=True))
    steps.go_on.clear()
    uid = await order(console)
    async with running(console, steps) as loop:
        await steps.entered.wait()
        async with console.store.begin() as session:
            action = await actions.by_uid(session, uid)
            assert action is not None
            action.lease_token, action.lease_until = "other:1", datetime.now(UTC) + timedelta(hours=1)
        steps.go_on.set()
        await until(lambda: not loop._tasks)
    action = await read(console, uid)
    assert (action.status, action.progress, action.lease_token) == ("running", 0, "other:1")
    assert (steps.finished, steps.failed) == ([], [])


async def test_an_action_that_ended_meanwhile_stays_as_it_ended(console: Console) -> None:
    steps = Steps(Outcome(finished=True))
    steps.go_on.clear()
    uid = await order(console)
    async with running(console, steps) as loop:
        await steps.entered.wait()
        async with console.store.begin() as session:
            action = await actions.by_uid(session, uid)
            assert action is not None
            action.status, action.error = "failed", "The database was deleted."
        steps.go_on.set()
        await until(lambda: not loop._tasks)
    action = await read(console, uid)
    assert (action.status, action.error) == ("failed", "The database was deleted.")
    assert steps.finished == []


async def test_a_lease_of_another_console_is_respected_until_it_runs_out(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "IDLE_SECONDS", 0.02)
    until_then = datetime.now(UTC) + timedelta(seconds=0.4)
    uid = await order(console, status="running", lease_token="other:1", lease_until=until_then)
    steps = Steps(Outcome(finished=True))
    async with running(console, steps):
        action = await ended(console, uid)
    assert action.finished_at is not None
    assert action.finished_at >= until_then
    assert action.lease_token is not None
    assert action.lease_token.startswith("test:")


async def test_a_restarted_console_goes_on_with_its_own_at_once(console: Console) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    own = await order(console, status="running", lease_token="test:1", lease_until=later)
    others = await order(console, status="running", lease_token="test-2:1", lease_until=later)
    steps = Steps(Outcome(finished=True))
    async with running(console, steps):
        await ended(console, own)
    assert (await read(console, others)).lease_token == "test-2:1"


async def test_a_step_that_takes_longer_than_the_lease_is_taken_once(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "LEASE", timedelta(seconds=0.05))
    monkeypatch.setattr(loops, "IDLE_SECONDS", 0.02)
    steps = Steps(Outcome(finished=True))
    steps.go_on.clear()
    uid = await order(console)
    async with running(console, steps):
        await steps.entered.wait()
        await asyncio.sleep(0.3)
        steps.go_on.set()
        await ended(console, uid)
    assert steps.taken == 1


async def test_actions_do_not_wait_for_one_another(console: Console) -> None:
    slow, quick = Steps(Outcome(finished=True)), Steps(Outcome(finished=True))
    slow.go_on.clear()
    loop = ActionLoop(console.store, console.bus, {"SMTest": slow, "SMQuick": quick}, "test")
    task = asyncio.create_task(loop.run())
    try:
        await order(console)
        await slow.entered.wait()
        await ended(console, await order(console, name="SMQuick"))
    finally:
        working = list(loop._tasks.values())
        task.cancel()
        await asyncio.gather(task, *working, return_exceptions=True)


async def test_new_orders_wake_the_loop(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "IDLE_SECONDS", 3600)
    steps = Steps(Outcome(finished=True))
    async with running(console, steps):
        await until(lambda: console.bus.heard("change"))
        await ended(console, await order(console))


async def test_due_orders_are_found_without_a_wake_up_and_amid_noise(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "IDLE_SECONDS", 0.1)
    lease = datetime.now(UTC) + timedelta(seconds=0.3)
    uid = await order(console, status="running", lease_token="other:1", lease_until=lease)

    async def noise() -> None:
        while True:
            console.bus.publish("change", ("shard", 1))
            await asyncio.sleep(0.01)

    noisy = asyncio.create_task(noise())
    try:
        async with running(console, Steps(Outcome(finished=True))):
            await ended(console, uid)
    finally:
        noisy.cancel()


def test_sentences() -> None:
    as_sentence: Callable[[str], str] = loops._sentence
    assert as_sentence("no room") == "No room."
    assert as_sentence("No room.") == "No room."
