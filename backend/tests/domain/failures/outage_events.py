"""Events and outages of a node that went down and returned. Seconds are relative to the detection of the failure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2026, 3, 1, 4, tzinfo=UTC)
T0 = round(START.timestamp() * 1000)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def ms(seconds: float) -> int:
    return T0 + round(1000 * seconds)


@dataclass
class Event:
    uid: int
    time: datetime
    type: str
    ended_at: datetime | None = None
    severity: str = "INFO"
    source: str = "node"
    description: str = "It happened."
    originator: str = "system"
    bdb_uid: int | None = None
    node_uid: int | None = None
    shard_uid: int | None = None
    action_uid: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    acknowledgement: None = None


@dataclass
class OutageReport:
    """Outage reported by a proxy, by default on node 1. Times are in seconds of the clock of that node."""

    noticed: float
    last: float | None
    first: float | None
    reported_by: int = 1
    bdb_uid: int = 1
    address: str = "10.0.0.2"
    port: int = 20000
    slots: str = "0-5460"
    waited: int = 1
    failed: int = 0
    lost: int = 0
    is_exact: bool = False
    ahead_ms: int | None = 0
    node_uid: int | None = 2
    shard_uid: int | None = 2
    watched_until_ms: int | None = None

    @property
    def noticed_ms(self) -> int:
        return ms(self.noticed)

    @property
    def last_success_ms(self) -> int | None:
        return None if self.last is None else ms(self.last)

    @property
    def first_success_ms(self) -> int | None:
        return None if self.first is None else ms(self.first)


def node_failed_event(
    uid: int = 10, seconds: float = 0, back: float | None = 41, node: int = 2, **details: Any
) -> Event:
    defaults = {"open": back is None, "witnesses": [1, 3], "primaries": 2, "replicas": 2, "detected_ms": 400}
    losses = {"databases": [{"bdb_uid": 1, "slots": "0-5460,8000"}]}
    ended_at = None if back is None else at(back)
    return Event(uid, at(seconds), "node_failed", ended_at, "ERROR", node_uid=node, details=defaults | losses | details)


def shard_down_event(uid: int, seconds: float, shard: int = 2, node: int = 2, role: str | None = "master") -> Event:
    details = {"slots": "0-5460"} | ({"role": role} if role else {})
    return Event(
        uid,
        at(seconds),
        "shard_down",
        None,
        "ERROR",
        "shard",
        bdb_uid=1,
        node_uid=node,
        shard_uid=shard,
        details=details,
    )


def failover_event(uid: int, lost: int, promoted: int, seconds: float = 0.22, behind: int | None = 0) -> Event:
    details = {
        "pair": lost - 1,
        "lost": lost,
        "promoted": promoted,
        "bytes_behind": behind,
        "method": "FORCE",
        "seconds": 0.2,
    }
    return Event(
        uid,
        at(seconds),
        "shard_failover",
        source="shard",
        bdb_uid=1,
        node_uid=2,
        shard_uid=promoted,
        action_uid="failover-1",
        details=details,
    )


def resync_event(uid: int, shard: int, seconds: float, took: float | None = 10, **details: Any) -> Event:
    defaults = {
        "pair": shard - 1,
        "primary": shard + 6,
        "open": took is None,
        "percent": 100 if took else 60,
        "bytes": 2**20,
    }
    ended_at = None if took is None else at(seconds + took)
    return Event(
        uid,
        at(seconds),
        "resync",
        ended_at,
        source="shard",
        bdb_uid=1,
        node_uid=2,
        shard_uid=shard,
        details=defaults | {"phases": []} | details,
    )


def drill_event(uid: int = 9, seconds: float = -2, shard: int | None = None) -> Event:
    return Event(
        uid, at(seconds), "drill_started", originator="ann", node_uid=2, shard_uid=shard, details={"kind": "reboot"}
    )


NODE_FAILURE_EVENTS = [
    drill_event(),
    node_failed_event(),
    failover_event(11, 2, 8),
    failover_event(12, 5, 11),
    Event(13, at(41), "node_up", node_uid=2),
    *(resync_event(14 + index, shard, 42 + index * 0.5) for index, shard in enumerate((2, 5, 7, 10))),
    Event(20, at(20), "bdb_created", source="bdb", bdb_uid=2),
    Event(21, at(50), "node_agent_lost", severity="WARNING", node_uid=3),
]
NODE_FAILURE_OUTAGES = [
    OutageReport(-0.3, -0.31, 0.32, waited=5, failed=2),
    OutageReport(-0.29, -0.3, 0.3, reported_by=3, waited=3, lost=1),
]
