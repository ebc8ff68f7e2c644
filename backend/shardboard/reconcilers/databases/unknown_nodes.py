"""Detection and removal of foreign nodes in the cluster of a database.

A cluster bus without encryption accepts any client that can reach it; with encryption, any client with the database's keys. Such a
node can claim slots, and engines delete the keys of a slot that they lose. An alarm is therefore open while such a node is seen,
the shards forget the node, and its slots are reclaimed.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.databases.bdb_status import IN_SERVICE, BdbStatus
from shardboard.domain.databases.shard_status import RESPONDING
from shardboard.domain.placement import slots
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.domain.placement.slots import Ranges
from shardboard.driver import unknown_nodes
from shardboard.driver.interfaces import Agents, NodeRef
from shardboard.driver.unknown_nodes import UnknownNode
from shardboard.driver.valkey_cluster import ShardRef
from shardboard.errors import AgentError
from shardboard.kit.bus import Bus
from shardboard.reconcilers.load_database import node_ref, shard_ref
from shardboard.reconcilers.persistent_alarms import PersistentAlarms
from shardboard.state.alerting.events import UNKNOWN_NODE, Event, record
from shardboard.state.cluster import actions, nodes
from shardboard.state.databases import bdbs, shards
from shardboard.store.db import Store

log = logging.getLogger(__name__)

POLL_SECONDS, PAUSE_SECONDS = 10.0, 1.0
"""Regular interval of polls, and minimum interval after changes of databases."""
PRIMARIES_PER_POLL = 2
"""Number of primaries polled per database, in rotation: cluster membership spreads to all within seconds."""
KNOWN_AT_STARTUP = "it was a member before this console started, and this store may be an older copy without it"
GONE_SECONDS = 90.0
"""Seconds unseen until the node counts as gone. A forgotten node can return after a minute."""


@dataclass(frozen=True)
class DatabaseMembers:
    """A database in cluster mode, from the store."""

    uid: int
    name: str
    is_idle: bool
    encrypted: bool
    known: frozenset[str]
    """Engine ids, including those of shards to be removed."""
    living: Sequence[ShardRef]
    primaries: Mapping[ShardRef, Ranges]
    """Living primaries and the slots that they should own."""


@dataclass(frozen=True)
class UnknownNodeResult:
    """Result of handling one unknown node."""

    node: UnknownNode
    kept_reason: str = ""
    """Why it was not removed; empty: the shards were made to forget it."""
    reclaimed: Ranges = ()
    is_present: bool = True
    """Whether it was seen in this poll."""


class UnknownNodesLoop:
    """Does not remove nodes that may contain our data. A store restored from an older backup does not know its newest shards and
    nodes, so nodes that were members before this console's first poll, or that an agent runs, are not removed.
    """

    def __init__(self, store: Store, bus: Bus, agents: Agents) -> None:
        self._store = store
        self._bus = bus
        self._agents = agents
        self._round = 0
        self._clean: set[int] = set()
        """Databases that this console has seen without unknown nodes, or during creation: nodes that join later are foreign."""
        self._alarms = PersistentAlarms(store, UNKNOWN_NODE, _key, GONE_SECONDS)

    async def run(self) -> None:
        """Run until cancelled."""
        with self._bus.listen("change") as changes:
            while True:
                await self.sweep()
                await asyncio.sleep(PAUSE_SECONDS)
                await changes.wait_until(lambda change: change[0] == "bdb", POLL_SECONDS - PAUSE_SECONDS)

    async def sweep(self) -> None:
        """Poll all databases once."""
        async with self._store.read() as session:
            databases, spans = await _databases(session), await self._alarms.open(session)
            self._clean |= await bdbs.with_status(session, BdbStatus.PENDING)
        self._round += 1
        expelled: dict[int, list[Event]] = defaultdict(list)
        for (bdb_uid, _), span in spans.items():
            if not span.details["kept_reason"]:
                expelled[bdb_uid].append(span)
        await asyncio.gather(*(self._poll(each, expelled[each.uid]) for each in databases))
        await self._alarms.close_expired()

    async def _poll(self, database: DatabaseMembers, expelled: Sequence[Event]) -> None:
        """Poll one database. `expelled` are the open alarms of nodes that were removed before."""
        queried = list(database.primaries)
        polled = [queried[(self._round + step) % len(queried)] for step in range(min(PRIMARIES_PER_POLL, len(queried)))]
        try:
            members = await unknown_nodes.find(self._agents, polled, database.known)
            if members is None:
                return
            # Dead nodes without slots are harmless: removed shards that some shard could not be made to forget.
            unknown = [each for each in members if each.is_healthy or each.slots]
            if unknown:
                unknown = await self._still_unknown(database, unknown)
            if not unknown:
                self._clean.add(database.uid)
            unreclaimed = [each for each in expelled if each.details["slots"] != each.details["reclaimed"]]
            if unknown or (unreclaimed and database.is_idle):
                await self._update_alarms(database, await self._act(database, unknown, expelled, unreclaimed))
        except AgentError as error:
            log.info("unknown nodes: handling those of %s failed: %s", database.name, error.reason)

    async def _still_unknown(self, database: DatabaseMembers, found: Sequence[UnknownNode]) -> list[UnknownNode]:
        """Return the nodes that are still unknown. Rows are written before shards start, and some may have started since the last
        read.
        """
        async with self._store.read() as session:
            known_ids = {row.engine_id for row in await shards.list_for_bdb(session, database.uid)}
        return [each for each in found if each.engine_id not in known_ids]

    async def _act(
        self, database: DatabaseMembers, found: Sequence[UnknownNode], expelled: Sequence[Event], owing: Sequence[Event]
    ) -> list[UnknownNodeResult]:
        previous_ids = {each.details["engine_id"] for each in expelled}
        known_on_agents = await self._on_agents() if found else {}
        reasons = {
            each.engine_id: known_on_agents.get(each.engine_id)
            or ("" if database.uid in self._clean or each.engine_id in previous_ids else KNOWN_AT_STARTUP)
            for each in found
        }
        unexplained = [each for each in found if not reasons[each.engine_id]]
        await unknown_nodes.forget_nodes(self._agents, database.living, [each.engine_id for each in unexplained])
        outcomes = [_outcome(each) for each in owing if each.details["engine_id"] not in reasons]
        reclaimed_ranges: Ranges = ()
        if database.is_idle and (outcomes or any(each.slots for each in unexplained)):
            reclaimed_ranges = slots.joined(
                *(await unknown_nodes.reclaim_slots(self._agents, database.primaries)).values()
            )
        return [
            *(
                UnknownNodeResult(
                    each,
                    reasons[each.engine_id],
                    () if reasons[each.engine_id] else _common(each.slots, reclaimed_ranges),
                )
                for each in found
            ),
            *(
                replace(each, reclaimed=slots.joined(each.reclaimed, _common(each.node.slots, reclaimed_ranges)))
                for each in outcomes
            ),
        ]

    async def _on_agents(self) -> dict[str, str]:
        """Return, by engine id, the nodes that an agent runs although this store does not know them, with the reason not to remove
        them.
        """
        async with self._store.read() as session:
            machines, known_ids = (
                [node_ref(node) for node in await nodes.list_stored(session)],
                await shards.engine_ids(session),
            )
        known_on_agents: dict[str, str] = {}
        for node, reported_ids in zip(machines, await asyncio.gather(*map(self._reports, machines)), strict=True):
            reason = (
                f"the agent of node {node.uid} runs it, and this store, which may be an older copy, does not know it"
            )
            known_on_agents |= dict.fromkeys(reported_ids - known_ids, reason)
        return known_on_agents

    async def _reports(self, node: NodeRef) -> set[str]:
        """Return the engine ids of the shards that an agent runs; empty if it does not respond."""
        try:
            return {report.engine_id for report in await self._agents.shards(node)}
        except AgentError:
            return set()

    async def _update_alarms(self, database: DatabaseMembers, outcomes: Sequence[UnknownNodeResult]) -> None:
        async with self._store.begin() as session:
            spans = await self._alarms.open(session)
            for each in outcomes:
                key = (database.uid, each.node.engine_id)
                message, details = _message(database, each), {**_details(each), "open": True}
                span = spans.get(key)
                if each.is_present:
                    self._alarms.record_occurrence(key)
                if span is not None:
                    # The slots that it took stay in the alarm while it is open.
                    if details["slots"] or not span.details["slots"]:
                        span.description, span.details = message, details
                elif each.is_present:
                    log.warning("%s", message)
                    record(
                        session,
                        UNKNOWN_NODE,
                        message,
                        source="bdb",
                        severity="ERROR",
                        bdb_uid=database.uid,
                        details=details,
                    )


async def _databases(session: AsyncSession) -> list[DatabaseMembers]:
    node_refs = {node.uid: node_ref(node) for node in await nodes.list_stored(session)}
    removed_shards = await shards.list_absent(session)
    busy = {action.object_uid for action in await actions.list_unfinished(session) if action.object_type == "bdb"}
    unknown_databases = []
    for bdb in await bdbs.list_all(session):
        if not bdb.sharding or bdb.status not in IN_SERVICE:
            continue
        rows = await shards.list_conditions(session, bdb_uid=bdb.uid)
        responding = {row: shard_ref(row, node_refs[row.node_uid]) for row in rows if row.observed_status in RESPONDING}
        primaries = {
            each: slots.parse(row.slots) for row, each in responding.items() if row.current_role == ShardRole.PRIMARY
        }
        if primaries:
            known_ids = {row.engine_id for row in rows} | {row.engine_id for row in removed_shards}
            is_idle = bdb.status == BdbStatus.ACTIVE and bdb.uid not in busy
            is_encrypted = bdb.shard_certificates is not None
            unknown_databases.append(
                DatabaseMembers(
                    bdb.uid, bdb.name, is_idle, is_encrypted, frozenset(known_ids), list(responding.values()), primaries
                )
            )
    return unknown_databases


def _key(span: Event) -> tuple[int, str]:
    """Return the database's uid and the engine id."""
    return span.bdb_uid or 0, span.details["engine_id"]


