"""Looks for nodes that somebody else brought into the cluster of a database, and has its shards forget them.

A cluster bus without encryption takes in whoever can reach it; with encryption, whoever has the keys of the database. Such a node
can claim slots, and engines delete the keys of a slot that they lose. So there is an alarm for as long as it is seen, and the slots
that it took are taken back.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.db import Store
from shardboard.domain import slots
from shardboard.domain.slots import Ranges
from shardboard.driver import unknown_nodes
from shardboard.driver.cluster import ShardRef
from shardboard.driver.ports import Agents
from shardboard.driver.unknown_nodes import UnknownNode
from shardboard.errors import AgentError
from shardboard.reconcilers.load import reference, shard
from shardboard.state import actions, bdbs, events, nodes, shards
from shardboard.state.events import UNKNOWN_NODE, record

log = logging.getLogger(__name__)

LOOK_SECONDS = 10.0
ASKED = 2
"""Primaries of each database that are asked at a time, by turns: what one knows all others know within seconds."""
GONE_SECONDS = 90.0
"""Unseen for so long it is gone. A node that was forgotten can be back after a minute."""


@dataclass(frozen=True)
class Database:
    """One in cluster mode, as the store knows it."""

    uid: int
    name: str
    is_idle: bool
    encrypted: bool
    known: frozenset[str]
    """Engine ids, of shards that are to be removed, too."""
    living: Sequence[ShardRef]
    primaries: Mapping[ShardRef, Ranges]
    """Those that live, and the slots that they should have."""


@dataclass(frozen=True)
class Outcome:
    """What was done about one of them."""

    node: UnknownNode
    left_alone: str = ""
    """Why; empty: the shards were made to forget it."""
    taken_back: Ranges = ()
    is_there: bool = True
    """Whether it was seen in this look."""


class UnknownNodesLoop:
    """Nothing is forgotten that may hold data of ours: what some agent runs is left alone, and so is everything while an agent
    does not answer. A store that was restored from an older copy does not know its newest shards."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents
        self._turn = 0
        self._seen: dict[tuple[int, str], float] = {}
        """By database and engine id: when it was last seen."""

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self.sweep()
            await asyncio.sleep(LOOK_SECONDS)

    async def sweep(self) -> None:
        """One look at every database."""
        async with self._store.read() as session:
            databases, spans = await _databases(session), await _spans(session)
        self._turn += 1
        robbers: dict[int, list[UnknownNode]] = defaultdict(list)
        for (bdb_uid, _), span in spans.items():
            if span.details["slots"] != span.details["taken_back"] and not span.details["left_alone"]:
                robbers[bdb_uid].append(_node(span.details))
        await asyncio.gather(*(self._look(each, robbers[each.uid]) for each in databases))
        await self._end()

    async def _look(self, database: Database, robbers: Sequence[UnknownNode]) -> None:
        """`robbers` were forgotten, and not all that they took has been taken back."""
        heads = list(database.primaries)
        asked = [heads[(self._turn + step) % len(heads)] for step in range(min(ASKED, len(heads)))]
        try:
            found = await unknown_nodes.find(self._agents, asked, database.known)
            if found:
                found = await self._still_unknown(database, found)
            if found or (robbers and database.is_idle):
                await self._tell(database, await self._act(database, found, robbers))
        except AgentError as error:
            log.info("unknown nodes of %s were not seen to: %s", database.name, error.reason)

    async def _still_unknown(self, database: Database, found: Sequence[UnknownNode]) -> list[UnknownNode]:
        """Shards have their rows before they are started; some may have begun since the store was read."""
        async with self._store.read() as session:
            known = {row.engine_id for row in await shards.of_bdb(session, database.uid)}
        return [each for each in found if each.engine_id not in known]

    async def _act(
        self, database: Database, found: Sequence[UnknownNode], robbers: Sequence[UnknownNode]
    ) -> list[Outcome]:
        own, silent = await self._own()
        reasons = {each.engine_id: own.get(each.engine_id, silent) for each in found}
        expelled = [each for each in found if not reasons[each.engine_id]]
        await unknown_nodes.expel(self._agents, database.living, [each.engine_id for each in expelled])
        names = {each.engine_id for each in found}
        took = [*expelled, *(each for each in robbers if each.engine_id not in names)]
        given: Ranges = ()
        if database.is_idle and any(each.slots for each in took):
            given = slots.joined(*(await unknown_nodes.take_back(self._agents, database.primaries)).values())
        return [
            *(Outcome(each, left_alone=reasons[each.engine_id]) for each in found if each not in expelled),
            *(Outcome(each, taken_back=_common(each.slots, given), is_there=each in expelled) for each in took),
        ]

    async def _own(self) -> tuple[dict[str, str], str]:
        """Why some are left alone, by engine id, because an agent runs them and this store does not know them; and why all others
        are, empty when they are not."""
        async with self._store.read() as session:
            machines, uids = [reference(node) for node in await nodes.every(session)], await shards.uids(session)
        reports = await asyncio.gather(*(self._agents.shards(node) for node in machines), return_exceptions=True)
        own: dict[str, str] = {}
        silent = ""
        for node, reported in zip(machines, reports, strict=True):
            if isinstance(reported, AgentError):
                silent = silent or f"the agent of node {node.uid} does not answer, and might run it"
            elif isinstance(reported, BaseException):
                raise reported
            else:
                why = f"the agent of node {node.uid} runs it, and this store, which may be an older copy, does not know it"
                own |= {report.engine_id: why for report in reported if report.uid not in uids}
        return own, silent

    async def _tell(self, database: Database, outcomes: Sequence[Outcome]) -> None:
        """Who is dead and has no slots is nobody to worry about: a shard that was removed while somebody could not be told."""
        now = asyncio.get_running_loop().time()
        alarming = [each for each in outcomes if each.node.is_well or each.node.slots]
        if not alarming:
            return
        for each in outcomes:
            log.info("%s is in the cluster of %s and not of it", each.node, database.name)
        async with self._store.begin() as session:
            spans = await _spans(session)
            for each in alarming:
                key = (database.uid, each.node.engine_id)
                if each.is_there:
                    self._seen[key] = now
                told, details = _sentence(database, each), _details(each)
                if (span := spans.get(key)) is None:
                    log.warning("%s", told)
                    record(
                        session,
                        UNKNOWN_NODE,
                        told,
                        source="bdb",
                        severity="ERROR",
                        bdb_uid=database.uid,
                        details={**details, "open": True},
                    )
                elif details["slots"] or not span.details["slots"]:  # what it took is told for as long as it is there
                    span.description, span.details = told, {**details, "open": True}

    async def _end(self) -> None:
        """Of those that are gone. An earlier console may have begun with them."""
        now = asyncio.get_running_loop().time()
        async with self._store.read() as session:
            spans = await _spans(session)
        self._seen = {key: self._seen.get(key, now) for key in spans}
        gone = {key for key, seen in self._seen.items() if now - seen > GONE_SECONDS}
        if not gone:
            return
        async with self._store.begin() as session:
            for key, span in (await _spans(session)).items():
                if key in gone:
                    span.ended_at = datetime.now(UTC)
                    span.details = {**span.details, "open": False}


