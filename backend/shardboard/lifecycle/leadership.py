"""Election of the leading console, and what it does while it leads.

All consoles of a PostgreSQL store serve requests. One of them leads: it runs the loops that change machines and record what they
observe. `domain/cluster/leadership.py` contains the rule. This module reads and renews the lease, starts the leader's loops when
this console has it, and cancels them before another console can have it.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, suppress
from math import inf

from shardboard.contract.terms import Term
from shardboard.domain.cluster.consoles import LeaderChange
from shardboard.domain.cluster.leadership import (
    ACT_SECONDS,
    LEASE_SECONDS,
    RENEW_SECONDS,
    WATCH_SECONDS,
    Lease,
    LeaseWatch,
    may_raise,
)
from shardboard.kit.tenure import LostLeadership, Tenure, current_tenure, steady_time
from shardboard.lifecycle.lease_session import LeaseSession, LocalLeaseSession, PostgresLeaseSession
from shardboard.lifecycle.store_locks import StoreLocked
from shardboard.lifecycle.supervision import StopConsole
from shardboard.store.db import Store
from shardboard.store.transient_errors import describe_error, is_transient

log = logging.getLogger(__name__)

START_SECONDS = 20.0
"""Time for consoles that exclude this one to end or to migrate the store, when this console starts."""
VERIFY_SECONDS = 10.0
"""Interval at which the console checks that new sessions still lead to the server of the lease."""
RETRY_SECONDS = 0.3
GIVE_UP_SECONDS = 2.0
"""Time after the deadline of a tenure after which its loops are cancelled, even if no other console has taken over."""

LeaderLoops = Callable[[], AbstractAsyncContextManager[asyncio.Future[None]]]
"""Runs the loops of the leader during the block. The future completes only if a vital loop has failed repeatedly."""


class Leadership:
    """This console's part in the election. Implements `driver.terms.Terms`."""

    def __init__(self, store: Store, console_id: str, clock: Callable[[], float] = steady_time) -> None:
        self._store = store
        self._id = console_id
        self._clock = clock
        self._watch = LeaseWatch(console_id)
        self._postgres = self._open_session()
        self._session: LeaseSession = self._postgres or LocalLeaseSession(store, console_id)
        self._tenure: Tenure | None = None
        self._is_candidate = False
        """Whether the loops of an earlier tenure have ended, so that this console can lead."""
        self._changed = asyncio.Condition()
        self._handover: tuple[str, LeaderChange] | None = None
        """Console to which this one shall release the lease, and why."""
        self._raising = asyncio.Lock()
        self._is_settled = asyncio.Event()
        self._read_at = -inf
        self.store_delay: float | None = None
        """Duration of the last query of the lease, in seconds."""

    def _open_session(self) -> PostgresLeaseSession | None:
        return PostgresLeaseSession(self._store, self._id, self._watch.reset) if self._store.is_shared else None

    @property
    def term(self) -> Term | None:
        lease = self._watch.lease
        return Term(lease.term, lease.console_id) if lease is not None and lease.term else None

    @property
    def tenure(self) -> Tenure | None:
        """The current tenure; None if this console does not lead."""
        tenure = self._tenure
        return tenure if tenure is not None and tenure.is_valid else None

    @property
    def is_led(self) -> bool:
        """Whether this console leads, or knows that another one does."""
        watch = self._watch
        age = max(watch.unchanged_seconds, self._clock() - self._read_at)
        return self.tenure is not None or (watch.leader_is_alive and age <= LEASE_SECONDS)

    def acting(self) -> AbstractContextManager[None] | None:
        """Return a context in which a task acts for the current tenure; None if this console does not lead."""
        tenure = self._tenure
        return tenure.acting() if tenure is not None and not tenure.is_over else None

    @asynccontextmanager
    async def participating(self) -> AsyncIterator[None]:
        """Take part in the election during the block. Raises ValueError with a message if the store cannot be shared."""
        try:
            await self.join()
            yield
        finally:
            await self.close()

    async def join(self) -> None:
        """Wait until this console can use the store together with those that use it. Raises ValueError with a message.

        If this console must migrate the store, no other one can join until `share`.
        """
        deadline = self._clock() + START_SECONDS
        while self._postgres is not None:
            try:
                await self._postgres.join()
                return
            except StoreLocked as error:
                reason = str(error)
            except Exception as error:
                if not is_transient(error):
                    raise
                reason = f"The store cannot be used: {describe_error(error)}."
            if self._clock() > deadline:
                raise ValueError(reason)
            await asyncio.sleep(random.uniform(0.2, 0.6))  # noqa: S311

    async def share(self) -> None:
        """Let other consoles join, after the store was migrated."""
        if self._postgres is not None:
            await self._postgres.share()

    async def run(self) -> None:
        """Read or renew the lease until cancelled."""
        is_reported = False
        verifying = asyncio.create_task(self._verify_server())
        try:
            while True:
                try:
                    await self._step()
                    is_reported = False
                except Exception as error:
                    if not is_transient(error):
                        raise
                    if not is_reported:
                        log.warning("leadership: the lease is not accessible: %s", describe_error(error))
                    is_reported = True
                    await asyncio.sleep(RETRY_SECONDS)
                await asyncio.sleep(RENEW_SECONDS if self._tenure is not None else WATCH_SECONDS)
        finally:
            verifying.cancel()

    async def lead(self, loops: LeaderLoops) -> None:
        """Run the leader's loops in each tenure of this console, until cancelled."""
        while True:
            tenure = await self._acquire()
            with tenure.acting():
                task = asyncio.create_task(self._run_tenure(tenure, loops))
            try:
                await asyncio.shield(task)
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            await self._end_tenure(tenure)

    @property
    def is_settled(self) -> bool:
        return self._is_settled.is_set()

    async def settled(self) -> None:
        """Wait until this console leads and its loops run, or another console is known to lead."""
        await self._is_settled.wait()

    async def hand_over(self, successor: str, reason: LeaderChange) -> None:
        """Let the loops end and release the lease for another console, if this console leads."""
        self._handover = successor, reason
        await self._notify()

    async def update(self, newest: int) -> bool:
        """Raise the term above one that an agent has accepted, if this console leads, or read it again."""
        tenure = current_tenure() or self.tenure
        if tenure is None:
            before = self.term
            await self._read()
            return self.term != before
        async with self._raising:
            tenure.check()
            if tenure.term > newest:
                return True
            if not may_raise(tenure.term, newest):
                log.error("leadership: an agent reports term %s, and the store has term %s", newest, tenure.term)
                return False
            log.warning("leadership: agents know term %s; raising term %s in the store above it", newest, tenure.term)
            try:
                lease = await self._session.raise_term(tenure.term, newest + 1)
            except BaseException:
                tenure.is_over = True  # the term may have been raised, so this console must claim the lease again
                raise
            if lease is None:
                return False
            tenure.term = lease.term
            self._record(lease, self._clock())
            return True

    async def close(self) -> None:
        """Release the lease, so that another console takes over at once, and close the session."""
        tenure, self._tenure = self._tenure, None
        if tenure is not None and tenure.is_valid:
            tenure.is_over = True
            with suppress(Exception):  # otherwise the lease expires
                await self._session.release(tenure.term, None, LeaderChange.STOPPED)
        await self._session.drop()

    async def _step(self) -> None:
        tenure = self._tenure
        if tenure is None:
            await self._read()
            if self._is_candidate and self._watch.may_claim:
                await self._claim()
        elif not tenure.is_over:
            await self._renew(tenure)
        else:
            await self._notify()
            await self._read()

    async def _read(self) -> None:
        sent = self._clock()
        lease = await self._session.read()
        self.store_delay = self._clock() - sent
        self._watch.is_outdated = self._session.is_outdated
        self._record(lease, sent)
        if self._watch.leader_is_alive:
            self._is_settled.set()

    def _record(self, lease: Lease, sent: float) -> None:
        self._read_at = self._clock()
        self._watch.record(lease, sent=sent, received=self._read_at)

    async def _claim(self) -> None:
        seen, sent = self._watch.lease, self._clock()
        if seen is None:
            return
        reason = _reason(seen, self._id)
        lease = await self._session.claim(seen, reason)
        if lease is None:
            return
        self._record(lease, sent)
        self._handover = None
        self._tenure = Tenure(lease.term, self._id, self._deadline(sent), self._clock)
        log.info(
            "leadership: this console leads in term %s (%s)", lease.term, reason or "the former leader released it"
        )
        await self._notify()

    async def _renew(self, tenure: Tenure) -> None:
        term, sent = tenure.term, self._clock()
        lease = await self._session.renew(term)
        self.store_delay = self._clock() - sent
        if lease is None:
            if tenure.term == term and not tenure.is_over:  # neither raised nor released in the meantime
                await self._lose(tenure)
        elif not tenure.is_over:  # otherwise the loops are being cancelled, and the lease must be claimed again
            was_valid, tenure.deadline = tenure.is_valid, self._deadline(sent)
            self._record(lease, sent)
            if not was_valid:
                await self._notify()
            if lease.successor is not None and lease.successor != self._id:
                await self.hand_over(lease.successor, LeaderChange.HANDED_OVER)

    async def _lose(self, tenure: Tenure) -> None:
        tenure.is_over = True
        await self._notify()
        lease = await self._session.read()
        self._record(lease, self._clock())
        log.warning("leadership: console %s is now the leader, in term %s", lease.console_id, lease.term)
        if lease.console_id == self._id and lease.term > tenure.term:
            raise StopConsole(
                "another console uses the ID of this one. If its state directory was copied, delete the file `instance` in the copy"
            )

    def _deadline(self, sent: float) -> float:
        return sent + ACT_SECONDS if self._store.is_shared else inf

    async def _acquire(self) -> Tenure:
        """Wait until this console leads. The loops of an earlier tenure have ended."""
        if self.tenure is None:
            self._tenure = None
        self._is_candidate = True
        async with self._changed:
            await self._changed.wait_for(lambda: self.tenure is not None)
        self._is_candidate = False
        tenure = self.tenure
        return tenure if tenure is not None else await self._acquire()

    async def _run_tenure(self, tenure: Tenure, loops: LeaderLoops) -> None:
        """Run the loops until the tenure is over or another console shall lead."""
        ending = asyncio.create_task(self._wait_for_end(tenure))
        starting = asyncio.create_task(self._run_loops(loops))
        try:
            await asyncio.wait((ending, starting), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (ending, starting):
                task.cancel()
            await asyncio.gather(ending, starting, return_exceptions=True)
        error = None if starting.cancelled() else starting.exception()
        if error is not None and not isinstance(error, LostLeadership):
            raise error

    async def _run_loops(self, loops: LeaderLoops) -> None:
        async with loops() as failure:
            self._is_settled.set()
            try:
                await failure
            except Exception as error:
                raise StopConsole(f"a vital loop failed repeatedly: {describe_error(error)}") from error

    async def _wait_for_end(self, tenure: Tenure) -> None:
        """Wait until another console leads or shall lead, or the lease was not renewed for some time.

        From the deadline on, the loops cannot act. They continue if the lease is renewed before another console takes over, because
        this process was paused or PostgreSQL did not respond for a moment.
        """
        while not tenure.is_over and self._handover is None:
            seconds_left = tenure.deadline + GIVE_UP_SECONDS - self._clock()
            tenure.is_over = seconds_left <= 0
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, min(seconds_left, 60))), self._changed:
                    await self._changed.wait()

    async def _end_tenure(self, tenure: Tenure) -> None:
        """Release the lease if this console still has it. All loops have ended."""
        (successor, reason), self._handover = self._handover or (None, LeaderChange.STOPPED), None
        was_valid, tenure.is_over = tenure.is_valid, True
        if was_valid:
            log.info("leadership: handing over to console %s (%s)", successor, reason)
            with suppress(Exception):  # otherwise the lease expires
                await self._session.release(tenure.term, successor, reason)
        else:
            log.warning("leadership: this console is no longer the leader in term %s", tenure.term)
        self._tenure = None
        await self._notify()

    async def _notify(self) -> None:
        """Wake the tasks that wait for a change."""
        async with self._changed:
            self._changed.notify_all()
        self._store.bus.publish("leader")

    async def _verify_server(self) -> None:
        """Drop all sessions if new ones lead to another server."""
        suspected = self._store.server.suspected
        while self._postgres is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(VERIFY_SECONDS):
                    await suspected.wait()
            try:
                if not await self._postgres.leads_to_same_server():
                    log.warning("leadership: the PostgreSQL server was replaced")
                    await self._session.drop()
                    await self._store.disconnect()
                suspected.clear()
            except Exception as error:
                if not is_transient(error):
                    raise
                log.warning("leadership: the PostgreSQL server cannot be checked: %s", describe_error(error))
                await asyncio.sleep(RETRY_SECONDS)


def _reason(seen: Lease, console_id: str) -> LeaderChange | None:
    """Return why the leader changes; None if the former leader has written that when it released the lease."""
    if seen.console_id in ("", console_id):
        return LeaderChange.STARTED
    return None if seen.released else LeaderChange.EXPIRED
