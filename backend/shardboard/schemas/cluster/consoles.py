"""Response models of consoles."""

from datetime import datetime
from typing import Protocol

from pydantic import BaseModel, Field

from shardboard.domain.cluster.consoles import ConsoleStatus, LeaderChange
from shardboard.schemas.timestamps import iso


class Console(BaseModel):
    uid: str = Field(description="ID of the console, which does not change when it restarts.")
    host: str = Field(description="Host name.")
    address: str = Field(description="URL of this console for browsers.")
    version: str
    release: int | None = Field(
        description="Number of its release. Consoles can use one store if their numbers differ by at most one."
    )
    status: ConsoleStatus
    is_leader: bool = Field(description="Whether this console is the leader, which monitors and changes the nodes.")
    leader_since: str | None = Field(description="When it became the leader.")
    leader_reason: LeaderChange | None = Field(
        description=(
            "Why it became the leader: `started` (the store had no leader, or it led before), `stopped` (the former leader was "
            "stopped), `expired` (the former leader failed), `handed_over` (a user requested it), or `more_agents` (it reaches "
            "more agents)."
        )
    )
    is_current: bool = Field(description="Whether this console sent the response.")
    started_at: str
    seen_at: str = Field(description="Time of its last heartbeat.")
    store_delay_ms: float | None = Field(description="Duration of its last query of the store.")
    agents_reached: int | None = Field(
        description="Number of agents whose heartbeats it received at its last sign of life."
    )


class ConsoleFields(Protocol):
    """Fields of a stored console."""

    @property
    def uid(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def address(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def release(self) -> int | None: ...
    @property
    def status(self) -> str: ...
    @property
    def started_at(self) -> datetime: ...
    @property
    def seen_at(self) -> datetime: ...
    @property
    def store_delay_ms(self) -> float | None: ...
    @property
    def agents_reached(self) -> int | None: ...


class LeaseFields(Protocol):
    """Fields of the stored lease of the leader."""

    @property
    def console_id(self) -> str: ...
    @property
    def released(self) -> bool: ...
    @property
    def acquired_at(self) -> datetime: ...
    @property
    def reason(self) -> str: ...


def render(row: ConsoleFields, lease: LeaseFields | None, current: str) -> Console:
    """Render a console. `current` is the ID of the console that responds."""
    leads = lease is not None and lease.console_id == row.uid and not lease.released
    return Console(
        uid=row.uid,
        host=row.host,
        address=row.address,
        version=row.version,
        release=row.release,
        status=ConsoleStatus(row.status),
        is_leader=leads and row.status == ConsoleStatus.RUNNING,
        leader_since=iso(lease.acquired_at) if leads and lease is not None else None,
        leader_reason=_reason(lease) if leads and lease is not None else None,
        is_current=row.uid == current,
        started_at=iso(row.started_at),
        seen_at=iso(row.seen_at),
        store_delay_ms=row.store_delay_ms,
        agents_reached=row.agents_reached,
    )


def _reason(lease: LeaseFields) -> LeaderChange | None:
    """Return the reason; None if a newer release has written one that this release does not know."""
    return next((reason for reason in LeaderChange if reason == lease.reason), None)
