"""Stores outages that proxies report with node samples. Reports may be repeated or late; nothing is stored twice."""

import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.placement import slots
from shardboard.driver.interfaces import Outage, Sample
from shardboard.kit.allowance import Allowance
from shardboard.state.cluster import nodes
from shardboard.state.databases import bdbs, shards
from shardboard.state.failures import outages
from shardboard.store.db import Store

log = logging.getLogger(__name__)

CLOCK_SAMPLES = 60
MAX_CLOCK_ERROR_SECONDS = 86_400
"""Maximum seconds by which a clock may be wrong; clocks that differ more are ignored."""


class NodeClock:
    """Difference between a node's clock and the console's, from samples that were not late.

    The transmission time of a sample makes the clock look slow, so the largest of several differences is the most accurate.
    """

    def __init__(self) -> None:
        self._ahead: deque[float] = deque(maxlen=CLOCK_SAMPLES)
        self._caught_up = False

    def mark_caught_up(self) -> None:
        """Note that the agent has no backlog: the next sample is sent as soon as it is taken."""
        self._caught_up = True

    def add(self, ahead: float) -> None:
        """Add the seconds from the console's current time to the node's time when the sample was complete."""
        if self._caught_up and abs(ahead) < MAX_CLOCK_ERROR_SECONDS:
            self._ahead.append(ahead)
        self._caught_up = False

    @property
    def ahead_ms(self) -> int | None:
        return round(1000 * max(self._ahead)) if self._ahead else None


NEW_PER_SECOND, MAX_NEW = 1.0, 2_000.0
"""New outages of one node: more than failures of many nodes at once cause. A faulty or hostile agent must not fill the store."""


class OutageCollector:
    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._allowances: dict[int, Allowance] = {}

    async def store(self, node_uid: int, sample: Sample, ahead_ms: int | None) -> None:
        """Store the outages of one sample in one transaction; known outages are updated."""
        if not sample.outages:
            return
        async with self._store.read() as session:
            if not await _unstored(session, node_uid, sample.outages, ahead_ms):
                return  # an agent sends all its outages to a console that connects
        async with self._store.begin() as session:
            unstored = self._limit(node_uid, await _unstored(session, node_uid, sample.outages, ahead_ms))
            uids_by_address = await _uids_by_address(session, {outage.uid for outage, row in unstored if row is None})
            for outage, row in unstored:
                if row is None:
                    session.add(_row(node_uid, outage, ahead_ms, uids_by_address))
                else:
                    _update(row, outage)

    def _limit(
        self, node_uid: int, unstored: Sequence[tuple[Outage, outages.Outage | None]]
    ) -> Sequence[tuple[Outage, outages.Outage | None]]:
        """Return the outages to store: if a node reports too many, only changes of known ones."""
        new, now = sum(row is None for _, row in unstored), self._clock()
        allowance = self._allowances.setdefault(node_uid, Allowance(NEW_PER_SECOND, MAX_NEW, now))
        if new <= allowance.left(now):
            allowance.spend(new, now)
            return unstored
        log.warning("outages: node %s reports more than %s new outages; they are ignored", node_uid, int(MAX_NEW))
        return [(outage, row) for outage, row in unstored if row is not None]


async def _unstored(
    session: AsyncSession, node_uid: int, reported: Sequence[Outage], ahead_ms: int | None
) -> list[tuple[Outage, outages.Outage | None]]:
    """Return the new or changed outages, each with its row if there is one. Outages of deleted databases are omitted."""
    rows_by_key = {
        (row.bdb_uid, row.address, row.port, row.noticed_ms): row
        for row in await outages.list_reported_by(session, node_uid, min(outage.noticed_ms for outage in reported))
    }
    databases = {bdb.uid: bdb.created_at for bdb in await bdbs.list_all(session)}
    unstored = []
    for outage in reported:
        row = rows_by_key.get((outage.uid, outage.address, outage.port, outage.noticed_ms))
        # A request can choose the uid of a deleted database: an outage from before its creation belongs to the deleted one.
        is_own = outage.uid in databases and _noticed_at(outage, ahead_ms) >= databases[outage.uid]
        if is_own and (row is None or _differs(row, outage)):
            unstored.append((outage, row))
    return unstored


def _differs(row: outages.Outage, reported: Outage) -> bool:
    """Return whether the row must be updated. An older sample may still show an outage that has ended as open."""
    if row.first_success_ms is not None and reported.first_success_ms is None:
        return False
    return (row.last_success_ms, row.first_success_ms, row.waited, row.failed, row.lost, row.is_exact) != (
        reported.last_success_ms,
        reported.first_success_ms,
        reported.waited,
        reported.failed,
        reported.lost,
        reported.is_exact,
    )


def _update(row: outages.Outage, reported: Outage) -> None:
    row.last_success_ms, row.first_success_ms = reported.last_success_ms, reported.first_success_ms
    row.waited, row.failed, row.lost, row.is_exact = reported.waited, reported.failed, reported.lost, reported.is_exact


def _noticed_at(reported: Outage, ahead_ms: int | None) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=reported.noticed_ms - (ahead_ms or 0))


@dataclass(frozen=True)
class _UidsByAddress:
    """Uids of nodes and shards by address. Read once for all outages, because a failure often causes many."""

    nodes: Mapping[str, int]
    """Uids by address."""
    shards: Mapping[tuple[int, int, int], int]
    """Uids by database, node and port."""


async def _uids_by_address(session: AsyncSession, bdb_uids: Collection[int]) -> _UidsByAddress:
    if not bdb_uids:
        return _UidsByAddress({}, {})
    return _UidsByAddress(
        {node.addr: node.uid for node in await nodes.list_all(session)},
        {
            (shard.bdb_uid, shard.node_uid, shard.port): shard.uid
            for bdb_uid in bdb_uids
            for shard in await shards.list_for_bdb(session, bdb_uid)
        },
    )


def _row(node_uid: int, reported: Outage, ahead_ms: int | None, places: _UidsByAddress) -> outages.Outage:
    node_of_address = places.nodes.get(reported.address)
    return outages.Outage(
        bdb_uid=reported.uid,
        reported_by=node_uid,
        address=reported.address,
        port=reported.port,
        node_uid=node_of_address,
        shard_uid=places.shards.get((reported.uid, node_of_address, reported.port))
        if node_of_address is not None
        else None,
        slots=slots.render(tuple(reported.slots)),
        noticed_ms=reported.noticed_ms,
        last_success_ms=reported.last_success_ms,
        first_success_ms=reported.first_success_ms,
        waited=reported.waited,
        failed=reported.failed,
        lost=reported.lost,
        is_exact=reported.is_exact,
        ahead_ms=ahead_ms,
        noticed_at=_noticed_at(reported, ahead_ms),
    )