async def _databases(session: AsyncSession) -> list[Database]:
    places = {node.uid: reference(node) for node in await nodes.every(session)}
    removed = await shards.absent(session)
    busy = {action.object_uid for action in await actions.unfinished(session) if action.object_type == "bdb"}
    found = []
    for bdb in await bdbs.every(session):
        if not bdb.sharding or bdb.status not in ("active", "active-change-pending"):
            continue
        rows = await shards.of_bdb(session, bdb.uid)
        living = {row: shard(row, places[row.node_uid]) for row in rows if row.observed_status in ("ok", "loading")}
        primaries = {each: slots.parse(row.slots) for row, each in living.items() if row.current_role == "master"}
        if primaries:
            known = {row.engine_id for row in (*rows, *removed)}
            idle = bdb.status == "active" and bdb.uid not in busy
            sealed = bdb.shard_certificates is not None
            found.append(Database(bdb.uid, bdb.name, idle, sealed, frozenset(known), list(living.values()), primaries))
    return found


async def _spans(session: AsyncSession) -> dict[tuple[int, str], events.Event]:
    return {
        (span.bdb_uid or 0, span.details["engine_id"]): span for span in await events.open_spans(session, UNKNOWN_NODE)
    }


def _node(details: Mapping[str, Any]) -> UnknownNode:
    """As it was when it was seen."""
    return UnknownNode(details["engine_id"], details["address"], slots.parse(details["slots"]), is_well=False)


def _common(taken: Ranges, given: Ranges) -> Ranges:
    return slots.without(taken, slots.without(taken, given))


def _details(outcome: Outcome) -> dict[str, Any]:
    node = outcome.node
    return {
        "engine_id": node.engine_id,
        "address": node.address,
        "slots": slots.render(node.slots),
        "taken_back": slots.render(outcome.taken_back),
        "left_alone": outcome.left_alone,
    }


def _sentence(database: Database, outcome: Outcome) -> str:
    node = outcome.node
    led = f", and led slots {slots.spoken(slots.render(node.slots))}" if node.slots else ""
    told = f"A node that is not of {database.name} was in its cluster: {node.address}, {node.engine_id[:8]}…{led}. "
    if outcome.left_alone:
        return f"{told}It was left alone: {outcome.left_alone}."
    told += "The shards were made to forget it, and do so as often as it comes back."
    if outcome.taken_back:
        told += f" Slots {slots.spoken(slots.render(outcome.taken_back))} were taken back, without the keys that were in them."
    if database.encrypted:
        return f"{told} Whoever runs it has keys of this database."
    return f"{told} Traffic between nodes is not encrypted, so whoever reaches a shard's bus port can do that."
