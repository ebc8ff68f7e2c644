"""Tests of the loop supervisor: which loops are restarted, which failures end the console, and what is recorded."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from backend.tests.support.real_shards import wait_until
from sqlalchemy.exc import OperationalError

from shardboard.collectors.alerting.alarms import AlarmCollector
from shardboard.collectors.pulse import Pulses
from shardboard.console import Console
from shardboard.lifecycle import supervision
from shardboard.lifecycle.supervision import Loop, LoopSupervisor
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event

pytestmark = pytest.mark.store


@pytest.fixture(autouse=True)
def short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STORE_RETRY_SECONDS", "INITIAL_WAIT", "MAX_WAIT", "REPORT_SECONDS"):
        monkeypatch.setattr(supervision, name, 0.01)


class Failing:
    """A loop that fails the given number of times, and then runs until it is cancelled."""

    def __init__(self, times: int, error: Exception | None = None) -> None:
        self.runs = 0
        self._times = times
        self._error = error or KeyError("a mistake")

    async def run(self) -> None:
        self.runs += 1
        if self.runs <= self._times:
            raise self._error
        await asyncio.Event().wait()


async def alarms(console: Console) -> list[Event]:
    async with console.store.read() as session:
        return [event for event in await events.page(session, newest_first=False) if event.type == events.LOOP_FAILED]


def raised(console: Console, failures: int) -> Callable[[], Awaitable[bool]]:
    async def is_raised() -> bool:
        return any(alarm.details["failures"] == failures for alarm in await alarms(console))

    return is_raised


@pytest.mark.parametrize("vital", [False, True])
async def test_unavailable_store_is_not_a_failure(console: Console, vital: bool) -> None:
    loop = Failing(20, OperationalError("SELECT 1", {}, Exception("database is locked")))
    supervisor = LoopSupervisor(console.store, [Loop("test", loop.run, vital)])
    async with supervisor.running() as failure:
        await wait_until(lambda: loop.runs == 21)
        assert not failure.done()
    assert not supervisor.faults
    assert not await alarms(console)


async def test_failed_loop_is_restarted_and_reported_once(console: Console) -> None:
    failing, other = Failing(10), Failing(0)
    loops = [Loop("look at the moon", failing.run), Loop("other", other.run, vital=True)]
    async with LoopSupervisor(console.store, loops).running() as failure:
        await wait_until(raised(console, 10))
        await wait_until(lambda: failing.runs == 11)
        assert not failure.done()
    (alarm,) = await alarms(console)
    assert alarm.description == (
        "The console loop \"look at the moon\" failed and was restarted: KeyError: 'a mistake'."
    )
    assert (alarm.severity, alarm.details["open"], alarm.ended_at) == ("WARNING", True, None)
    assert (failing.runs, other.runs) == (11, 1)


async def test_vital_loop_that_keeps_failing_ends_the_console(console: Console) -> None:
    failing = Failing(100)
    async with LoopSupervisor(console.store, [Loop("test", failing.run, vital=True)]).running() as failure:
        with pytest.raises(KeyError):
            await failure
    assert failing.runs == supervision.VITAL_FAILURES


async def test_vital_loop_that_fails_once_continues(console: Console) -> None:
    failing = Failing(1)
    async with LoopSupervisor(console.store, [Loop("test", failing.run, vital=True)]).running() as failure:
        await wait_until(raised(console, 1))
        await wait_until(lambda: failing.runs == 2)
        assert not failure.done()
    (alarm,) = await alarms(console)
    assert alarm.severity == "ERROR"


async def test_alarm_ends_when_the_loop_has_recovered(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "RECOVERED_SECONDS", 0.2)
    failing = Failing(1)

    async def is_ended() -> bool:
        return any(alarm.ended_at is not None for alarm in await alarms(console))

    async with LoopSupervisor(console.store, [Loop("test", failing.run)]).running():
        await wait_until(is_ended)
    (alarm,) = await alarms(console)
    assert alarm.details["open"] is False


async def test_restarted_console_ends_alarms_of_running_loops(console: Console) -> None:
    failure = supervision.LoopFault("KeyError: 1", 3)
    await LoopSupervisor(console.store, []).update_alarms({"test": failure})
    await LoopSupervisor(console.store, []).update_alarms({"test": failure})
    (alarm,) = await alarms(console)
    assert alarm.ended_at is None
    await LoopSupervisor(console.store, []).update_alarms({})
    (alarm,) = await alarms(console)
    assert alarm.ended_at is not None


async def test_consoles_do_not_end_alarms_of_each_other(console: Console) -> None:
    failure = supervision.LoopFault("KeyError: 1", 1)
    for console_id in ("a", "b", ""):
        await LoopSupervisor(console.store, [], console_id).update_alarms({"test": failure})
    for console_id in ("a", ""):
        await LoopSupervisor(console.store, [], console_id).update_alarms({})
    [alarm] = [alarm for alarm in await alarms(console) if alarm.ended_at is None]
    assert alarm.details["console"] == "b"


async def test_alarm_collector_does_not_end_loop_alarms(console: Console) -> None:
    await LoopSupervisor(console.store, []).update_alarms({"test": supervision.LoopFault("KeyError: 1", 1)})
    collector = AlarmCollector(console.store, console.bus, console.live, Pulses(), console.agents, dict)
    await collector.load_open_alarms()
    await collector.evaluate(1000.0)
    (alarm,) = await alarms(console)
    assert alarm.ended_at is None
