"""The machines of a simulation: what their agents would find, without processes.

Creation, samples, failover, recovery of replicas, and deletion behave as with real agents. Processes start immediately, replicas
are always in sync, and shards contain no keys. Databases must be in cluster mode.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

from shardboard import __version__
from shardboard.contract import FirewallReport, NodeFacts, ProbeTarget, ShardOutcome, ShardSpec, StartShards
from shardboard.contract.recovery_copies import CopyVersion, RecoveryCopy
from shardboard.driver.fake_agents import FACTS, FakeAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.local.simulation.database import SimulatedDatabase

CORES, MEMORY = 64, 256 * 2**30
"""A machine of the published benchmark of linear scaling."""
PROBES_PER_SECOND = 10
"""PINGs per shard: what such a machine can afford for its shards (`agent/databases/probe_rate.py`)."""
KILLED = "its process was killed by SIGKILL"


def facts_of(address: str) -> NodeFacts:
    """Return the description of a simulated machine."""
    return FACTS.model_copy(
        update={
            "hostname": f"simulated-{address}",
            "machine_id": f"simulated-{address}",
            "cores": CORES,
            "total_memory": MEMORY,
            "agent_version": __version__,
            "addresses": [address],
            "firewall": FirewallReport(state="active"),
            "probes_per_second": PROBES_PER_SECOND,
        }
    )


class SimulatedAgents(FakeAgents):
    """All simulated nodes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self.nodes: dict[int, NodeRef] = {}
        """By uid."""
        self.databases: dict[int, SimulatedDatabase] = defaultdict(SimulatedDatabase)
        """By uid."""
        self.promotion_requests: dict[int, float] = {}
        """When the console first requested the promotion of a shard, by uid, in seconds of the clock."""
        self._node_of: dict[int, int] = {}
        """Node of each shard, by uid."""
        self._copies: dict[CopyVersion, RecoveryCopy] = {}
        """Each copy once, although many nodes have it."""

    async def facts(self, node: NodeRef) -> NodeFacts:
        return facts_of(node.addr)

    async def start(self, node: NodeRef, request: StartShards) -> list[ShardOutcome]:
        database = self.databases[request.bdb.uid]
        database.learn(request.bdb.peers)
        known = set(self.running[node.uid])
        outcomes = await super().start(node, request)
        for spec in request.shards:
            if spec.uid in self.running[node.uid] and spec.uid not in known:
                database.add(spec, node.addr)
                self._node_of[spec.uid] = node.uid
                self.started_at[spec.uid] = round(time.time(), 2)
                self.silent -= _ports(node, spec)
        return outcomes

    async def remove(self, node: NodeRef, shards: Mapping[int, str], *, dead_only: bool = False) -> list[ShardOutcome]:
        affected = [spec for uid in shards if (spec := self.running[node.uid].get(uid)) is not None]
        outcomes = await super().remove(node, shards, dead_only=dead_only)
        for spec in affected:
            if spec.uid not in self.running[node.uid]:
                self.databases[spec.bdb_uid].remove(spec.engine_id)
        return outcomes

    async def probe(self, node: NodeRef, targets: Sequence[ProbeTarget]) -> list[bool]:
        return [(target.address, target.port) not in self.silent for target in targets]

    async def keep_copies(
        self, node: NodeRef, copies: Sequence[RecoveryCopy], names: Sequence[str]
    ) -> list[CopyVersion]:
        shared = [self._copies.setdefault(copy.version, copy) for copy in copies]
        return await super().keep_copies(node, shared, names)

    def spec(self, uid: int) -> ShardSpec:
        return self.running[self._node_of[uid]][uid]

    def kill_shards(self, uids: Collection[int]) -> None:
        """End the processes of these shards. The next samples report them."""
        for uid in uids:
            node, spec = self.nodes[self._node_of[uid]], self.spec(uid)
            self.died[uid] = KILLED
            self.silent |= _ports(node, spec)
            self.databases[spec.bdb_uid].kill(spec.engine_id)

    def primaries(self, node_uid: int) -> list[int]:
        """Return the uids of the running primaries of a node that have a replica."""
        return [
            uid
            for uid, spec in self.running[node_uid].items()
            if uid not in self.died and self.databases[spec.bdb_uid].replicas_of(spec.engine_id)
        ]

    def _promote(self, uid: int) -> None:
        self.promotion_requests.setdefault(uid, self._clock())
        spec = self.spec(uid)
        self.databases[spec.bdb_uid].promote(spec.engine_id)

    def _reply(self, spec: ShardSpec, argv: tuple[str, ...]) -> str:
        database = self.databases[spec.bdb_uid]
        match argv:
            case ("CLUSTER", "NODES"):
                return database.cluster_nodes(spec.engine_id)
            case ("CLUSTER", "INFO"):
                return database.cluster_info(spec.engine_id)
            case ("INFO", "replication"):
                return database.replication(spec.engine_id)
        return super()._reply(spec, argv)


def _ports(node: NodeRef, spec: ShardSpec) -> set[tuple[str, int]]:
    return {(node.addr, spec.port), (node.addr, spec.bus_port)}
