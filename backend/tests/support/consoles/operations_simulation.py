"""Consoles that change databases in one PostgreSQL store while they are paused, cut off and killed, and the server is restarted.

PostgreSQL, the election, and the loops that run actions are real. Machines are simulated, and check the terms of requests as agents
do. A process is paused or cut off between two steps: a transaction, a statement of the lease, or a request to a machine. A seed
determines the faults. Intervals of the election are a fraction of the usual ones.
"""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from backend.tests.reconcilers.placement.fake_slot_engines import SlotMovingAgents
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession

from shardboard.contract import ShardOutcome, StartShards
from shardboard.contract.terms import TERM_HEADER, Term, parse_term
from shardboard.domain.cluster.actions import ActionName
from shardboard.driver import terms
from shardboard.driver.interfaces import NodeRef
from shardboard.driver.terms import TermRefused
from shardboard.errors import AgentUnreachable
from shardboard.kit.bus import Bus
from shardboard.lifecycle.leadership import Leadership
from shardboard.lifecycle.lease_session import PostgresLeaseSession
from shardboard.reconcilers.databases import bdbs
from shardboard.reconcilers.databases.endpoints import Endpoints
from shardboard.reconcilers.failures.failover import Failover, FailoverLoop
from shardboard.reconcilers.loop import ActionLoop
from shardboard.reconcilers.placement.resharding import Reshard
from shardboard.reconcilers.placement.shard_removal import RemovalLoop
from shardboard.store.db import Store
from shardboard.store.store_key import StoreKeys
from shardboard.store.transient_errors import is_transient

T = TypeVar("T")

RESTART_SECONDS = 0.05
TICK_SECONDS = 0.01
MAX_STEP_SECONDS = 0.03
MAX_FAULT_INTERVAL = 0.7
LOST_REPLIES = 0.02
"""Share of the requests to machines whose replies are lost."""
SLOW_REQUESTS = 0.05
SLOW_SECONDS = 0.6
"""Such requests arrive late: after their console has been replaced."""


class Machines(SlotMovingAgents):
    """Nodes whose agents accept only the newest term, with the engines of one database, which get slots when they are created or
    promoted.
    """

    def __init__(self) -> None:
        super().__init__()
        self.newest: dict[int, Term] = {}
        """Newest term that each agent has accepted."""
        self.executed: dict[int, list[Term]] = defaultdict(list)
        """Terms of the executed requests of each agent."""
        self.promotions: list[int] = []
        """Replicas that were promoted."""

    def accept(self, node: NodeRef, term: Term) -> None:
        newest = self.newest.get(node.uid)
        if newest is not None and term.is_outdated_by(newest):
            raise TermRefused(f"the agent of node {node.uid}", newest.number)
        self.newest[node.uid] = term
        self.executed[node.uid].append(term)

    async def start(self, node: NodeRef, request: StartShards) -> list[ShardOutcome]:
        known = {spec.engine_id for specs in self.running.values() for spec in specs.values()}
        outcomes = await super().start(node, request)
        started = {spec.engine_id for spec in request.shards} - known
        for peer in request.bdb.peers:
            if peer.engine_id in started:
                for first, last in peer.slots:
                    self.owners |= dict.fromkeys(range(first, last + 1), peer.engine_id)
        return outcomes

    def make_primary(self, uid: int) -> None:
        old = self.primary_of.get(uid)
        if old is not None:
            self.promotions.append(uid)
            ids = {spec.uid: spec.engine_id for specs in self.running.values() for spec in specs.values()}
            self.move_all_slots(ids[old], ids[uid])
        super().make_primary(uid)


class World:
    """Everything outside of the consoles."""

    def __init__(self, url: str, keys: StoreKeys, seed: int) -> None:
        self.url, self.keys = url, keys
        self.random = random.Random(seed)
        self.machines = Machines()
        self.server_is_up = asyncio.Event()
        self.server_is_up.set()
        self.now = 0.0
        """Time of all consoles. It does not include stalls of this process, which would end leases on a busy machine."""
        self.remaining_faults = 0
        """Limits the faults of one operation, so that it ends on a slow machine, too."""
        self.on_the_wire: set[asyncio.Task[Any]] = set()
        self.failures: list[BaseException] = []
        """Errors that end a loop of a console."""

    async def run_clock(self) -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(TICK_SECONDS)
            before, last = last, time.monotonic()
            self.now += min(last - before, MAX_STEP_SECONDS)

    def send(self, call: Awaitable[T]) -> "asyncio.Future[T]":
        """Execute a request, also if the console that has sent it no longer runs."""
        task = asyncio.ensure_future(call)
        self.on_the_wire.add(task)
        task.add_done_callback(self._arrived)
        return asyncio.shield(task)

    def _arrived(self, task: "asyncio.Future[Any]") -> None:
        self.on_the_wire.discard(task)  # type: ignore[arg-type]
        if not task.cancelled():
            task.exception()  # its console may no longer wait for the reply

    def chance(self, share: float) -> bool:
        return self.remaining_faults > 0 and self.random.random() < share


