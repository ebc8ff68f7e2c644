"""Collects the output of load generators line by line, and removes the loads from their nodes afterwards.

Lines are numbered, and a line is stored in the same transaction as its number. So no second is lost or stored twice if a console is
killed or a node is temporarily unreachable.
"""

import asyncio
import json
import logging
from typing import Any

from shardboard.actions import drills
from shardboard.domain.benchmarks import benchmark_plan, benchmark_seconds
from shardboard.domain.benchmarks.benchmark_plan import LIVE, OPEN_STATUSES, LoadStatus, PlanStep
from shardboard.domain.benchmarks.benchmark_seconds import Tally
from shardboard.driver.interfaces import Agents, LoadLines, NodeRef
from shardboard.errors import AgentError, AgentRefused
from shardboard.kit.active_clock import ACTIVE
from shardboard.kit.bus import Bus
from shardboard.kit.sse_frames import make_frame
from shardboard.kit.tasks import Tasks
from shardboard.state.benchmarks import benchmark_runs
from shardboard.state.benchmarks.benchmark_runs import BenchmarkLoad, LoadRecord
from shardboard.state.cluster import nodes
from shardboard.store.db import Store

log = logging.getLogger(__name__)

POLL_SECONDS = 2.0
WAIT_SECONDS = 2.0
"""How long an agent waits for a new line."""
RETRY_SECONDS = 0.5
LOST_SECONDS = 300.0
"""After this time without a response, a node is given up. The time of a drill on the node does not count."""
LONG_LINE = 65_536
"""Characters of a line that takes more than a millisecond to parse."""
HUNG_AFTER_SECONDS = 120.0
"""After this time without output, a generator counts as hung, because generators write at least one line per second."""


