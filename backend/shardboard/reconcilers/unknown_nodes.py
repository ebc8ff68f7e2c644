"""Looks for nodes that somebody else brought into the cluster of a database, and has its shards forget them.

A cluster bus without encryption takes in whoever can reach it; with encryption, whoever has the keys of the database. Such a node
can claim slots, and engines delete the keys of a slot that they lose. So there is an alarm for as long as it is seen, and the slots
that it took are taken back.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.bus import Bus
from shardboard.db import Store
from shardboard.domain import slots
from shardboard.domain.slots import Ranges
from shardboard.driver import unknown_nodes
from shardboard.driver.cluster import ShardRef
from shardboard.driver.ports import Agents, NodeRef
from shardboard.driver.unknown_nodes import UnknownNode
from shardboard.errors import AgentError
from shardboard.reconcilers.lasting_alarms import LastingAlarms
from shardboard.reconcilers.load import reference, shard
from shardboard.state import actions, bdbs, nodes, shards
from shardboard.state.events import UNKNOWN_NODE, Event, record

log = logging.getLogger(__name__)

LOOK_SECONDS, PAUSE_SECONDS = 10.0, 1.0
"""Between two looks, and at least, when a database changes."""
ASKED = 2
"""Primaries of each database that are asked at a time, by turns: what one knows all others know within seconds."""
FIRST_LOOK = "it was there when this console looked first, and this store may be an older copy that does not know it"
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
    """Nothing is forgotten that may hold data of ours. A store that was restored from an older copy does not know its newest
    shards and nodes: so what was there when this console looked first is left alone, and what an agent runs."""

    def __init__(self, store: Store, bus: Bus, agents: Agents) -> None:
        self._store = store
        self._bus = bus
        self._agents = agents
        self._turn = 0
        self._whole: set[int] = set()
        """Databases that this console has seen without unknown nodes, or in the making: who comes later is none of theirs."""
        self._alarms = LastingAlarms(store, UNKNOWN_NODE, _key, GONE_SECONDS)

    async def run(self) -> None:
        """Until cancelled."""
        with self._bus.listen("change") as changes:
            while True:
                await self.sweep()
                await asyncio.sleep(PAUSE_SECONDS)
                await changes.until(lambda change: change[0] == "bdb", LOOK_SECONDS - PAUSE_SECONDS)

    async def sweep(self) -> None:
        """One look at every database."""
        async with self._store.read() as session:
            databases, spans = await _databases(session), await self._alarms.open(session)
            self._whole |= await bdbs.with_status(session, "pending")
        self._turn += 1
        expelled: dict[int, list[Event]] = defaultdict(list)
        for (bdb_uid, _), span in spans.items():
            if not span.details["left_alone"]:
                expelled[bdb_uid].append(span)
        await asyncio.gather(*(self._look(each, expelled[each.uid]) for each in databases))
        await self._alarms.end()

    async def _look(self, database: Database, expelled: Sequence[Event]) -> None:
        """`expelled`: the open alarms of those that were forgotten before."""
        heads = list(database.primaries)
        asked = [heads[(self._turn + step) % len(heads)] for step in range(min(ASKED, len(heads)))]
        try:
            members = await unknown_nodes.find(self._agents, asked, database.known)
            if members is None:
                return
            # The dead without slots are nobody to worry about: shards that were removed while somebody could not be told.
            found = [each for each in members if each.is_well or each.slots]
            if found:
                found = await self._still_unknown(database, found)
            if not found:
                self._whole.add(database.uid)
            owing = [each for each in expelled if each.details["slots"] != each.details["taken_back"]]
            if found or (owing and database.is_idle):
                await self._tell(database, await self._act(database, found, expelled, owing))
        except AgentError as error:
            log.info("unknown nodes of %s were not seen to: %s", database.name, error.reason)

    async def _still_unknown(self, database: Database, found: Sequence[UnknownNode]) -> list[UnknownNode]:
        """Shards have their rows before they are started; some may have begun since the store was read."""
        async with self._store.read() as session:
            known = {row.engine_id for row in await shards.of_bdb(session, database.uid)}
        return [each for each in found if each.engine_id not in known]

    async def _act(
        self, database: Database, found: Sequence[UnknownNode], expelled: Sequence[Event], owing: Sequence[Event]
    ) -> list[Outcome]:
        before = {each.details["engine_id"] for each in expelled}
        own = await self._own() if found else {}
        reasons = {
            each.engine_id: own.get(each.engine_id)
            or ("" if database.uid in self._whole or each.engine_id in before else FIRST_LOOK)
            for each in found
        }
        strangers = [each for each in found if not reasons[each.engine_id]]
        await unknown_nodes.expel(self._agents, database.living, [each.engine_id for each in strangers])
        gone = [_outcome(each) for each in owing if each.details["engine_id"] not in reasons]
        given: Ranges = ()
        if database.is_idle and (gone or any(each.slots for each in strangers)):
            given = slots.joined(*(await unknown_nodes.take_back(self._agents, database.primaries)).values())
        return [
            *(
                Outcome(each, reasons[each.engine_id], () if reasons[each.engine_id] else _common(each.slots, given))
                for each in found
            ),
            *(
                replace(each, taken_back=slots.joined(each.taken_back, _common(each.node.slots, given)))
                for each in gone
            ),
        ]

    async def _own(self) -> dict[str, str]:
        """Which some agent runs although this store does not know them, and what is said of that; by engine id."""
        async with self._store.read() as session:
            machines, known = [reference(node) for node in await nodes.every(session)], await shards.engine_ids(session)
        own: dict[str, str] = {}
        for node, reported in zip(machines, await asyncio.gather(*map(self._reports, machines)), strict=True):
            why = f"the agent of node {node.uid} runs it, and this store, which may be an older copy, does not know it"
            own |= dict.fromkeys(reported - known, why)
        return own

    async def _reports(self, node: NodeRef) -> set[str]:
        """Engine ids of the shards that an agent runs; none when it does not answer."""
        try:
            return {report.engine_id for report in await self._agents.shards(node)}
        except AgentError:
            return set()

    async def _tell(self, database: Database, outcomes: Sequence[Outcome]) -> None:
        async with self._store.begin() as session:
            spans = await self._alarms.open(session)
            for each in outcomes:
                key = (database.uid, each.node.engine_id)
                told, details = _sentence(database, each), {**_details(each), "open": True}
                span = spans.get(key)
                if each.is_there:
                    self._alarms.saw(key)
                if span is not None:
                    # What it took is told for as long as it is there.
                    if details["slots"] or not span.details["slots"]:
                        span.description, span.details = told, details
                elif each.is_there:
                    log.warning("%s", told)
                    record(
                        session,
                        UNKNOWN_NODE,
                        told,
                        source="bdb",
                        severity="ERROR",
                        bdb_uid=database.uid,
                        details=details,
                    )


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


def _key(span: Event) -> tuple[int, str]:
    """Database and engine id."""
    return span.bdb_uid or 0, span.details["engine_id"]


def _outcome(span: Event) -> Outcome:
    """As it was when it was seen."""
    told = span.details
    node = UnknownNode(told["engine_id"], told["address"], slots.parse(told["slots"]), is_well=False)
    return Outcome(node, taken_back=slots.parse(told["taken_back"]), is_there=False)


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
