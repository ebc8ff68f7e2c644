"""Stores what proxies tell of outages with the samples of their nodes. It may come again, and late: nothing is written twice."""

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.db import Store
from shardboard.domain import slots
from shardboard.driver.ports import Outage, Sample
from shardboard.state import bdbs, nodes, outages, shards

SECONDS = 60
BELIEVED = 86_400
"""Seconds by which a clock may be wrong; one that is further off says nothing."""


class NodeClock:
    """By how much the clock of a node is ahead of the console's, from samples that were not late.

    What a sample needs on its way makes the clock look behind, so the largest of some is nearest to the truth.
    """

    def __init__(self) -> None:
        self._ahead: deque[float] = deque(maxlen=SECONDS)
        self._caught_up = False

    def pulse(self) -> None:
        """The agent had nothing to tell: the next sample comes when it is made."""
        self._caught_up = True

    def sample(self, ahead: float) -> None:
        """`ahead`: seconds from now, by the console's clock, to when the sample was complete, by the node's."""
        if self._caught_up and abs(ahead) < BELIEVED:
            self._ahead.append(ahead)
        self._caught_up = False

    @property
    def ahead_ms(self) -> int | None:
        return round(1000 * max(self._ahead)) if self._ahead else None


class OutageCollector:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def take(self, node_uid: int, sample: Sample, ahead_ms: int | None) -> None:
        """Store those of one sample, in one transaction; known ones are brought up to date."""
        if not sample.outages:
            return
        async with self._store.read() as session:
            if not await _news(session, node_uid, sample.outages, ahead_ms):
                return  # an agent tells all that it remembers to a console that connects
        async with self._store.begin() as session:
            news = await _news(session, node_uid, sample.outages, ahead_ms)
            places = await _places(session, {outage.uid for outage, row in news if row is None})
            for outage, row in news:
                if row is None:
                    session.add(_row(node_uid, outage, ahead_ms, places))
                else:
                    _update(row, outage)


async def _news(
    session: AsyncSession, node_uid: int, told: Sequence[Outage], ahead_ms: int | None
) -> list[tuple[Outage, outages.Outage | None]]:
    """What is not stored yet, or otherwise, with its row. A database that is gone has none."""
    known = {
        (row.bdb_uid, row.address, row.port, row.noticed_ms): row
        for row in await outages.seen(session, node_uid, min(outage.noticed_ms for outage in told))
    }
    databases = {bdb.uid: bdb.created_at for bdb in await bdbs.every(session)}
    found = []
    for outage in told:
        row = known.get((outage.uid, outage.address, outage.port, outage.noticed_ms))
        # Uids are given again: what was before the database was of another one.
        is_own = outage.uid in databases and _noticed_at(outage, ahead_ms) >= databases[outage.uid]
        if is_own and (row is None or _differs(row, outage)):
            found.append((outage, row))
    return found


def _differs(row: outages.Outage, told: Outage) -> bool:
    """An older sample may tell of the beginning of what is known to be over."""
    if row.first_success_ms is not None and told.first_success_ms is None:
        return False
    return (row.last_success_ms, row.first_success_ms, row.waited, row.failed, row.lost, row.watched) != (
        told.last_success_ms,
        told.first_success_ms,
        told.waited,
        told.failed,
        told.lost,
        told.watched,
    )


def _update(row: outages.Outage, told: Outage) -> None:
    row.last_success_ms, row.first_success_ms = told.last_success_ms, told.first_success_ms
    row.waited, row.failed, row.lost, row.watched = told.waited, told.failed, told.lost, told.watched


def _noticed_at(told: Outage, ahead_ms: int | None) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=told.noticed_ms - (ahead_ms or 0))


@dataclass(frozen=True)
class _Places:
    """Who is where: read once, because whoever dies, or is born, takes many with it."""

    nodes: Mapping[str, int]
    """Uids by address."""
    shards: Mapping[tuple[int, int, int], int]
    """Uids by database, node and port."""


async def _places(session: AsyncSession, bdb_uids: Collection[int]) -> _Places:
    if not bdb_uids:
        return _Places({}, {})
    return _Places(
        {node.addr: node.uid for node in await nodes.every(session)},
        {
            (shard.bdb_uid, shard.node_uid, shard.port): shard.uid
            for bdb_uid in bdb_uids
            for shard in await shards.of_bdb(session, bdb_uid)
        },
    )


def _row(node_uid: int, told: Outage, ahead_ms: int | None, places: _Places) -> outages.Outage:
    at = places.nodes.get(told.address)
    return outages.Outage(
        bdb_uid=told.uid,
        seen_by=node_uid,
        address=told.address,
        port=told.port,
        node_uid=at,
        shard_uid=places.shards.get((told.uid, at, told.port)) if at is not None else None,
        slots=slots.render(tuple(told.slots)),
        noticed_ms=told.noticed_ms,
        last_success_ms=told.last_success_ms,
        first_success_ms=told.first_success_ms,
        waited=told.waited,
        failed=told.failed,
        lost=told.lost,
        watched=told.watched,
        ahead_ms=ahead_ms,
        noticed_at=_noticed_at(told, ahead_ms),
    )
