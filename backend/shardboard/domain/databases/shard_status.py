"""State of a shard, derived from one sample."""

from collections.abc import Mapping
from dataclasses import dataclass

REFUSES = "It rejects requests because its cluster state is not ok"


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
    loading = raw["loading"] == 1.0
    refuses = raw["cluster_down"] == 1.0
    alone = "cluster_down" if refuses else ""
    link = alone if primary else "idle" if raw["link_up"] == 1.0 else "in_progress" if loading else "link_down"
    return Observed(
        status="loading" if loading else "ok",
        role="master" if primary else "slave",
        link=link,
        detail=REFUSES if primary and refuses and not loading else "",
        pid=int(raw["pid"]) if raw["pid"] is not None else None,
        started_at=round(raw["started_at"], 2) if raw["started_at"] is not None else None,
        version=_dotted(raw["engine_version"]),
    )


def is_ready(status: str, role: str, link: str) -> bool:
    """Return whether a primary serves requests, or whether a replica responds and has all data."""
    return status == "ok" and (link != "cluster_down" if role == "master" else link == "idle")


def _dotted(version: float | None) -> str:
    if version is None:
        return ""
    rest, patch = divmod(int(version), 100)
    major, minor = divmod(rest, 100)
    return f"{major}.{minor}.{patch}"
