"""States of a shard, and their derivation from one sample."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from shardboard.domain.placement.shard_role import ShardRole

REFUSES = "It rejects requests because its cluster state is not ok"


class ShardStatus(StrEnum):
    """Observed status of the process (REST reference 3.3)."""

    OK = "ok"
    BUSY = "busy"
    """Only in the API: a primary that responds and rejects requests."""
    LOADING = "loading"
    TIMEOUT = "timeout"
    """It runs and does not respond."""
    DOWN = "down"
    UNKNOWN = "unknown"


class ShardActivity(StrEnum):
    """Status of a shard in the API (REST reference 3.3); the observed status is `detailed_status`."""

    ACTIVE = "active"
    INACTIVE = "inactive"


RESPONDING = (ShardStatus.OK, ShardStatus.LOADING)
NOT_SEEN = (ShardStatus.DOWN, ShardStatus.UNKNOWN)
"""Statuses of shards without a known process."""


class ShardLink(StrEnum):
    """Replication link of a replica, or the cluster state of a primary."""

    NONE = ""
    """A primary, or not observed yet."""
    IDLE = "idle"
    """In sync."""
    IN_PROGRESS = "in_progress"
    LINK_DOWN = "link_down"
    CLUSTER_DOWN = "cluster_down"
    """A primary that rejects requests because its cluster state is not ok."""


BEHIND = (ShardLink.LINK_DOWN, ShardLink.IN_PROGRESS)
"""Links of replicas that lack data."""


class DesiredState(StrEnum):
    """Whether a shard should exist. Rows of absent shards are kept until their agent has removed them."""

    RUNNING = "running"
    ABSENT = "absent"


@dataclass(frozen=True)
class Observed:
    """State in the terms of the REST reference (3.3): status ok, loading, timeout, down or unknown; role master or slave; link idle
    (in sync), in_progress or link_down. For a primary, link is empty, or cluster_down while it rejects requests."""

    status: str
    role: str | None
    link: str
    detail: str = ""
    pid: int | None = None
    started_at: float | None = None
    """Epoch seconds, rounded to hundredths like the values of the kernel."""
    version: str = ""
    """Version of the engine such as `9.1.2`; empty if its agent does not report it."""


def observe(raw: Mapping[str, float | None]) -> Observed:
    """Return the state from the values of a sample, which have the agent's field names."""
    primary = raw["is_primary"] == 1.0
    is_loading = raw["loading"] == 1.0
    is_rejecting = raw["cluster_down"] == 1.0
    default_link = ShardLink.CLUSTER_DOWN if is_rejecting else ShardLink.NONE
    link = (
        default_link
        if primary
        else ShardLink.IDLE
        if raw["link_up"] == 1.0
        else ShardLink.IN_PROGRESS
        if is_loading
        else ShardLink.LINK_DOWN
    )
    return Observed(
        status=ShardStatus.LOADING if is_loading else ShardStatus.OK,
        role=ShardRole.PRIMARY if primary else ShardRole.REPLICA,
        link=link,
        detail=REFUSES if primary and is_rejecting and not is_loading else "",
        pid=int(raw["pid"]) if raw["pid"] is not None else None,
        started_at=round(raw["started_at"], 2) if raw["started_at"] is not None else None,
        version=_dotted(raw["engine_version"]),
    )


def is_ready(status: str, role: str, link: str) -> bool:
    """Return whether a primary serves requests, or whether a replica responds and has all data."""
    return status == ShardStatus.OK and (
        link != ShardLink.CLUSTER_DOWN if role == ShardRole.PRIMARY else link == ShardLink.IDLE
    )


def _dotted(version: float | None) -> str:
    if version is None:
        return ""
    remainder, patch = divmod(int(version), 100)
    major, minor = divmod(remainder, 100)
    return f"{major}.{minor}.{patch}"
