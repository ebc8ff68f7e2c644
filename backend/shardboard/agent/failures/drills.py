"""Failure drills: faults on demand, to practise for outages. They affect only the shards, proxy and network of this agent."""

import asyncio
import logging
import os
import signal
from typing import Literal

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from shardboard.agent.databases.processes import ShardSupervisor
from shardboard.agent.databases.proxy import ProxyProcess
from shardboard.agent.failures.network_faults import NetworkFault, PacketLoss, Partition
from shardboard.agent.metrics.sampler import Sampler
from shardboard.contract import Drill

log = logging.getLogger(__name__)

REPLY_SECONDS = 0.2
"""Delay before a fault that cuts the agent off, so that the console receives the reply first."""
KILLED_EXIT_STATUS = 128 + signal.SIGKILL
"""Exit status of a process that was killed with SIGKILL."""


class Drills:
    """Runs drills one at a time; a second drill waits for the first."""

    def __init__(self, supervisor: ShardSupervisor, sampler: Sampler, proxy: ProxyProcess, address: str) -> None:
        self._address = address
        self._supervisor = supervisor
        self._proxy = proxy
        self._sampler = sampler
        self._running = asyncio.Lock()
        self._deciding = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
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
            self._received.add(drill.id)
        task = asyncio.create_task(self._run(drill))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return ""

    def _refusal(self, drill: Drill) -> str:
        if drill.kind == "kill" and not _is_supervised():
            return "the agent does not run under systemd, so it would not be restarted; use a reboot drill instead"
        fault = self._fault(drill)
        return fault.unsupported_reason() if fault else ""

    def _fault(self, drill: Drill) -> NetworkFault | None:
        """Return the network fault of this drill; None if it does not affect the network."""
        if drill.kind == "cut_off":
            return Partition(self._address, drill.peers)
        return PacketLoss(self._address) if drill.kind == "slow_network" else None

    async def _run(self, drill: Drill) -> None:
        async with self._running:
            if network := self._fault(drill):
                await self._apply_network_fault(network, drill)
                return
            if drill.kind == "kill":
                await asyncio.sleep(REPLY_SECONDS)
            uids = [
                uid
                for uid, shard in self._supervisor.shards.items()
                if drill.uid in (None, uid)
                and (drill.engine_ids is None or shard.record.spec.engine_id in drill.engine_ids)
            ]
            log.warning("drill: %s of shards %s for %s s", drill.kind, uids, drill.seconds)
            killing = drill.kind in ("reboot", "kill", "kill_shard")
            signal_number = signal.SIGKILL if killing else signal.SIGSTOP
            self._supervisor.signal(uids, signal_number)
            if drill.kind == "kill":
                self._proxy.signal(signal_number)
                os._exit(KILLED_EXIT_STATUS)  # as process 1 of a container, the agent would ignore its own signal
            try:
                if drill.uid is None:
                    self._proxy.suspend()
                    self._proxy.signal(signal_number)
                    self.simulated_outage = "refusing" if killing else "silent"
                    self.ended.clear()
                    self._sampler.close() if killing else self._sampler.pause()
                await asyncio.sleep(drill.seconds)
            finally:
                self.simulated_outage = ""
                self.ended.set()
                self._sampler.resume()
                if not killing:
                    self._supervisor.signal(uids, signal.SIGCONT)
                    if drill.uid is None:
                        self._proxy.signal(signal.SIGCONT)
                self._proxy.resume()
            log.warning("drill: %s ended", drill.kind)

    async def _apply_network_fault(self, fault: NetworkFault, drill: Drill) -> None:
        await asyncio.sleep(REPLY_SECONDS)
        log.warning("drill: %s for %s s", drill.kind, drill.seconds)
        # In a thread: these calls run programs and wait for them.
        await asyncio.to_thread(fault.start, drill.seconds)
        try:
            await asyncio.sleep(drill.seconds)
        finally:
            await asyncio.to_thread(fault.end)
        log.warning("drill: network restored")


def _is_supervised() -> bool:
    """Return whether systemd started this process. It sets an invocation id for its services."""
    return "INVOCATION_ID" in os.environ


class OutageSimulator:
    """Simulates an outage of the agent during a drill. Plain ASGI middleware around all routes."""

    def __init__(self, app: ASGIApp, drills: Drills) -> None:
        self._app = app
        self._drills = drills

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._drills.simulated_outage == "refusing":
            await PlainTextResponse("unavailable during a drill", status_code=503)(scope, receive, send)
            return
        if scope["type"] == "http" and self._drills.simulated_outage == "silent":
            await self._drills.ended.wait()
        await self._app(scope, receive, send)
