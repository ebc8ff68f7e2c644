"""Supervision of the console's loops.

A failed loop is restarted, and an open alarm reports it until it has recovered. A vital loop that fails repeatedly ends the
console, so that its service manager starts a new one. Other loops are retried with growing delays, while the rest of the console
continues. An unavailable store does not count as a failure of a loop.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from shardboard.state.alerting import events
from shardboard.state.alerting.events import LOOP_FAILED
from shardboard.store.db import Store
from shardboard.store.transient_errors import describe_error, is_transient

log = logging.getLogger(__name__)

STORE_RETRY_SECONDS = 1.0
"""Seconds until a loop that lost the store is restarted."""
INITIAL_WAIT, MAX_WAIT = 1.0, 60.0
"""Delay between restarts of a failing loop, in seconds."""
RECOVERED_SECONDS = 90.0
"""A loop that has run this long has recovered: its alarm closes, and a later failure counts as the first."""
VITAL_FAILURES = 4
"""Consecutive failures of a vital loop, each before it had recovered, that end the console."""
REPORT_SECONDS = 1.0


class StopConsole(Exception):
    """Raised by a loop that cannot continue: the console ends."""


@dataclass(frozen=True)
class Loop:
    """A coroutine that runs until it is cancelled."""

    name: str
    """Purpose, for the log: "evaluate alarms"."""
    run: Callable[[], Awaitable[None]]
    vital: bool = False
    """Whether a console without it does more harm than none."""


@dataclass(frozen=True)
class LoopFault:
    """A loop that failed and has not recovered."""

    reason: str
    failures: int


class LoopSupervisor:
    """Runs loops and keeps an open alarm for each failed one."""

    def __init__(self, store: Store, loops: Sequence[Loop], console_id: str = "") -> None:
        """Create a supervisor for loops of one console; without `console_id` for those of the leader."""
        self._console_id = console_id
        self._store = store
        self._loops = loops
        self.faults: Mapping[str, LoopFault] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Future[None]]:
        """Run all loops. The yielded future only completes if a vital loop has failed too often, with its exception."""
        tasks = [asyncio.create_task(self._supervise(loop), name=loop.name) for loop in self._loops]
        tasks.append(asyncio.create_task(self._record_faults(), name="report failed loops"))
        failure: asyncio.Future[None] = asyncio.ensure_future(_first(tasks))
        try:
            yield failure
        finally:
            for task in (failure, *tasks):
                task.cancel()
            await asyncio.gather(failure, *tasks, return_exceptions=True)

    async def _supervise(self, loop: Loop) -> None:
        clock = asyncio.get_running_loop().time
        failures = 0
        while True:
            start = clock()
            recovering = asyncio.create_task(self._recover(loop))
            try:
                await loop.run()
            except StopConsole:
                raise
            except Exception as error:
                if is_transient(error):
                    log.warning(
                        'loop "%s" lost its connection to the store and restarts: %s', loop.name, describe_error(error)
                    )
                    await asyncio.sleep(STORE_RETRY_SECONDS)
                    continue
                failures = failures + 1 if clock() - start < RECOVERED_SECONDS else 1
                log.exception('loop "%s" failed (%s consecutive failures)', loop.name, failures)
                if loop.vital and failures >= VITAL_FAILURES:
                    raise
                self.faults = {**self.faults, loop.name: LoopFault(describe_error(error), failures)}
            else:
                return
            finally:
                recovering.cancel()
            await asyncio.sleep(min(INITIAL_WAIT * 2 ** (failures - 1), MAX_WAIT))

    async def _recover(self, loop: Loop) -> None:
        await asyncio.sleep(RECOVERED_SECONDS)
        self.faults = {name: fault for name, fault in self.faults.items() if name != loop.name}

    async def _record_faults(self) -> None:
        """Store changes of the faults. This must not fail because of the faults that it reports."""
        recorded: Mapping[str, LoopFault] | None = None
        while True:
            faults = self.faults
            if faults != recorded:
                try:
                    await self.update_alarms(faults)
                    recorded = faults
                except Exception as error:
                    log.warning("supervisor: recording failed loops failed: %s", describe_error(error))
            await asyncio.sleep(REPORT_SECONDS)

    async def update_alarms(self, faults: Mapping[str, LoopFault]) -> None:
        """Open an alarm for each fault, update open ones, and close those of recovered loops, including those of an earlier
        process of this console or of an earlier leader.
        """
        vital_names = {loop.name for loop in self._loops if loop.vital}
        async with self._store.begin() as session:
            spans = {
                span.details["loop"]: span
                for span in await events.list_open_spans(session, LOOP_FAILED)
                if span.details.get("console", "") == self._console_id
            }
            for name, fault in faults.items():
                details = {"loop": name, "reason": fault.reason, "failures": fault.failures, "open": True}
                details |= {"console": self._console_id} if self._console_id else {}
                if span := spans.pop(name, None):
                    span.details = details
                    continue
                message = f'The console loop "{name}" failed and was restarted: {fault.reason}.'
                severity = "ERROR" if name in vital_names else "WARNING"
                events.record(session, LOOP_FAILED, message, source="cluster", severity=severity, details=details)
            for span in spans.values():
                span.end()


async def _first(tasks: list[asyncio.Task[None]]) -> None:
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()
