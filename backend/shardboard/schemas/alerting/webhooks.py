"""Models of webhooks."""

from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from shardboard.schemas.timestamps import iso

Events = Literal["alarms", "all", "audit"]
ReceiverKind = Literal["webhook", "alertmanager", "email", "syslog"]
Severity = Literal["INFO", "WARNING", "ERROR"]


class WebhookFields(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class NewWebhook(WebhookFields):
    name: str = Field(min_length=1, max_length=120)
    kind: ReceiverKind = Field(
        default="webhook",
        description="Kind of receiver: any program, Prometheus Alertmanager, email, or a syslog server.",
    )
    url: str = Field(
        description="`https://` or `http://` without user and password. For email, `mailto:` and addresses separated by commas. "
        "For syslog, `syslog+tls://` or `syslog+tcp://`, host and port (defaults: 6514, 601)."
    )
    secret: str = Field(
        default="", max_length=256, repr=False, description="Key that signs messages; empty: messages are not signed."
    )
    ca: str = Field(
        default="", description="CA certificates (PEM) to trust; empty: trust those of the console's machine."
    )
    events: Events = Field(
        default="alarms", description="Alarms, all events of the log, or the audit log (webhook and syslog only)."
    )
    min_severity: Severity | None = Field(
        default=None,
        description="Default: WARNING, for the audit log INFO. In the audit log, rejected and failed requests are warnings.",
    )
    enabled: bool = True


class WebhookUpdate(WebhookFields):
    """Omitted fields keep their values."""

    name: str | None = Field(default=None, min_length=1, max_length=120)
    url: str | None = None
    secret: str | None = Field(default=None, max_length=256, repr=False)
    ca: str | None = None
    events: Events | None = None
    min_severity: Severity | None = None
    enabled: bool | None = None
    silent_minutes: int | None = Field(
        default=None,
        ge=0,
        le=7 * 24 * 60,
        description="Mute messages for this time. Alarms that are still active are sent afterwards. 0 ends the mute.",
    )


class Webhook(BaseModel):
    uid: int
    name: str
    kind: ReceiverKind
    url: str
    is_signed: bool = Field(description="Whether a secret is set. It is never returned.")
    ca: str
    events: Events
    min_severity: Severity
    enabled: bool
    silent_until: str | None = Field(description="Muted until this time; null: not muted.")
    created_time: str
    last_told_time: str | None = Field(description="Time of the last delivery; null: never.")
    failures: int = Field(description="Consecutive failed attempts. Delivery is retried.")
    last_error: str = Field(description="Error message of the last failed attempt.")
    open: int = Field(description="Number of delivered alarms that are still active.")


class WebhookRow(Protocol):
    @property
    def uid(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def muted_until(self) -> datetime | None: ...
    @property
    def url(self) -> str: ...
    @property
    def secret(self) -> str: ...
    @property
    def ca(self) -> str: ...
    @property
    def events(self) -> str: ...
    @property
    def min_severity(self) -> str: ...
    @property
    def enabled(self) -> bool: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def last_sent_at(self) -> datetime | None: ...
    @property
    def failures(self) -> int: ...
    @property
    def last_error(self) -> str: ...
    @property
    def raised(self) -> list[int]: ...


def render(row: WebhookRow) -> dict[str, Any]:
    muted_until = row.muted_until if row.muted_until is not None and row.muted_until > datetime.now(UTC) else None
    return {
        "uid": row.uid,
        "name": row.name,
        "kind": row.kind,
        "url": row.url,
        "is_signed": bool(row.secret),
        "ca": row.ca,
        "events": row.events,
        "min_severity": row.min_severity,
        "enabled": row.enabled,
        "silent_until": iso(muted_until) if muted_until else None,
        "created_time": iso(row.created_at),
        "last_told_time": iso(row.last_sent_at) if row.last_sent_at else None,
        "failures": row.failures,
        "last_error": row.last_error,
        "open": len(row.raised),
    }
