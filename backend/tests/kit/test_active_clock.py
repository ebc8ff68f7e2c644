"""Tests that pauses of the process do not count as time."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from shardboard.kit.active_clock import TICK_SECONDS, ActiveClock


class FakeTime:
    def __init__(self) -> None:
        self.monotonic, self.wall = 1000.0, 5000.0

    def pass_(self, seconds: float, wall: float | None = None) -> None:
        self.monotonic += seconds
        self.wall += seconds if wall is None else wall


@asynccontextmanager
async def running(clock: ActiveClock) -> AsyncIterator[None]:
    task = asyncio.create_task(clock.run())
    await asyncio.sleep(0)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_pause_is_not_counted_by_whichever_task_runs_first() -> None:
    fake_time = FakeTime()
    clock = ActiveClock(lambda: fake_time.monotonic, lambda: fake_time.wall)
    async with running(clock):
        before = clock.now()
        fake_time.pass_(50)
        assert clock.now() - before == pytest.approx(TICK_SECONDS)
        assert (clock.pauses, clock.seconds_since_pause()) == (1, 0.0)
        assert clock.now() - before == pytest.approx(TICK_SECONDS), "it is counted once"
        fake_time.pass_(0.1)
        assert clock.seconds_since_pause() == pytest.approx(0.1)


async def test_delay_of_a_busy_loop_is_not_a_pause() -> None:
    fake_time = FakeTime()
    clock = ActiveClock(lambda: fake_time.monotonic, lambda: fake_time.wall)
    async with running(clock):
        before = clock.now()
        fake_time.pass_(0.15)
        assert clock.now() - before == pytest.approx(0.15)
        fake_time.pass_(0.5)
        assert clock.now() - before < 0.3
        assert clock.pauses == 0


async def test_jump_of_the_wall_clock_is_a_pause() -> None:
    """The monotonic clock stands still while a virtual machine is suspended."""
    fake_time = FakeTime()
    clock = ActiveClock(lambda: fake_time.monotonic, lambda: fake_time.wall)
    async with running(clock):
        before = clock.now()
        fake_time.pass_(0.05, wall=50)
        assert clock.pauses == 1
        assert clock.now() - before == pytest.approx(0.05)
        fake_time.pass_(0.02)
        assert clock.pauses == 1


async def test_blocked_process_is_paused() -> None:
    clock = ActiveClock()
    async with running(clock):
        await asyncio.sleep(0.05)
        before = clock.now()
        time.sleep(1.3)  # noqa: ASYNC251 - the pause
        assert clock.now() - before < 0.5
        assert clock.pauses == 1
        await asyncio.sleep(0.3)
        assert 0.2 < clock.now() - before < 1


def test_stopped_clock_is_the_monotonic_clock() -> None:
    fake_time = FakeTime()
    clock = ActiveClock(lambda: fake_time.monotonic, lambda: fake_time.wall)
    before = clock.now()
    fake_time.pass_(50)
    assert (clock.now() - before, clock.pauses, clock.seconds_since_pause()) == (50, 0, float("inf"))
