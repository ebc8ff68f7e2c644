"""The list of consoles: each console records itself, and the leading one records which are lost, and who should lead instead."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import inf

from sqlalchemy import delete, update

from shardboard.contract.protocol import PROTOCOL
from shardboard.domain.cluster.agent_reach import FRESH_SECONDS, MEMORY_SECONDS, ReachComparison, cool_down
from shardboard.domain.cluster.consoles import LOST_SECONDS, REASONS, ConsoleStatus, LeaderChange, origin_of
from shardboard.domain.cluster.store_delay import SLOW_MS, StoreDelays
from shardboard.state.alerting import events
from shardboard.state.cluster import consoles
from shardboard.state.cluster.consoles import ConsoleRow
from shardboard.store.db import Store
from shardboard.store.stalled_sessions import end_stalled_sessions

SEEN_SECONDS = 2.0
SINGLE_SEEN_SECONDS = 60.0
"""The same for the console of a SQLite store, which no other console watches."""

LEADER_CHANGED = "leader_changed"
HandOver = Callable[[str, LeaderChange], Awaitable[None]]
"""Lets another console lead, for this reason."""


@dataclass(frozen=True)
class ConsoleFacts:
    """Report of a console about itself."""

    uid: str
    host: str
    address: str
    version: str


class ConsolePresence:
    """Records this console and its signs of life."""

    def __init__(
        self,
        store: Store,
        facts: ConsoleFacts,
        store_delay: Callable[[], float | None],
        agents_reached: Callable[[], int],
    ) -> None:
        """`store_delay` returns the duration of the last query, `agents_reached` the number of agents that this console reaches."""
        self._store = store
        self._facts = facts
        self._store_delay = store_delay
        self._agents_reached = agents_reached
        self._started_at = datetime.now(UTC)
        self.other_origins: tuple[str, ...] = ()
        """Origins of the other consoles, at which pages of this one may continue."""

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            if not await self._record_seen():
                await self._record_start()
            if self._store.is_shared:
                await self.read_origins()
            await asyncio.sleep(SEEN_SECONDS if self._store.is_shared else SINGLE_SEEN_SECONDS)

    async def read_origins(self) -> None:
        """Read the addresses of the other running consoles. The host name of a stopped or lost one can have another owner now."""
        async with self._store.read() as session:
            rows = await consoles.list_all(session)
        others = (row for row in rows if row.uid != self._facts.uid and row.status == ConsoleStatus.RUNNING)
        origins = {origin_of(row.address) for row in others}
        self.other_origins = tuple(sorted(origin for origin in origins if origin is not None))

    async def record_stop(self) -> None:
        """Record that this console was stopped and is not lost."""
        async with self._store.begin() as session:
            if (row := await consoles.by_uid(session, self._facts.uid)) is not None:
                row.status = ConsoleStatus.STOPPED

    async def _record_seen(self) -> bool:
        """Record a sign of life. Return whether the row is there and describes this process."""
        delay = self._store_delay()
        values = {
            "seen_at": datetime.now(UTC),
            "store_delay_ms": None if delay is None else round(delay * 1000, 1),
            "agents_reached": self._agents_reached(),
        }
        own = (
            ConsoleRow.uid == self._facts.uid,
            ConsoleRow.started_at == self._started_at,
            ConsoleRow.status == ConsoleStatus.RUNNING,
        )
        async with self._store.begin() as session:
            return bool((await session.execute(update(ConsoleRow).where(*own).values(values))).rowcount)  # type: ignore[attr-defined]

    async def _record_start(self) -> None:
        facts = self._facts
        async with self._store.begin() as session:
            row = await consoles.by_uid(session, facts.uid)
            if row is None or row.status == ConsoleStatus.LOST:
                await events.end_console_alarm(session, facts.uid)
                if self._store.is_shared:
                    details = {"console": facts.uid, "host": facts.host}
                    events.record(session, "console_joined", f"Console {facts.host} joined.", details=details)
            if not self._store.is_shared:  # a row with another ID describes a console that used the file before
                await session.execute(delete(ConsoleRow).where(ConsoleRow.uid != facts.uid))
            if row is None:
                row = ConsoleRow(uid=facts.uid, store_delay_ms=None, agents_reached=None)
                session.add(row)
            row.host, row.address, row.version, row.release = facts.host, facts.address, facts.version, PROTOCOL
            row.started_at, row.seen_at, row.status = self._started_at, datetime.now(UTC), ConsoleStatus.RUNNING


class ConsoleWatch:
    """Records lost consoles and the change of the leader, and hands over to a console that reaches more agents. Part of the leading
    console, for one tenure.
    """

    def __init__(
        self,
        store: Store,
        console_id: str,
        agents_reached: Callable[[], int],
        hand_over: HandOver,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`console_id` is the one of this console, which is never lost. `agents_reached` returns the number of agents that it
        reaches."""
        self._store = store
        self._id = console_id
        self._agents_reached = agents_reached
        self._hand_over = hand_over
        self._clock = clock
        self._seen: dict[str, tuple[datetime, float]] = {}
        """Last sign of life of each console, and when this console first read it. Clocks of consoles can differ."""
        self._delays: StoreDelays | None = None
        """None until the active alarms are read."""
        self._comparison: ReachComparison | None = None
        """None until this change of the leader is recorded."""

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            if self._comparison is None:
                self._comparison = ReachComparison(self._clock(), await self._record_change())
            await self.check()
            await asyncio.sleep(SEEN_SECONDS)

    async def check(self) -> None:
        """Record consoles that have not been seen for some time. Hand over to one that reaches more agents."""
        now = self._clock()
        async with self._store.read() as session:
            rows = await consoles.list_all(session)
        running = [row for row in rows if row.status == ConsoleStatus.RUNNING and row.uid != self._id]
        for row in running:
            if self._seen.get(row.uid, (None, 0.0))[0] != row.seen_at:
                self._seen[row.uid] = row.seen_at, now
        ages = {row.uid: now - self._seen[row.uid][1] for row in running}
        if lost := [uid for uid, age in ages.items() if age > LOST_SECONDS]:
            await self._record_lost(lost)
        await self._check_delays(
            [row for row in rows if row.uid == self._id or ages.get(row.uid, inf) <= FRESH_SECONDS], now
        )
        await self._compare_reach([row for row in running if ages[row.uid] <= FRESH_SECONDS], now)

    async def _record_lost(self, lost: Collection[str]) -> None:
        async with self._store.read() as session:
            if self._store.is_shared:
                for uid in lost:
                    await end_stalled_sessions(await session.connection(), uid, LOST_SECONDS)
        async with self._store.begin() as session:
            for uid in lost:
                console = await consoles.by_uid(session, uid)
                if console is not None and console.seen_at == self._seen[uid][0]:
                    console.status = ConsoleStatus.LOST
                    details = {"console": uid, "host": console.host, "open": True}
                    message = f"Console {console.host} stopped unexpectedly, or lost its connection to the store."
                    events.record(session, events.CONSOLE_LOST, message, severity="WARNING", details=details)

    async def _check_delays(self, current: Collection[ConsoleRow], now: float) -> None:
        """Raise and end alarms about consoles whose queries of the store are slow."""
        if not self._store.is_shared:
            return
        if self._delays is None:
            async with self._store.read() as session:
                alarms = await events.list_open_spans(session, events.CONSOLE_STORE_SLOW)
            self._delays = StoreDelays([alarm.details["console"] for alarm in alarms])
        before = set(self._delays.slow)
        self._delays.update({row.uid: row.store_delay_ms or 0.0 for row in current}, now)
        slow = set(self._delays.slow)
        if before == slow:
            return
        delays, self._delays = self._delays, None  # if this fails, the active alarms are read again
        async with self._store.begin() as session:
            for uid in before - slow:
                await events.end_console_alarm(session, uid, events.CONSOLE_STORE_SLOW)
            for row in current:
                if row.uid in slow - before:
                    details = {"console": row.uid, "host": row.host, "open": True}
                    message = f"Queries of the store by console {row.host} took more than {SLOW_MS:.0f} ms."
                    events.record(session, events.CONSOLE_STORE_SLOW, message, severity="WARNING", details=details)
        self._delays = delays

    async def _compare_reach(self, others: Collection[ConsoleRow], now: float) -> None:
        own = self._agents_reached()
        reached = {row.uid: row.agents_reached for row in others if row.agents_reached is not None}
        successor = self._comparison and self._comparison.choose_successor(own, reached, now)
        if not successor:
            return
        host = next(row.host for row in others if row.uid == successor)
        agents = f"{reached[successor]} agents" if reached[successor] != 1 else "1 agent"
        message = f"Console {host} should become the leader: it reaches {agents}, and the leader reaches {own}."
        details = {"console": successor, "host": host, "agents": reached[successor], "leader_agents": own}
        async with self._store.begin() as session:
            events.record(session, "leader_change_requested", message, details=details)
        await self._hand_over(successor, LeaderChange.MORE_AGENTS)

    async def _record_change(self) -> float:
        """Record that this console leads. Return for how many seconds it keeps the lease, whatever other consoles reach."""
        async with self._store.begin() as session:
            lease = await consoles.leadership(session)
            if lease is not None and lease.reason != LeaderChange.STARTED:
                row = await consoles.by_uid(session, lease.console_id)
                name = row.host if row is not None else lease.console_id
                details = {"console": lease.console_id, "host": name, "term": lease.term, "reason": lease.reason}
                message = f"Console {name} became the leader: {REASONS[LeaderChange(lease.reason)]}."
                events.record(session, LEADER_CHANGED, message, details=details)
            start = datetime.now(UTC) - timedelta(seconds=MEMORY_SECONDS)
            return cool_down(each.details["reason"] for each in await events.list_since(session, LEADER_CHANGED, start))