class BenchmarkCollector:
    """Runs one task for each load that exists on a node."""

    def __init__(self, store: Store, bus: Bus, agents: Agents) -> None:
        self._store = store
        self._bus = bus
        self._agents = agents
        self._followers: Tasks[str] = Tasks()
        self._removing: set[str] = set()
        self._newest: dict[tuple[int, PlanStep], dict[int, Tally]] = {}
        """Seconds of running steps, by step and time, as far as their generators have reported them."""

    async def run(self) -> None:
        """Run until cancelled."""
        async with self._followers.cancelled_at_exit():
            with self._bus.listen("change") as changes:
                while True:
                    await self._refresh()
                    await changes.wait_until(lambda change: change[0] in ("benchmark", "action"), POLL_SECONDS)

    async def _refresh(self) -> None:
        async with self._store.read() as session:
            loads = await benchmark_runs.list_loads_on_nodes(session)
            rows = {
                row.uid: row
                for row in await benchmark_runs.list_by_uids(session, {load.benchmark_uid for load in loads})
            }
            node_refs = {
                node.uid: NodeRef(node.uid, node.addr, node.agent_port) for node in await nodes.list_stored(session)
            }
        for load in loads:
            row = rows.get(load.benchmark_uid)
            is_over = row is None or row.status not in OPEN_STATUSES
            if is_over and load.status in LIVE and load.uid not in self._removing:
                self._followers.cancel(load.uid)  # its node could not be reached to stop the load
                self._removing.add(load.uid)
            if load.uid not in self._followers and (
                is_over or load.status in (LoadStatus.RUNNING, LoadStatus.STOPPING, LoadStatus.ENDED, LoadStatus.FAILED)
            ):
                work = self._remove(load, node_refs) if is_over else self._follow(load, node_refs)
                self._followers.start(load.uid, work)
        self._removing &= {load.uid for load in loads}
        run_uids = {load.benchmark_uid for load in loads}
        self._newest = {key: seconds for key, seconds in self._newest.items() if key[0] in run_uids}

    async def _follow(self, load: BenchmarkLoad, places: dict[int, NodeRef]) -> None:
        node = places.get(load.node_uid)
        last_output = last_reply = ACTIVE.now()
        number = load.lines
        while load.status in LIVE:
            if node is None:
                await self._give_up(load, "The node no longer exists.")
                return
            try:
                reply = await self._agents.read_load(node, load.uid, number, WAIT_SECONDS)
            except AgentError as error:
                now = ACTIVE.now()
                if await self._is_silenced(load.node_uid):
                    last_reply = now
                if isinstance(error, AgentRefused) or now - last_reply > LOST_SECONDS:
                    await self._give_up(load, f"The results cannot be collected: {error.reason}.")
                    return
                await asyncio.sleep(RETRY_SECONDS)
                last_output = ACTIVE.now()
                continue
            last_reply = ACTIVE.now()
            if reply.lines or reply.state != "running":
                last_output = last_reply
                load = await self._save(load, reply, number)
                number += len(reply.lines)
            elif ACTIVE.now() - last_output > HUNG_AFTER_SECONDS:
                await self._give_up(load, f"The load generator wrote no output for {HUNG_AFTER_SECONDS:.0f} s.")
                return
        await self._finish(load, node)

    async def _is_silenced(self, node_uid: int) -> bool:
        """Return whether a drill silences the agent of the node. The load generator continues during a drill."""
        async with self._store.read() as session:
            return node_uid in await drills.silenced_nodes(session)

    async def _save(self, load: BenchmarkLoad, reply: LoadLines, before: int) -> BenchmarkLoad:
        """Store lines, and update the load with their contents."""
        records = []
        for number, line in enumerate(reply.lines, before + 1):
            records.append((number, _decoded(line)))
            if len(line) > LONG_LINE:
                await asyncio.sleep(0)  # many long lines must not delay other tasks
        seconds = [LoadRecord(load.uid, number, each) for number, each in records if each.get("kind") == "second"]
        async with self._store.begin() as session:
            load_row = await benchmark_runs.lock_load(session, load.uid)
            if load_row is None:  # the run was deleted
                return BenchmarkLoad(uid=load.uid, status=LoadStatus.FAILED)
            await benchmark_runs.add_seconds(session, seconds)
            load_row.lines = before + len(records)
            for _, each in records:
                _apply_line(load_row, each)
            if reply.state != "running":
                _end_load(load_row, reply)
        for second in seconds:
            self._publish(load_row, second.record)
        return load_row

    def _publish(self, load: BenchmarkLoad, record: dict[str, Any]) -> None:
        """Publish a second to the browsers that show this run, as far as its generators have reported it."""
        step = PlanStep(load.phase, load.repetition)
        tally = benchmark_seconds.tally_of_line(record)
        t = int(record.get("t", 0))
        tallies = self._newest.setdefault((load.benchmark_uid, step), {})
        tallies.setdefault(t, Tally()).add(tally)
        for second in [other for other in tallies if other < t - 10]:
            del tallies[second]
        topic = f"benchmark:{load.benchmark_uid}"
        if not self._bus.has_listeners(f"frame:{topic}"):
            return
        stored_tally = tallies[t]
        frame = {
            "topic": topic,
            "uid": load.benchmark_uid,
            "phase": step.phase,
            "repetition": step.repetition,
            "t": t,
            "at": stored_tally.at,
            "progress": load.progress,
            "values": stored_tally.row(),
            "errors": dict(stored_tally.errors),
            "histogram": stored_tally.buckets(),
        }
        self._bus.publish(f"frame:{topic}", make_frame("benchmark", frame))

    async def _finish(self, load: BenchmarkLoad, node: NodeRef | None) -> None:
        """Store the generator's own report, and remove the load from the node."""
        if node is not None:
            try:
                reports = await self._agents.load_reports(node, load.uid)
                if reports.memtier_json:
                    async with self._store.begin() as session:
                        if await benchmark_runs.lock_load(session, load.uid) is not None:
                            await benchmark_runs.save_report(session, load.uid, reports.memtier_json)
                await self._agents.remove_load(node, load.uid)
            except AgentError:  # retried by the next refresh
                await asyncio.sleep(RETRY_SECONDS)
                return
        await self._release(load)

    async def _remove(self, load: BenchmarkLoad, places: dict[int, NodeRef]) -> None:
        """Remove the load of a run that has ended from its node, without reading more output."""
        node = places.get(load.node_uid)
        if node is not None:
            try:
                await self._agents.remove_load(node, load.uid)
            except AgentRefused:  # an agent of an older release, which never started the load
                log.info("benchmarks: the agent of node %s does not support load generators", load.node_uid)
            except AgentError:  # retried by the next refresh
                await asyncio.sleep(RETRY_SECONDS)
                return
        await self._release(load)

    async def _give_up(self, load: BenchmarkLoad, reason: str) -> None:
        """Mark the load as failed. Its node keeps the output until the run ends, when the load is removed."""
        async with self._store.begin() as session:
            load_row = await benchmark_runs.lock_load(session, load.uid)
            if load_row is not None:
                load_row.status, load_row.detail = LoadStatus.FAILED, reason

    async def _release(self, load: BenchmarkLoad) -> None:
        async with self._store.begin() as session:
            load_row = await benchmark_runs.lock_load(session, load.uid)
            if load_row is not None:
                load_row.is_stored_on_node = False
                if load_row.status not in benchmark_plan.ENDED:
                    load_row.status = LoadStatus.FAILED


def _decoded(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def _apply_line(load: BenchmarkLoad, record: dict[str, Any]) -> None:
    match record.get("kind"):
        case "begin":
            load.first_line = record
        case "second":
            progress = record.get("progress")
            load.progress = min(1.0, float(progress)) if isinstance(progress, int | float) else load.progress
        case "end":
            load.last_line = record
        case "error":
            load.detail = str(record.get("message", ""))


def _end_load(load: BenchmarkLoad, reply: LoadLines) -> None:
    """Set the final status of a load whose process has ended and whose lines are complete."""
    last = load.last_line or {}
    if last.get("measured") or last.get("stopped"):
        load.status, load.progress = LoadStatus.ENDED, 1.0
        return
    load.status = LoadStatus.FAILED
    if load.last_line is not None:
        load.detail = load.detail or "No measurements: no operation succeeded."
    elif reply.state == "absent":
        load.detail = load.detail or "The load generator no longer exists, and its measurements are lost."
    else:
        output = reply.stderr_tail.strip().splitlines()
        load.detail = load.detail or " ".join(["The load generator ended without a report.", *output[-1:]])
