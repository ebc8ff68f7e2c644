"""Failure drills: faults on demand, to practise for outages. They affect only the shards, proxy and network of this agent.

A drill is recorded in a file before it starts. An agent that is killed or restarted during a drill continues it until its planned
end, unless the machine was restarted.
"""

import asyncio
import logging
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from shardboard.agent.databases.processes import ShardSupervisor
from shardboard.agent.databases.proxy import ProxyProcess
from shardboard.agent.failures import drill_end_port
from shardboard.agent.failures.drill_record import DrillRecord, DrillRecords, boot_id
from shardboard.agent.failures.network_faults import NetworkFault, PacketLoss, Partition
from shardboard.agent.metrics.sampler import Sampler
from shardboard.contract import Drill

log = logging.getLogger(__name__)

END_PATH = "/drill/end"
"""Path that an agent serves also while it simulates an outage."""
REPLY_SECONDS = 0.2
"""Delay before a fault that cuts the agent off, so that the console receives the reply first."""
LISTENING_SECONDS = 30
KILLED_EXIT_STATUS = 128 + signal.SIGKILL
"""Exit status of a process that was killed with SIGKILL."""
KILLING = ("reboot", "kill", "kill_shard")


@dataclass
class RunningDrill:
    """A drill that has started or waits for an earlier one. `is_adopted`: it was started by an earlier agent process."""

    record: DrillRecord
    is_adopted: bool = False
    must_end: asyncio.Event = field(default_factory=asyncio.Event)
    may_serve: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when an agent that continues the drill may serve requests."""

    @property
    def drill(self) -> Drill:
        return self.record.drill

    async def wait(self) -> None:
        """Wait for the planned end, or until the drill must end early."""
        self.may_serve.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.record.seconds_left):
                await self.must_end.wait()


class Drills:
    """Runs drills one at a time; a second drill waits for the first."""

    def __init__(
        self,
        supervisor: ShardSupervisor,
        sampler: Sampler,
        proxy: ProxyProcess,
        address: str,
        port: int,
        state_dir: Path,
    ) -> None:
        self._address = address
        self._port = port
        self._supervisor = supervisor
        self._proxy = proxy
        self._sampler = sampler
        self._records = DrillRecords(state_dir)
        self._running = asyncio.Lock()
        self._deciding = asyncio.Lock()
        self._drills: dict[str, tuple[RunningDrill, asyncio.Task[None]]] = {}
        self._received: set[str] = set()
        self.simulated_outage: Literal["", "refusing", "silent"] = ""
        """Simulated outage of the node: `refusing` as after a crash, `silent` as when frozen, or empty."""
        self.ended = asyncio.Event()

    async def start(self, drill: Drill) -> str:
        """Start a drill and return "", or return why it is impossible here. A drill that was already received is not repeated."""
        async with self._deciding:  # the same request can arrive twice at once
            if drill.id in self._received:
                return ""
            if refusal := await asyncio.to_thread(self._refusal, drill):
                return refusal
            record = DrillRecord(
                drill=drill, ends_at=time.time() + drill.seconds, proxy_pid=self._proxy.pid, boot_id=boot_id()
            )
            if drill.kind != "kill":  # the restarted agent must not repeat it
                try:
                    await asyncio.to_thread(self._records.save, record)
                except OSError as error:
                    return (
                        f"the record of the drill cannot be written to {self._records.path(drill.id)}: {error.strerror}"
                    )
            self._begin(RunningDrill(record))
        return ""

    async def end(self, drill_id: str) -> None:
        """End a drill now, and return when its fault is removed. A drill that was not received yet will not start."""
        async with self._deciding:
            self._received.add(drill_id)
        if drill_id in self._drills:
            running, task = self._drills[drill_id]
            running.must_end.set()
            await asyncio.wait((task,))

    async def adopt(self) -> None:
        """Continue the drill of an earlier agent process, or remove what it has left if its planned end has passed. Simulated
        outages continue before the agent serves requests, and isolation when it listens: an isolated address cannot be bound.
        """
        for record in await asyncio.to_thread(self._records.load):
            if record.is_of_earlier_boot:
                log.warning("drill: %s ended, because the machine was restarted", record.drill.kind)
                self._received.add(record.drill.id)
                await asyncio.to_thread(self._records.remove, record.drill.id)
                continue
            running = RunningDrill(record, is_adopted=True)
            waiting = asyncio.create_task(running.may_serve.wait())
            await asyncio.wait((self._begin(running), waiting), return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()

    def _begin(self, running: RunningDrill) -> asyncio.Task[None]:
        drill_id = running.drill.id
        self._received.add(drill_id)
        task = asyncio.create_task(self._run(running))
        self._drills[drill_id] = running, task
        task.add_done_callback(lambda _: self._drills.pop(drill_id, None))
        return task

    def _refusal(self, drill: Drill) -> str:
        if drill.kind == "kill" and not _is_supervised():
            return "the agent does not run under systemd, so it would not be restarted; use a reboot drill instead"
        fault = self._fault(drill)
        return fault.unsupported_reason() if fault else ""

    def _fault(self, drill: Drill) -> NetworkFault | None:
        """Return the network fault of this drill; None if it does not affect the network."""
        if drill.kind == "cut_off":
            return Partition(self._address, drill.peers, self._port)
        return PacketLoss(self._address) if drill.kind == "slow_network" else None

    async def _run(self, running: RunningDrill) -> None:
        drill = running.drill
        async with self._running:
            if running.must_end.is_set():
                pass  # it was ended while it waited for an earlier drill
            elif network := self._fault(drill):
                await self._apply_network_fault(network, running)
            else:
                await self._apply_process_fault(running)
            # Not reached if this agent stops before, so that the next one continues the drill.
            await asyncio.to_thread(self._records.remove, drill.id)

    async def _apply_process_fault(self, running: RunningDrill) -> None:
        drill = running.drill
        if drill.kind == "kill":
            await asyncio.sleep(REPLY_SECONDS)
        uids = [
            uid
            for uid, shard in self._supervisor.shards.items()
            if drill.uid in (None, uid)
            and (drill.engine_ids is None or shard.record.spec.engine_id in drill.engine_ids)
        ]
        log.warning("drill: %s of shards %s for %.0f s", drill.kind, uids, running.record.seconds_left)
        killing = drill.kind in KILLING
        signal_number = signal.SIGKILL if killing else signal.SIGSTOP
        must_signal = not (killing and running.is_adopted)  # killed processes can have been started again
        if must_signal:
            self._supervisor.signal(uids, signal_number)
        if drill.kind == "kill":
            self._proxy.signal(signal_number, self._proxy.pid)
            os._exit(KILLED_EXIT_STATUS)  # as process 1 of a container, the agent would ignore its own signal
        if drill.kind == "kill_shard":
            return
        try:
            if drill.uid is None:
                self._proxy.suspend()
                if must_signal:
                    self._proxy.signal(signal_number, running.record.proxy_pid)
                self.simulated_outage = "refusing" if killing else "silent"
                self.ended.clear()
                self._sampler.ring.close() if killing else self._sampler.ring.pause()
            await running.wait()
        finally:
            self.simulated_outage = ""
            self.ended.set()
            self._sampler.ring.resume()
            if not killing:
                self._supervisor.signal(uids, signal.SIGCONT)
                if drill.uid is None:
                    self._proxy.signal(signal.SIGCONT, running.record.proxy_pid)
            self._proxy.resume()
        log.warning("drill: %s ended", drill.kind)

    async def _apply_network_fault(self, fault: NetworkFault, running: RunningDrill) -> None:
        drill = running.drill
        async with drill_end_port.listen(drill, self._address, self._port, running.must_end.set):
            if running.is_adopted:
                await asyncio.to_thread(fault.end)  # of the earlier agent process
                running.may_serve.set()
                await self._until_listening()
                if not running.record.seconds_left:
                    return
            else:
                await asyncio.sleep(REPLY_SECONDS)
            log.warning("drill: %s for %.0f s", drill.kind, running.record.seconds_left)
            # In threads: these calls run programs and wait for them.
            starting = asyncio.get_running_loop().run_in_executor(
                None, fault.start, running.record.seconds_left, self._records.path(drill.id)
            )
            try:
                await asyncio.shield(starting)
                await running.wait()
            finally:
                await asyncio.wait(
                    (starting,)
                )  # an agent that stops now must not remove the fault before it is applied
                await asyncio.to_thread(fault.end)
        log.warning("drill: network restored")

    async def _until_listening(self) -> None:
        """Wait until this agent listens, at most `LISTENING_SECONDS`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LISTENING_SECONDS):
                while not await _accepts_connections(self._address, self._port):  # noqa: ASYNC110 - a port has no event
                    await asyncio.sleep(0.05)


async def _accepts_connections(address: str, port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection(address, port)
    except OSError:
        return False
    writer.close()
    return True


def _is_supervised() -> bool:
    """Return whether systemd started this process. It sets an invocation id for its services."""
    return "INVOCATION_ID" in os.environ


class OutageSimulator:
    """Simulates an outage of the agent during a drill. Plain ASGI middleware around all routes, except the one that ends drills."""

    def __init__(self, app: ASGIApp, drills: Drills) -> None:
        self._app = app
        self._drills = drills

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_affected = scope["type"] == "http" and scope["path"] != END_PATH
        if is_affected and self._drills.simulated_outage == "refusing":
            await PlainTextResponse("unavailable during a drill", status_code=503)(scope, receive, send)
            return
        if is_affected and self._drills.simulated_outage == "silent":
            await self._drills.ended.wait()
        await self._app(scope, receive, send)
