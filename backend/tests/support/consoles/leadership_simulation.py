"""Deterministic simulation of several consoles, their PostgreSQL server and one agent, in virtual time.

Each console runs the real `Leadership` on a separate event loop, which the simulation can stop and continue like a process. A seed
determines all delays and faults.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

from shardboard.contract.terms import Term
from shardboard.domain.cluster.leadership import Lease
from shardboard.kit.bus import Bus
from shardboard.kit.tenure import LostLeadership, current_tenure
from shardboard.lifecycle.leadership import Leadership

ORDER_SECONDS = 0.05


@dataclass
class World:
    """Everything outside of the consoles."""

    random: random.Random
    now: float = 0.0
    lease: Lease = field(default_factory=lambda: Lease(0, "", 0, released=True))
    past: list[tuple[float, Lease]] = field(default_factory=list)
    server: int = 1
    """Identity of the server. It changes when a standby is promoted."""
    is_up: bool = True
    agent: Term | None = None
    """The newest term that the agent has accepted."""
    acts: list[tuple[float, Term]] = field(default_factory=list)
    """Actions that consoles considered allowed."""
    accepted: list[Term] = field(default_factory=list)
    """Terms of executed requests."""
    written: list[Term] = field(default_factory=list)
    """Terms of committed transactions."""

    def change(self, lease: Lease) -> Lease:
        self.past.append((self.now, self.lease))
        self.lease = lease
        return lease

    def promote_standby(self, lost_seconds: float) -> None:
        """Continue at another server, without the changes of the last seconds."""
        lost = [lease for at, lease in self.past if at > self.now - lost_seconds]
        self.lease = lost[0] if lost else self.lease
        self.server += 1

    def receive_order(self, term: Term) -> bool:
        """Let the agent execute or refuse a request."""
        if term.is_outdated_by(self.agent):
            return False
        self.agent = term
        self.accepted.append(term)
        return True

    def write(self, term: Term) -> None:
        """Let the store commit or refuse a transaction of a leader's loop."""
        if (self.lease.term, self.lease.console_id, self.lease.released) == (*term, False):
            self.written.append(term)


class Session:
    """The lease session of one console. It sends one request at a time. Requests and replies have delays, and are lost while the
    console is cut off.
    """

    is_outdated = False

    def __init__(self, world: World, console: "SimulatedConsole") -> None:
        self._world = world
        self._console = console
        self._server: int | None = None
        self._using = asyncio.Lock()

    async def read(self) -> Lease:
        reply = await self._send(lambda: self._world.lease)
        assert reply is not None
        return reply

    async def claim(self, seen: Lease, reason: str | None) -> Lease | None:
        def claim() -> Lease | None:
            lease = self._world.lease
            if replace(lease, successor=seen.successor) != seen:
                return None
            successor = None if lease.released or lease.successor == self._console.id else lease.successor
            return self._world.change(Lease(seen.term + 1, self._console.id, 0, released=False, successor=successor))

        return await self._send(claim)

    async def renew(self, term: int) -> Lease | None:
        return await self._change(term, lambda lease: replace(lease, renewals=lease.renewals + 1))

    async def raise_term(self, term: int, raised: int) -> Lease | None:
        return await self._change(term, lambda lease: replace(lease, term=raised))

    async def release(self, term: int, successor: str | None, reason: str) -> Lease | None:
        return await self._change(term, lambda lease: replace(lease, released=True, successor=successor))

    async def drop(self) -> None:
        self._server = None

    async def _change(self, term: int, changed: Callable[[Lease], Lease]) -> Lease | None:
        def change() -> Lease | None:
            lease = self._world.lease
            if (lease.term, lease.console_id, lease.released) != (term, self._console.id, False):
                return None
            return self._world.change(changed(lease))

        return await self._send(change)

    async def _send(self, query: Callable[[], Lease | None]) -> Lease | None:
        async with self._using:
            return await self._exchange(query)

    async def _exchange(self, query: Callable[[], Lease | None]) -> Lease | None:
        """Execute a query at the server after a delay, which continues if the console is killed or paused."""
        world, loop = self._world, asyncio.get_running_loop()
        if not world.is_up or self._console.is_cut:
            await asyncio.sleep(world.random.choice((0.0, 0.6)))
            raise ConnectionError("the server cannot be reached")
        if self._server != world.server:
            self._server = world.server
            self._console.leadership._watch.reset()
        server, reply = world.server, loop.create_future()

        def execute() -> None:
            if not world.is_up or world.server != server:
                outcome: Lease | ConnectionError | None = ConnectionError("the session was lost")
            else:
                outcome = query()
            self._console.simulation.at(world.now + self._delay(), lambda: self._reply(reply, outcome))

        self._console.simulation.at(world.now + self._delay(), execute)
        async with asyncio.timeout(0.6):
            answer = await reply
        if isinstance(answer, ConnectionError):
            raise answer
        return answer

    def _reply(self, reply: asyncio.Future[Any], outcome: object) -> None:
        if not self._console.is_cut and not reply.done():
            reply.set_result(outcome)

    def _delay(self) -> float:
        rng = self._world.random
        return rng.choice((0.001, 0.01, rng.random() * 0.5 if rng.random() < 0.2 else 0.005))


