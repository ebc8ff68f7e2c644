"""State of the pairs that the moves of one action concern, as observed in one step: rows, engines and resyncs.

Read once per step, with no session left open.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from shardboard.domain.cluster.node_status import AgentStatus, NodeHealth
from shardboard.domain.databases.shard_status import DesiredState, ShardStatus
from shardboard.domain.placement.moves import Move, PairMember
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.driver import replication
from shardboard.driver.interfaces import Agents
from shardboard.driver.replication import Link
from shardboard.driver.valkey_cluster import EngineSettings, ShardRef
from shardboard.reconcilers import load_database
from shardboard.state.alerting import events
from shardboard.state.cluster import nodes
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.shards import Shard
from shardboard.store.db import Store


@dataclass(frozen=True)
class ObservedDatabase:
    """One database: its engine settings and all shards that have a row."""

    name: str
    engine: EngineSettings
    rows: Mapping[int, Shard]
    shards: Mapping[int, ShardRef]

    @cached_property
    def places(self) -> Mapping[tuple[str, int], int]:
        """Uids by address and port."""
        return {(shard.node.addr, shard.port): shard.uid for shard in self.shards.values()}

    @cached_property
    def pairs(self) -> Mapping[int, Sequence[Shard]]:
        shards_by_bdb: dict[int, list[Shard]] = {}
        for row in self.rows.values():
            shards_by_bdb.setdefault(row.pair, []).append(row)
        return shards_by_bdb

    @property
    def desired_shards(self) -> list[ShardRef]:
        return [shard for shard in self.shards.values() if self.rows[shard.uid].desired == DesiredState.RUNNING]

    def primaries(self, links: Mapping[int, Link]) -> list[ShardRef]:
        """Return the primaries as reported by the engines; for pairs that were not polled, as in their rows."""
        return [
            shard
            for shard in self.desired_shards
            if (links[shard.uid].is_primary if shard.uid in links else _was_primary(self.rows[shard.uid]))
        ]


@dataclass(frozen=True)
class CopyProgress:
    """Progress of a replica's copy."""

    percent: float
    eta: float | None


@dataclass(frozen=True)
class ObservedPairs:
    """Complete state found by one poll."""

    databases: Mapping[int, ObservedDatabase]
    links: Mapping[int, Link]
    """Links of the concerned pairs' shards that responded."""
    known: frozenset[int]
    """New shards that all primaries of their database know."""
    unreachable: frozenset[int]
    """Unreachable nodes."""
    resyncs: Mapping[int, CopyProgress]

    def members(self, move: Move) -> dict[int, PairMember]:
        """Return the shards of the move's pair."""
        base = self.databases[move.bdb]
        return {row.uid: self._member(row, base) for row in base.pairs.get(move.pair, ())}

    def resync(self, move: Move) -> CopyProgress | None:
        """Return the resync of the new shard; None if it was not observed."""
        return self.resyncs.get(move.new_shard) if move.new_shard is not None else None

    def primary(self, move: Move) -> ShardRef | None:
        """Return the primary of the move's pair; None if it has none."""
        primary_uids = [each.uid for each in self.members(move).values() if each.is_primary and each.is_desired]
        return self.databases[move.bdb].shards[primary_uids[0]] if primary_uids else None

    def _member(self, row: Shard, base: ObservedDatabase) -> PairMember:
        link = self.links.get(row.uid)
        member = PairMember(
            row.uid, is_desired=row.desired == DesiredState.RUNNING, is_unreachable=row.node_uid in self.unreachable
        )
        if link is None:
            return member
        return replace(
            member,
            answers=True,
            is_primary=link.is_primary,
            in_sync=link.up and not link.is_primary and (not base.engine.cluster or row.uid in self.known),
            follows=base.places.get(link.primary) if link.primary is not None else None,
        )


async def observe(store: Store, agents: Agents, moves: Iterable[Move]) -> ObservedPairs:
    """Read the store, then poll the engines of the concerned pairs. Deleted databases are left out."""
    concerned = list(moves)
    async with store.read() as session:
        machines = await nodes.list_all(session)
        node_refs = {node.uid: load_database.node_ref(node) for node in machines}
        occupying_rows = [row for row in await shards.list_occupying(session) if row.node_uid in node_refs]
        bdbs_by_uid = {uid: await bdbs.by_uid(session, uid) for uid in {move.bdb for move in concerned}}
        spans = await events.list_open_spans(session, "resync")
    bases = {}
    for uid, bdb in bdbs_by_uid.items():
        if bdb is not None:
            rows = {row.uid: row for row in occupying_rows if row.bdb_uid == uid}
            references = {row.uid: load_database.shard_ref(row, node_refs[row.node_uid]) for row in rows.values()}
            bases[uid] = ObservedDatabase(bdb.name, load_database.engine_settings(bdb), rows, references)
    unavailable_uids = frozenset(
        node.uid for node in machines if node.health == NodeHealth.DOWN or node.agent_status != AgentStatus.CONNECTED
    )
    pairs = {(move.bdb, move.pair) for move in concerned}
    reachable_shards = [
        shard
        for uid, base in bases.items()
        for shard in base.shards.values()
        if (uid, shard.pair) in pairs and shard.node.uid not in unavailable_uids
    ]
    links = await replication.links(agents, reachable_shards)
    resyncs = {
        span.shard_uid: CopyProgress(span.details["percent"], span.details.get("eta_seconds"))
        for span in spans
        if span.shard_uid is not None
    }
    known_shards = await _known(agents, bases, links, concerned)
    return ObservedPairs(bases, links, known_shards, unavailable_uids, resyncs)


async def _known(
    agents: Agents, bases: Mapping[int, ObservedDatabase], links: Mapping[int, Link], moves: Sequence[Move]
) -> frozenset[int]:
    """Return the shards that may be promoted. In cluster mode a new shard must be known to all primaries in addition to having all
    data. Old shards are known.
    """
    known_shards = set(links)
    for uid, base in bases.items():
        if not base.engine.cluster:
            continue
        primaries = base.primaries(links)
        primaries_by_pair = {shard.pair: shard for shard in primaries}
        new_links = [
            (base.shards[new_shard], primaries_by_pair[pair])
            for new_shard, pair in ((move.new_shard or 0, move.pair) for move in moves if move.bdb == uid)
            if new_shard in links
            and links[new_shard].up
            and not links[new_shard].is_primary
            and pair in primaries_by_pair
        ]
        if not new_links:
            continue
        missing = await replication.unaware_hosts(agents, primaries, new_links)
        known_shards -= {new_shard for new_shard, hosts in missing.items() if hosts}
        for hosts, new_shard in [(missing[shard.uid], shard) for shard, _ in new_links if missing[shard.uid]]:
            await replication.meet(agents, hosts, [new_shard])
    return frozenset(known_shards)


def _was_primary(row: Shard) -> bool:
    return row.current_role == ShardRole.PRIMARY and row.observed_status != ShardStatus.DOWN