def _outcome(span: Event) -> UnknownNodeResult:
    """Return the outcome that the alarm recorded."""
    details = span.details
    node = UnknownNode(details["engine_id"], details["address"], slots.parse(details["slots"]), is_healthy=False)
    return UnknownNodeResult(node, reclaimed=slots.parse(details["reclaimed"]), is_present=False)


def _common(taken: Ranges, reclaimed: Ranges) -> Ranges:
    return slots.subtract(taken, slots.subtract(taken, reclaimed))


def _details(outcome: UnknownNodeResult) -> dict[str, Any]:
    node = outcome.node
    return {
        "engine_id": node.engine_id,
        "address": node.address,
        "slots": slots.render(node.slots),
        "reclaimed": slots.render(outcome.reclaimed),
        "kept_reason": outcome.kept_reason,
    }


def _message(database: DatabaseMembers, outcome: UnknownNodeResult) -> str:
    node = outcome.node
    owned = f", and owned slots {slots.slot_text(slots.render(node.slots))}" if node.slots else ""
    message = f"A node that does not belong to {database.name} was in its cluster: {node.address}, {node.engine_id[:8]}…{owned}. "
    if outcome.kept_reason:
        return f"{message}It was not removed: {outcome.kept_reason}."
    message += "It was removed from all shards (CLUSTER FORGET), and will be removed again if it returns."
    if outcome.reclaimed:
        message += f" Slots {slots.slot_text(slots.render(outcome.reclaimed))} were reclaimed; their keys were lost."
    if database.encrypted:
        return f"{message} Its operator has private keys of this database."
    return f"{message} Internode traffic is not encrypted, so any client that can reach a shard's bus port can do this."