class Process:
    """One console. It survives as a state directory does: `start` continues with the same ID."""

    def __init__(self, world: World, console_id: str) -> None:
        self.world, self.id = world, console_id
        self.is_cut = False
        self.running = asyncio.Event()
        self.running.set()
        self.tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self.store = _Store(self)
        self.leadership = _Leadership(self)
        loops = (self.leadership.run, lambda: self.leadership.lead(self._leader_loops))
        self.tasks = [asyncio.create_task(self._keep_running(loop)) for loop in loops]

    async def kill(self) -> None:
        """End all tasks without releasing the lease. Requests that were sent still arrive."""
        self.running.set()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.leadership.end_session()
        await self.store.disconnect()

    async def pass_gate(self) -> None:
        """Wait while the process is paused. Raises ConnectionError while PostgreSQL cannot be reached."""
        await self.running.wait()
        if self.is_cut or not self.world.server_is_up.is_set():
            await asyncio.sleep(0.01)
            raise ConnectionResetError("PostgreSQL cannot be reached")

    async def _keep_running(self, run: Callable[[], Awaitable[None]]) -> None:
        """Restart a loop after transient errors, as the supervisor does."""
        while True:
            try:
                await run()
                return
            except Exception as error:
                if not is_transient(error):
                    self.world.failures.append(error)
                    raise
            await asyncio.sleep(RESTART_SECONDS)

    @asynccontextmanager
    async def _leader_loops(self) -> AsyncIterator[asyncio.Future[None]]:
        store, agents = self.store, _Agents(self)
        endpoints = Endpoints(store, store.bus, agents)  # type: ignore[arg-type]
        steppers = {
            **bdbs.steppers(store, agents, endpoints),  # type: ignore[arg-type]
            ActionName.RESHARD_BDB: Reshard(store, agents),  # type: ignore[arg-type]
            ActionName.FAILOVER: Failover(store, agents, lambda uid: 0.0),  # type: ignore[arg-type]
        }
        loops = (
            ActionLoop(store, store.bus, steppers, self.id),
            FailoverLoop(store, store.bus),
            RemovalLoop(store, store.bus, agents, endpoints.update),  # type: ignore[arg-type]
        )
        tasks = [asyncio.create_task(self._keep_running(loop.run)) for loop in loops]
        try:
            yield asyncio.get_running_loop().create_future()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


class _Store(Store):
    def __init__(self, process: Process) -> None:
        super().__init__(process.world.url, Bus(), process.world.keys, process.id)
        self._process = process

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[AsyncSession]:
        await self._process.pass_gate()
        async with super().begin() as session:
            yield session
            await self._process.pass_gate()
        await self._process.pass_gate()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncSession]:
        await self._process.pass_gate()
        async with super().read() as session:
            yield session


class _LeaseSession(PostgresLeaseSession):
    def __init__(self, process: Process, on_new_server: Callable[[], None]) -> None:
        super().__init__(process.store, process.id, on_new_server)
        self._process = process

    async def _run(self, query: Callable[[AsyncConnection], Awaitable[T]], seconds: float | None = None) -> T:
        await self._process.pass_gate()
        result = await super()._run(query, seconds)
        await self._process.running.wait()
        return result


class _Leadership(Leadership):
    def __init__(self, process: Process) -> None:
        self._process = process
        super().__init__(process.store, process.id, lambda: process.world.now)

    def _open_session(self) -> PostgresLeaseSession:
        return _LeaseSession(self._process, self._watch.reset)

    async def end_session(self) -> None:
        await self._session.drop()


class _Agents:
    """The client of the agents in one console."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._process.world.machines, name)
        if not asyncio.iscoroutinefunction(attribute):
            return attribute

        async def call(node: NodeRef, *arguments: Any, **keywords: Any) -> Any:
            process = self._process

            async def send() -> Any:
                await process.running.wait()
                header = terms.header(process.leadership)
                reply = await process.world.send(self._execute(name, node, header, arguments, keywords))
                await process.running.wait()
                return reply

            try:
                return await send()
            except TermRefused as refusal:
                if not await process.leadership.update(refusal.newest):
                    raise
            return await send()

        return call

    async def _execute(self, name: str, node: NodeRef, header: dict[str, str], arguments: Any, keywords: Any) -> object:
        world = self._process.world
        await asyncio.sleep(world.random.random() * SLOW_SECONDS if world.chance(SLOW_REQUESTS) else 0)
        term = parse_term(header[TERM_HEADER])
        assert term is not None
        world.machines.accept(node, term)
        reply = await getattr(world.machines, name)(node, *arguments, **keywords)
        if world.chance(LOST_REPLIES):
            raise AgentUnreachable(f"the connection to node {node.uid} was lost")
        return reply


class Faults:
    """Disturbs consoles and the server at random moments until it is cancelled. Then all of them work."""

    def __init__(self, world: World, processes: list[Process], restart_server: Callable[[], Awaitable[None]]) -> None:
        self._world = world
        self._processes = processes
        self._restart_server = restart_server
        self.count = 0

    async def run(self) -> None:
        rng = self._world.random
        try:
            while True:
                await asyncio.sleep(rng.random() * MAX_FAULT_INTERVAL)
                if not self._world.remaining_faults:
                    continue
                self._world.remaining_faults -= 1
                process = rng.choice(self._processes)
                fault = rng.choice((self._pause, self._pause, self._cut, self._kill, self._restart))
                self.count += 1
                await fault(process, rng.choice((0.05, 0.2, 0.5, 0.8)))
        finally:
            self._world.remaining_faults = 0
            for process in self._processes:
                process.is_cut = False
                process.running.set()
            self._world.server_is_up.set()

    async def _pause(self, process: Process, seconds: float) -> None:
        process.running.clear()
        asyncio.get_running_loop().call_later(seconds, process.running.set)

    async def _cut(self, process: Process, seconds: float) -> None:
        process.is_cut = True
        asyncio.get_running_loop().call_later(seconds, setattr, process, "is_cut", False)

    async def _kill(self, process: Process, _: float) -> None:
        await process.kill()
        process.start()

    async def _restart(self, _: Process, __: float) -> None:
        self._world.server_is_up.clear()
        with suppress(OSError):
            await self._restart_server()
        self._world.server_is_up.set()
