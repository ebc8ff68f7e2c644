"""Move of an endpoint to other nodes: the rows and events to write."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.cluster.node_status import NodeHealth
from shardboard.domain.databases import proxy_policy
from shardboard.kit.addresses import host_port
from shardboard.state.alerting.events import record
from shardboard.state.cluster.nodes import ReadNode
from shardboard.state.databases.bdbs import Bdb


@dataclass(frozen=True)
class EndpointMove:
    """Endpoint move of one database."""

    bdb: Bdb
    machines: Mapping[int, ReadNode]
    chosen: Sequence[int]
    """The nodes that serve it."""
    retiring: Mapping[int, datetime]
    """The old nodes that still serve it, and until when."""
    grace: int
    """Grace period of a node that is released now, in seconds."""

    def write(self, session: AsyncSession) -> None:
        """Write the rows, an event for clients that must change their address, and an event for each old address that has ended."""
        removed_uids = [uid for uid in self.bdb.endpoint_nodes if uid not in self.chosen]
        ended = [uid for uid in self.bdb.retiring if uid not in {*self.retiring, *self.chosen}]
        self.bdb.endpoint_nodes = list(self.chosen)
        self.bdb.retiring = dict(self.retiring)
        if removed_uids:
            self._record_moved(session, removed_uids)
        for uid in ended:
            self._record_ended(session, uid)

    def _record_moved(self, session: AsyncSession, left: Sequence[int]) -> None:
        old, new = self._addresses(left), self._addresses(self.chosen)
        answers = (
            self.grace
            if any(uid in self.machines and self.machines[uid].health != NodeHealth.DOWN for uid in left)
            else 0
        )
        record(
            session,
            "endpoint_moved",
            proxy_policy.address_change_message(self.bdb.name, old, new, answers),
            source="bdb",
            severity="WARNING",
            bdb_uid=self.bdb.uid,
            node_uid=left[0],
            details={"old": old, "new": new, "answers_seconds": answers},
        )

    def _record_ended(self, session: AsyncSession, uid: int) -> None:
        [address] = self._addresses([uid])
        record(
            session,
            "endpoint_ended",
            f"The old address {address} of {self.bdb.name} is no longer available.",
            source="bdb",
            bdb_uid=self.bdb.uid,
            node_uid=uid,
            details={"old": [address]},
        )

    def _addresses(self, uids: Sequence[int]) -> list[str]:
        return [
            host_port(self.machines[uid].addr, self.bdb.port) if uid in self.machines else f"node {uid}, which left,"
            for uid in uids
        ]
