"""The process of all simulated agents: `python -m shardboard.local.simulation.serve_agents DIRECTORY`.

Its owner sends requests as lines of JSON to its standard input, and receives one line for each (`agent_process.py`). The process
ends when its standard input closes.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from uvicorn.server import ServerState

from shardboard.agent.cluster import key_generation
from shardboard.agent.cluster.identity import AgentIdentity, AgentPort, CertificateRenewal
from shardboard.agent.cluster.join import enrol
from shardboard.agent.cluster.terms import AcceptedTerm
from shardboard.agent.metrics.sample_ring import PULSE, SampleRing
from shardboard.agent.metrics.sampler import next_second
from shardboard.driver.interfaces import NodeRef, Sample
from shardboard.kit import gc_tuning
from shardboard.local.simulation.agent_app import SimulatedNode, create_app
from shardboard.local.simulation.agents import SimulatedAgents, facts_of
from shardboard.local.simulation.samples import NodeSampler
from shardboard.net import connection_limits, http_server

PORT = 9700
JOINS = 4
"""Agents that join at the same time."""
NODES_PER_TURN = 10
"""Samples after which other tasks can run."""


class Counters:
    """Lines that the console has received since the start."""

    def __init__(self) -> None:
        self.samples = self.shard_samples = self.pulses = self.bytes = 0
        self.latest = 0.0
        """Longest time from the start of a second until the samples of all nodes were complete, since the last reading."""


class CountedRing(SampleRing):
    """Counts lines when the connection has accepted them. It accepts the next one when the console has read most of the others."""

    def __init__(self, counters: Counters) -> None:
        super().__init__()
        self._counters = counters
        self._shards = 0
        """Shards in the newest sample."""
        self.sent = 0
        """Number of the newest sample that a console has received."""

    def append(self, sample: Sample) -> None:
        self._shards = len(sample.shards)
        super().append(sample)

    async def follow(self, after: int, boot: str, *, rare_pulses: bool = False) -> AsyncIterator[bytes]:
        counters = self._counters
        async for line in super().follow(after, boot, rare_pulses=rare_pulses):
            yield line
            counters.bytes += len(line)
            if line == PULSE:
                counters.pulses += 1
            else:
                counters.samples += 1
                self.sent = self.seq
                counters.shard_samples += self._shards


class AgentServer:
    """Simulated agents, each on its own address."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._agents = SimulatedAgents()
        self._counters = Counters()
        self._nodes: dict[str, SimulatedNode] = {}
        """By address."""
        self._samplers: dict[int, NodeSampler] = {}
        """By node."""
        self._rings: list[CountedRing] = []
        self._reported: dict[int, float] = {}
        """When the first sample that reports the end of a shard was complete, by shard."""
        self._servers: dict[str, list[asyncio.Server]] = {}
        self._state = ServerState()
        self._config = http_server.config(create_app(self._agents, self._nodes), "", PORT)

    async def join(self, console: str, tokens: Mapping[str, str], ops: int) -> dict[str, Any]:
        """Join with these tokens, by address, and serve."""
        self._config.load()
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(JOINS) as threads:

            async def join_one(address: str, token: str) -> None:
                state = self._directory / "agents" / address
                state.mkdir(mode=0o700, parents=True)
                enter = partial(enrol, console, token, address, PORT, state, facts_of(address), "", key_generation.make)
                await self._serve(await loop.run_in_executor(threads, enter), state, ops)

            async with asyncio.TaskGroup() as group:
                for address, token in tokens.items():
                    group.create_task(join_one(address, token))
        gc_tuning.freeze_objects()
        return {"nodes": len(self._nodes)}

    async def _serve(self, identity: AgentIdentity, state: Path, ops: int) -> None:
        port = AgentPort(identity)
        node = NodeRef(identity.node_uid, identity.addr, PORT)
        ring = CountedRing(self._counters)
        self._agents.nodes[node.uid] = node
        self._rings.append(ring)
        self._samplers[node.uid] = NodeSampler(self._agents, node, ops, ring)
        self._nodes[node.addr] = SimulatedNode(node, CertificateRenewal(identity, port), ring, AcceptedTerm(state))
        listeners = connection_limits.listen(node.addr, PORT, self._config.backlog)
        loop = asyncio.get_running_loop()
        self._servers[node.addr] = [
            await loop.create_server(self._protocol, sock=listener, ssl=port.context) for listener in listeners
        ]

    def _protocol(self) -> asyncio.Protocol:
        return connection_limits.TimeoutProtocol(config=self._config, server_state=self._state, app_state={})

    async def sample(self) -> None:
        """Sample all nodes each second until cancelled."""
        last = 0
        while True:
            now = time.time()
            last = next_second(now, 0.0, last)
            await asyncio.sleep(last - now)
            for index, sampler in enumerate(list(self._samplers.values())):
                sample = sampler.sample(last)
                for uid in sample.died:
                    self._reported.setdefault(uid, time.monotonic())
                if index % NODES_PER_TURN == 0:
                    await asyncio.sleep(0)
            self._counters.latest = max(self._counters.latest, time.time() - last)
            self._agents.calls.clear()
            self._agents.commands.clear()

    async def counters(self) -> dict[str, Any]:
        """Return the counters, and the number of agents whose samples the console receives."""
        reached = sum(ring.sent > 0 and ring.sent >= ring.seq - 1 for ring in self._rings)
        values = vars(self._counters) | {"at": time.monotonic(), "reached": reached}
        self._counters.latest = 0.0
        return values

    async def kill_shard(self, avoid: list[int]) -> dict[str, Any]:
        """Kill a primary that has a replica, on another node than those in `avoid`. Without one, `killed` is empty."""
        killable = ((uid, each) for uid in self._samplers if uid not in avoid for each in self._agents.primaries(uid))
        node_uid, uid = next(killable, (0, 0))
        if not uid:
            return {"killed": []}
        promotable = self._replicas(uid)
        self._agents.kill_shards([uid])
        return {"at": time.monotonic(), "node": node_uid, "killed": [uid], "promotable": promotable}

    async def lose_node(self, avoid: list[int]) -> dict[str, Any]:
        """Kill all processes of a node that has primaries with replicas, on another node than those in `avoid`. Without one,
        `killed` is empty."""
        node_uid = next((uid for uid in self._samplers if uid not in avoid and self._agents.primaries(uid)), 0)
        if not node_uid:
            return {"killed": []}
        node, killed = self._agents.nodes[node_uid], self._agents.primaries(node_uid)
        promotable = [replica for uid in killed for replica in self._replicas(uid)]
        del self._samplers[node_uid]
        self._nodes.pop(node.addr).ring.close()
        self._agents.kill_shards(self._agents.running[node_uid])
        for server in self._servers.pop(node.addr):
            server.close()
        for connection in list(self._state.connections):
            if connection.transport.get_extra_info("sockname")[0] == node.addr:
                connection.transport.abort()
        return {"at": time.monotonic(), "node": node_uid, "killed": killed, "promotable": promotable}

    def _replicas(self, uid: int) -> list[int]:
        spec = self._agents.spec(uid)
        replicas = self._agents.databases[spec.bdb_uid].replicas_of(spec.engine_id)
        return [each.spec.uid for each in replicas[:1]]

    async def promotions(self, uids: list[int], killed: list[int]) -> dict[str, Any]:
        """Return when the console requested the promotion of these replicas, and when samples reported the end of shards."""
        requests = self._agents.promotion_requests
        return {
            "requested": [requests[uid] for uid in uids if uid in requests],
            "reported": [self._reported[uid] for uid in killed if uid in self._reported],
        }


async def _run(directory: Path) -> None:
    connection_limits.raise_file_limit()
    server = AgentServer(directory)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=2**24)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    sampling = loop.create_task(server.sample())
    while line := await reader.readline():
        name, arguments = json.loads(line)
        try:
            reply = await getattr(server, name)(**arguments)
        except Exception as error:
            reasons = error.exceptions if isinstance(error, ExceptionGroup) else [error]
            reply = {"error": f"{name}: {reasons[0] or type(reasons[0]).__name__}"}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
        if sampling.done():
            sampling.result()


if __name__ == "__main__":
    asyncio.run(_run(Path(sys.argv[1])))
