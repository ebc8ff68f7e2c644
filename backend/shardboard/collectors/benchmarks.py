"""Collects what load generators tell, line by line, and lets go of them afterwards.

Lines are numbered, and a line is stored in the transaction that notes its number: a console that was killed, or a node that was
out of reach, costs no second and doubles none.
"""

import asyncio
import json
import logging
from typing import Any

from shardboard.bus import Bus
from shardboard.db import Store
from shardboard.domain import benchmark_plan, benchmark_seconds
from shardboard.domain.benchmark_plan import Step
from shardboard.domain.benchmark_seconds import Tally
from shardboard.driver.ports import Agents, LoadLines, NodeRef
from shardboard.errors import AgentError, AgentRefused
from shardboard.frames import told
from shardboard.state import benchmarks, nodes
from shardboard.state.benchmarks import OPEN, BenchmarkLoad, Told
from shardboard.tasks import Tasks

log = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
WAIT_SECONDS = 2.0
"""How long an agent waits for a line."""
RETRY_SECONDS = 0.5
LOST_SECONDS = 300.0
"""A node that is away for longer than any drill is not waited for."""
SILENT_SECONDS = 120.0
"""A generator that tells nothing for so long hangs: it tells something every second."""


class BenchmarkCollector:
    """One task per load that some node holds."""

    def __init__(self, store: Store, bus: Bus, agents: Agents) -> None:
        self._store = store
        self._bus = bus
        self._agents = agents
        self._followers: Tasks[str] = Tasks()
        self._letting_go: set[str] = set()
        self._newest: dict[tuple[int, Step], dict[int, Tally]] = {}
        """Seconds of steps under way, as far as their generators have told them."""

    async def run(self) -> None:
        """Until cancelled."""
        async with self._followers.ending():
            with self._bus.listen("change") as changes:
                while True:
                    await self._refresh()
                    await changes.until(lambda change: change[0] in ("benchmark", "action"), LOOK_SECONDS)

    async def _refresh(self) -> None:
        async with self._store.read() as session:
            held = await benchmarks.held(session)
            rows = {row.uid: row for row in await benchmarks.some(session, {load.benchmark_uid for load in held})}
            places = {node.uid: NodeRef(node.uid, node.addr, node.agent_port) for node in await nodes.every(session)}
        for load in held:
            row = rows.get(load.benchmark_uid)
            over = row is None or row.status not in OPEN
            if over and load.status in ("running", "stopping") and load.uid not in self._letting_go:
                self._followers.cancel(load.uid)  # its node did not hear that it is to end
                self._letting_go.add(load.uid)
            if load.uid not in self._followers and (over or load.status in ("running", "stopping", "ended", "failed")):
                work = self._let_go(load, places) if over else self._follow(load, places)
                self._followers.start(load.uid, work)
        self._letting_go &= {load.uid for load in held}
        alive = {load.benchmark_uid for load in held}
        self._newest = {key: seconds for key, seconds in self._newest.items() if key[0] in alive}

    async def _follow(self, load: BenchmarkLoad, places: dict[int, NodeRef]) -> None:
        node = places.get(load.node_uid)
        loop = asyncio.get_running_loop()
        heard = answered = loop.time()
        number = load.lines
        while load.status in ("running", "stopping"):
            if node is None:
                await self._give_up(load, "Its node does not exist any more.")
                return
            try:
                told = await self._agents.read_load(node, load.uid, number, WAIT_SECONDS)
            except AgentError as error:
                if isinstance(error, AgentRefused) or loop.time() - answered > LOST_SECONDS:
                    await self._give_up(load, f"What it measured cannot be collected: {error.reason}.")
                    return
                await asyncio.sleep(RETRY_SECONDS)
                heard = loop.time()
                continue
            answered = loop.time()
            if told.lines or told.state != "running":
                heard = answered
                load = await self._keep(load, told, number)
                number += len(told.lines)
            elif loop.time() - heard > SILENT_SECONDS:
                await self._give_up(load, f"The load generator told nothing for {SILENT_SECONDS:.0f} s.")
                return
        await self._finish(load, node)

    async def _keep(self, load: BenchmarkLoad, told: LoadLines, before: int) -> BenchmarkLoad:
        """Store lines, and what they mean for the load."""
        said = [(number, _decoded(line)) for number, line in enumerate(told.lines, before + 1)]
        seconds = [Told(load.uid, number, each) for number, each in said if each.get("kind") == "second"]
        async with self._store.begin() as session:
            own = await benchmarks.load(session, load.uid)
            if own is None:  # the run was deleted
                return BenchmarkLoad(uid=load.uid, status="failed")
            await benchmarks.add_seconds(session, seconds)
            own.lines = before + len(said)
            for _, each in said:
                _note(own, each)
            if told.state != "running":
                _end(own, told)
        for second in seconds:
            self._tell(own, second.said)
        return own

    def _tell(self, load: BenchmarkLoad, said: dict[str, Any]) -> None:
        """To the browsers that look at this run: the second, as far as its generators have told it."""
        step = Step(load.phase, load.repetition)
        tally = benchmark_seconds.tally(said)
        t = int(said.get("t", 0))
        known = self._newest.setdefault((load.benchmark_uid, step), {})
        known.setdefault(t, Tally()).add(tally)
        for old in [other for other in known if other < t - 10]:
            del known[old]
        topic = f"benchmark:{load.benchmark_uid}"
        if not self._bus.heard(f"frame:{topic}"):
            return
        whole = known[t]
        frame = {
            "topic": topic,
            "uid": load.benchmark_uid,
            "phase": step.phase,
            "repetition": step.repetition,
            "t": t,
            "at": whole.at,
            "progress": load.progress,
            "values": whole.row(),
            "errors": dict(whole.errors),
            "histogram": whole.buckets(),
        }
        self._bus.publish(f"frame:{topic}", told("benchmark", frame))

    async def _finish(self, load: BenchmarkLoad, node: NodeRef | None) -> None:
        """Keep the generator's own report, and let the node forget it."""
        if node is not None:
            try:
                reports = await self._agents.load_reports(node, load.uid)
                if reports.memtier_json:
                    async with self._store.begin() as session:
                        if await benchmarks.load(session, load.uid) is not None:
                            await benchmarks.keep_report(session, load.uid, reports.memtier_json)
                await self._agents.remove_load(node, load.uid)
            except AgentError:  # looked at again
                await asyncio.sleep(RETRY_SECONDS)
                return
        await self._release(load)

    async def _let_go(self, load: BenchmarkLoad, places: dict[int, NodeRef]) -> None:
        """Of a run that is over: nobody will read what it tells."""
        node = places.get(load.node_uid)
        if node is not None:
            try:
                await self._agents.remove_load(node, load.uid)
            except AgentRefused:  # an agent of an older release, which has never begun it
                log.info("node %s knows of no load generators", load.node_uid)
            except AgentError:  # looked at again
                await asyncio.sleep(RETRY_SECONDS)
                return
        await self._release(load)

    async def _give_up(self, load: BenchmarkLoad, reason: str) -> None:
        """Its node keeps what it has until the run is over; then it is told to forget it."""
        async with self._store.begin() as session:
            own = await benchmarks.load(session, load.uid)
            if own is not None:
                own.status, own.detail = "failed", reason

    async def _release(self, load: BenchmarkLoad) -> None:
        async with self._store.begin() as session:
            own = await benchmarks.load(session, load.uid)
            if own is not None:
                own.held = False
                if own.status not in benchmark_plan.ENDED:
                    own.status = "failed"


def _decoded(line: str) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _note(load: BenchmarkLoad, said: dict[str, Any]) -> None:
    match said.get("kind"):
        case "begin":
            load.began = said
        case "second":
            progress = said.get("progress")
            load.progress = min(1.0, float(progress)) if isinstance(progress, int | float) else load.progress
        case "end":
            load.ended = said
        case "error":
            load.detail = str(said.get("message", ""))


def _end(load: BenchmarkLoad, told: LoadLines) -> None:
    """Its process has ended and all lines are there: how it went."""
    last = load.ended or {}
    if last.get("measured") or last.get("stopped"):
        load.status, load.progress = "ended", 1.0
        return
    load.status = "failed"
    if load.ended is not None:
        load.detail = load.detail or "Nothing was measured: no operation succeeded."
    elif told.state == "absent":
        load.detail = load.detail or "The load generator is gone, and what it has measured with it."
    else:
        said = told.said.strip().splitlines()
        load.detail = load.detail or " ".join(["The load generator ended without a report.", *said[-1:]])