class _Loop(asyncio.SelectorEventLoop):
    """An event loop in virtual time."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def time(self) -> float:
        return self._world.now

    @property
    def next_event(self) -> float:
        if self._ready:  # type: ignore[attr-defined]
            return self._world.now
        timers = [each._when for each in self._scheduled if not each._cancelled]  # type: ignore[attr-defined]
        return min(timers, default=float("inf"))

    def run_once(self) -> None:
        self.call_soon(self.stop)
        self.run_forever()


class _SimulatedLeadership(Leadership):
    def _open_session(self) -> None:
        return None


class SimulatedConsole:
    """One process of a console: starts with its creation."""

    def __init__(self, simulation: "Simulation", console_id: str) -> None:
        self.simulation, self.id = simulation, console_id
        self.is_cut = False
        self.paused_until = 0.0
        world = simulation.world
        self.loop = _Loop(world)
        offset = world.random.random() * 1e6
        store: Any = SimpleNamespace(is_shared=True, bus=Bus(), server=SimpleNamespace(suspected=asyncio.Event()))
        self.leadership = _SimulatedLeadership(store, console_id, lambda: world.now + offset)
        self.leadership._session = Session(world, self)
        self.tasks = [
            self.loop.create_task(self._keep_running(self.leadership.run)),
            self.loop.create_task(self._keep_running(lambda: self.leadership.lead(self._leader_loops))),
        ]

    async def _keep_running(self, run: Callable[[], Any]) -> None:
        """Restart a loop after transient errors, as the supervisor does."""
        while True:
            try:
                await run()
            except (ConnectionError, TimeoutError, LostLeadership):
                await asyncio.sleep(1)

    @asynccontextmanager
    async def _leader_loops(self) -> AsyncIterator[asyncio.Future[None]]:
        task = asyncio.create_task(self._send_orders())
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _send_orders(self) -> None:
        world, tenure = self.simulation.world, current_tenure()
        assert tenure is not None
        while True:
            with suppress(LostLeadership):  # a loop that fails is restarted
                tenure.check()
                term = Term(tenure.term, tenure.console_id)
                world.acts.append((world.now, term))
                if not await self._send(term):
                    with suppress(ConnectionError, TimeoutError):
                        await self.leadership.update(world.agent.number if world.agent else 0)
            await asyncio.sleep(ORDER_SECONDS)

    async def _send(self, term: Term) -> bool:
        """Write to the store and send a request. Return whether the agent has accepted it."""
        world, received = self.simulation.world, self.loop.create_future()
        for event in (partial(world.write, term), partial(self._receive, received, term)):
            self.simulation.at(world.now + world.random.random() ** 4 * 3, event)
        accepted: bool = await received
        return accepted

    def _receive(self, received: asyncio.Future[bool], term: Term) -> None:
        accepted = self.simulation.world.receive_order(term)
        if not received.done():
            received.set_result(accepted)

    def close(self) -> None:
        """End all tasks, after the simulation."""
        while tasks := asyncio.all_tasks(self.loop):
            for task in tasks:
                task.cancel()
            self.loop.run_once()
        for task in self.tasks:
            if not task.cancelled():
                task.exception()  # of a killed console, which its successor has replaced
        self.loop.close()


class Simulation:
    """Runs consoles in virtual time."""

    def __init__(self, seed: int, names: str = "abc") -> None:
        self.world = World(random.Random(seed))
        self._killed: list[SimulatedConsole] = []
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self.consoles = {name: SimulatedConsole(self, name) for name in names}

    def at(self, time: float, event: Callable[[], None]) -> None:
        """Schedule something outside of the consoles."""
        self._count += 1
        self._events.append((time, self._count, event))

    def run(self, seconds: float) -> None:
        end = self.world.now + seconds
        while True:
            running = list(self.consoles.values())
            times = [max(each.loop.next_event, each.paused_until) for each in running]
            event = min(self._events, default=(float("inf"), 0, None))
            if min(*times, event[0]) > end:
                break
            self.world.now = max(self.world.now, min(*times, event[0]))
            if event[0] <= self.world.now:
                self._events.remove(event)  # type: ignore[arg-type]
                event[2]()  # type: ignore[misc]
                continue
            running[times.index(min(times))].loop.run_once()
        self.world.now = end

    def restart(self, name: str) -> None:
        """Kill a process without any cleanup, and start it again. Messages that it has sent still arrive."""
        self._killed.append(self.consoles[name])
        self.consoles[name] = SimulatedConsole(self, name)

    def close(self) -> None:
        ended = [name for name, console in self.consoles.items() if any(task.done() for task in console.tasks)]
        for console in [*self._killed, *self.consoles.values()]:
            console.close()
        assert not ended, f"consoles ended without a request: {ended}"
