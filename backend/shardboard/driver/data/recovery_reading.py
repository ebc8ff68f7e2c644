"""Collects the newest copies of the cluster and its databases from agents, when the store is lost."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from shardboard.contract.recovery_copies import CLUSTER, RecoveryCopy, bdb_copy_name
from shardboard.domain.cluster.recovery_copies import Candidate, Version, candidates, is_deleted
from shardboard.driver.interfaces import Agents, NodeRef, ShardReport
from shardboard.errors import AgentError
from shardboard.kit.tasks import run_concurrently


class NoCopies(Exception):
    """No agent has a usable copy of the cluster. The message is a sentence."""


@dataclass(frozen=True)
class OpenedCopy:
    """The newest usable copy of an object."""

    version: Version
    content: dict[str, Any]


@dataclass
class Collected:
    """All that the agents know. `problems` are sentences about what is missing or not the newest."""

    cluster: OpenedCopy
    databases: dict[int, OpenedCopy] = field(default_factory=dict)
    deleted: list[int] = field(default_factory=list)
    """Databases of which only copies from before their deletion were found."""
    reports: dict[int, list[ShardReport]] = field(default_factory=dict)
    """Shards that the agents have, by uid of the node. Without nodes whose agent did not respond."""
    problems: list[str] = field(default_factory=list)


class CopyCollector:
    """`unseal` decrypts a copy and raises ValueError, with a message that continues a sentence, if that is impossible."""

    def __init__(self, agents: Agents, unseal: Callable[[RecoveryCopy], bytes]) -> None:
        self._agents = agents
        self._unseal = unseal
        self._nodes: list[NodeRef] = []
        """Nodes in the order in which they were asked. Candidates refer to them by index."""
        self._held: dict[int, dict[str, Version]] = {}
        self._problems: list[str] = []

    async def collect(self, seeds: Sequence[NodeRef]) -> Collected:
        """Read the cluster from some agents, and everything from all nodes that it has. Raises NoCopies."""
        await self._list(seeds)
        cluster = await self._newest_cluster()
        while not self._has_asked(every := node_refs(cluster)):
            await self._list(every)
            cluster = await self._newest_cluster()
        collected = Collected(cluster, problems=self._problems)
        await self._read_databases(collected)
        await run_concurrently(self._read_shards(node, collected) for node in every)
        return collected

    def _has_asked(self, every: Sequence[NodeRef]) -> bool:
        asked = {(node.addr, node.port) for node in self._nodes}
        return all((node.addr, node.port) in asked for node in every)

    async def _list(self, nodes: Sequence[NodeRef]) -> None:
        asked = {(node.addr, node.port) for node in self._nodes}
        added = [node for node in nodes if (node.addr, node.port) not in asked]
        start = len(self._nodes)
        self._nodes += added
        await run_concurrently(self._list_one(start + number, node) for number, node in enumerate(added))

    async def _list_one(self, index: int, node: NodeRef) -> None:
        try:
            held = await self._agents.list_copies(node)
        except AgentError as error:
            self._problems.append(f"The copies of {node.addr} could not be read: {error.reason}.")
            return
        self._held[index] = {each.name: Version(each.term, each.counter) for each in held}

    async def _newest_cluster(self) -> OpenedCopy:
        found = await self._open(CLUSTER, candidates(self._held).get(CLUSTER, []))
        if found is None:
            reasons = "\n".join(["No agent has a usable copy of the cluster.", *self._problems])
            raise NoCopies(reasons)
        return found

    async def _read_databases(self, collected: Collected) -> None:
        names = {int(uid): name for uid, name in collected.cluster.content["databases"].items()}
        found = candidates(self._held)
        uids = {int(name.removeprefix("bdb-")) for name in found.keys() - {CLUSTER}}
        for uid in sorted(uids | names.keys()):
            copies = found.get(bdb_copy_name(uid), [])
            if copies and is_deleted(copies[0].version, collected.cluster.version, uid, names):
                collected.deleted.append(uid)
            elif (copy := await self._open(bdb_copy_name(uid), copies)) is not None:
                collected.databases[uid] = copy
            else:
                self._problems.append(f"No usable copy of database {uid} ({names.get(uid, 'unknown name')}) was found.")

    async def _open(self, name: str, copies: Sequence[Candidate]) -> OpenedCopy | None:
        """Return the first usable copy. It is a problem if there may be a newer one."""
        reasons = []
        for candidate in copies:
            try:
                content = await self._read(name, candidate)
            except (AgentError, ValueError) as error:
                reasons.append(f"The copy {name} of {self._nodes[candidate.node_uid].addr} {error}.")
                continue
            if candidate.version < copies[0].version:
                self._add_problems(*reasons, f"The newest copy {name} is not usable. An older one was found.")
            return OpenedCopy(candidate.version, content)
        self._add_problems(*reasons)
        return None

    async def _read(self, name: str, candidate: Candidate) -> dict[str, Any]:
        """Raises AgentError and ValueError, whose messages continue a sentence."""
        try:
            copy = await self._agents.read_copy(self._nodes[candidate.node_uid], name)
        except AgentError as error:
            raise AgentError(f"could not be read: {error.reason}") from error
        if copy is None or Version(copy.term, copy.counter) != candidate.version:
            raise ValueError("is no longer there")
        content: dict[str, Any] = json.loads(self._unseal(copy))
        return content

    def _add_problems(self, *problems: str) -> None:
        self._problems += [each for each in problems if each not in self._problems]

    async def _read_shards(self, node: NodeRef, collected: Collected) -> None:
        try:
            collected.reports[node.uid] = await self._agents.shards(node)
        except AgentError as error:
            problem = f"The shards of node {node.uid} ({node.addr}) could not be read: {error.reason}."
            self._problems.append(problem)


def node_refs(cluster: OpenedCopy) -> list[NodeRef]:
    return [NodeRef(row["uid"], row["addr"], row["agent_port"]) for row in cluster.content["nodes"]]
