"""Keeps the console's loops running: each by its rank, and none of them silently.

A loop that fails is run again from its start. Meanwhile, and for a while after, an open alarm in the log tells of it. A vital
loop that fails again and again ends the console, so that whoever started the console starts another; any other waits longer
and longer between tries, and the rest of the console goes on. A store that is away is no failure of a loop.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from shardboard.away import is_away, reason
from shardboard.db import Store
from shardboard.state import events
from shardboard.state.events import LOOP_FAILED

log = logging.getLogger(__name__)

AWAY_SECONDS = 1.0
"""Until a loop that lost the store is run again."""
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Between the tries of a loop that fails."""
RECOVERED_SECONDS = 90.0
"""A loop that has run this long has recovered: its alarm ends, and a later failure is a first one."""
VITAL_FAILURES = 4
"""So many of a vital loop, each before it had recovered from the last, end the console."""
TELL_SECONDS = 1.0


class MustEnd(Exception):
    """Raised by a loop for which there is nothing to try again: the console ends."""


@dataclass(frozen=True)
class Loop:
    """Something that runs until it is cancelled."""

    name: str
    """What it does, for the log: "look for alarms"."""
    run: Callable[[], Awaitable[None]]
    vital: bool = False
    """Whether a console without it does more harm than none."""


@dataclass(frozen=True)
class LoopFault:
    """A loop that failed and has not recovered."""

    reason: str
    failures: int


class Supervisor:
    """Runs loops, and keeps one open alarm for each that fails."""

    def __init__(self, store: Store, loops: Sequence[Loop]) -> None:
        self._store = store
        self._loops = loops
        self.faults: Mapping[str, LoopFault] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Future[None]]:
        """All loops. The future ends only when a vital one has failed too often, with its exception."""
        tasks = [asyncio.create_task(self._supervise(loop), name=loop.name) for loop in self._loops]
        tasks.append(asyncio.create_task(self._tell(), name="tell of loops that fail"))
        failed: asyncio.Future[None] = asyncio.ensure_future(_first(tasks))
        try:
            yield failed
        finally:
            for task in (failed, *tasks):
                task.cancel()
            await asyncio.gather(failed, *tasks, return_exceptions=True)

    async def _supervise(self, loop: Loop) -> None:
        clock = asyncio.get_running_loop().time
        failures = 0
        while True:
            began = clock()
            recovering = asyncio.create_task(self._recover(loop))
            try:
                await loop.run()
            except MustEnd:
                raise
            except Exception as error:
                if is_away(error):
                    log.warning("the loop that shall %s lost the store and starts again: %s", loop.name, reason(error))
                    await asyncio.sleep(AWAY_SECONDS)
                    continue
                failures = failures + 1 if clock() - began < RECOVERED_SECONDS else 1
                log.exception("the loop that shall %s failed (%s in a row)", loop.name, failures)
                if loop.vital and failures >= VITAL_FAILURES:
                    raise
                self.faults = {**self.faults, loop.name: LoopFault(reason(error), failures)}
            else:
                return
            finally:
                recovering.cancel()
            await asyncio.sleep(min(FIRST_WAIT * 2 ** (failures - 1), LONGEST_WAIT))

    async def _recover(self, loop: Loop) -> None:
        await asyncio.sleep(RECOVERED_SECONDS)
        self.faults = {name: fault for name, fault in self.faults.items() if name != loop.name}

    async def _tell(self) -> None:
        """Writes whenever the faults are others than the store was told. It must outlive whatever it has to tell of."""
        told: Mapping[str, LoopFault] | None = None
        while True:
            faults = self.faults
            if faults != told:
                try:
                    await self.write(faults)
                    told = faults
                except Exception as error:
                    log.warning("failed loops could not be told of: %s", reason(error))
            await asyncio.sleep(TELL_SECONDS)

    async def write(self, faults: Mapping[str, LoopFault]) -> None:
        """Open an alarm for each, renew what is told of it, and end those of loops that recovered, also of an earlier console."""
        vital = {loop.name for loop in self._loops if loop.vital}
        async with self._store.begin() as session:
            spans = {span.details["loop"]: span for span in await events.open_spans(session, LOOP_FAILED)}
            for name, fault in faults.items():
                details = {"loop": name, "reason": fault.reason, "failures": fault.failures, "open": True}
                if span := spans.pop(name, None):
                    span.details = details
                    continue
                told = f"The part of the console that shall {name} failed and was started again: {fault.reason}."
                severity = "ERROR" if name in vital else "WARNING"
                events.record(session, LOOP_FAILED, told, source="cluster", severity=severity, details=details)
            for span in spans.values():
                span.ended_at = datetime.now(UTC)
                span.details = {**span.details, "open": False}


async def _first(tasks: list[asyncio.Task[None]]) -> None:
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()
