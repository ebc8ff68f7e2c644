"""Models of restores and imports in the format of replies and the event stream."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, Protocol

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from shardboard.domain.data.statuses import Forecast, RestoreKind, RestoreMode, RestoreStatus, TransferKind
from shardboard.schemas.data.backups import TRANSFER_STATUSES, TransferRow
from shardboard.schemas.data.locations import PrivateKeys
from shardboard.schemas.data.requests import DataRequest, OptionalUid
from shardboard.schemas.optional_fields import without_default
from shardboard.schemas.timestamps import iso

MAX_PATTERNS = 100
MAX_SLOT_CHARACTERS = 100_000
"""Enough for all slots, one by one."""
OptionalTime = Annotated[AwareDatetime | SkipJsonSchema[None], Field(default=None, json_schema_extra=without_default)]
KeyPattern = Annotated[str, Field(min_length=1, max_length=1_024)]


class RestoreRequest(DataRequest):
    """Either `backup_uid` or `until`."""

    backup_uid: OptionalUid = Field(description="The backup that is restored.")
    until: OptionalTime = Field(
        description="The point in time to which the database is restored, in ISO 8601 with a time zone.",
        examples=["2026-11-30T18:00:00Z"],
    )
    source_bdb_uid: OptionalUid = Field(
        description="With `until`: the database whose data is restored, which can be deleted. By default the database that "
        "receives the data."
    )
    mode: Literal["replace", "merge"] = Field(
        default="replace",
        description="`replace` deletes all keys of the database first. `merge` replaces keys with the same name and "
        "keeps the others.",
    )
    key_patterns: list[KeyPattern] = Field(
        default=[],
        max_length=MAX_PATTERNS,
        description="Glob patterns. Only matching keys are restored; empty: all keys.",
    )
    identities: PrivateKeys = Field(
        default="",
        description="Private keys of an encrypted backup (`AGE-SECRET-KEY-1…`), one per line, if they are not stored. "
        "Deleted when the restore ends.",
    )
    slots: str = Field(
        default="",
        max_length=MAX_SLOT_CHARACTERS,
        pattern=r"^(\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*)?$",
        description="Ranges of hash slots. Only their keys are restored; empty: all slots.",
        examples=["0-5460,6000"],
    )
    force: bool = Field(
        default=False,
        description="Restore even if the keys need more memory than the database has. Requires an eviction policy "
        "`allkeys-…`.",
    )
    verify_files: bool = Field(
        default=True,
        description="With `replace`, read all files completely and compare their checksums before keys are deleted, so that a "
        "damaged file costs no keys. Otherwise, only the beginning of each file is read first.",
    )

    @model_validator(mode="after")
    def check_source(self) -> "RestoreRequest":
        if (self.backup_uid is None) == (self.until is None):
            what = "or until must be sent, not both"
            raise PydanticCustomError("field", "{field} {what}", {"field": "backup_uid", "what": what})
        return self


class RestoreWindow(BaseModel):
    """Moments to which a database can be restored. Windows do not overlap; if two touch, no moment between them is missing."""

    from_: str = Field(alias="from", description="The first moment, in UTC.")
    to: str = Field(description="The last moment, in UTC.")
    backup_uid: int = Field(description="The backup from which these moments are restored.")
    bdb_uid: int


class StartedRestore(BaseModel):
    action_uid: str
    restore_uid: int


class RestoreProgress(BaseModel):
    """Part of a restore that one node performs."""

    node_uid: int
    status: Literal["running", "succeeded", "failed"]
    bytes: int = Field(description="Read from the location.")
    keys: int
    error: str


class Finding(BaseModel):
    """A reason for losses, or why an import is not possible."""

    code: str
    message: str
    keys: int


class InspectedFile(BaseModel):
    """A file, as inspected."""

    path: str
    forecast: str = Field(json_schema_extra={"enum": list(Forecast)})
    error: str = Field(description="Why it cannot be read; otherwise empty.")
    error_code: str
    format: str = Field(examples=["Redis RDB 12 (7.4.1)"])
    bytes: int
    raw_bytes: int = Field(description="Without compression.")
    needed_bytes: int = Field(description="Estimated memory of its keys.")
    keys: int
    types: dict[str, int] = Field(description="Number of keys by type.")
    expires: int = Field(description="Keys with an expiry time.")
    expired: int = Field(description="Keys that had expired. They are not imported.")
    databases: dict[str, int] = Field(description="Number of keys by logical database.")
    functions: list[str] = Field(description="Names of function libraries.")
    slots: int = Field(description="Number of hash slots with keys.")
    losses: list[Finding]


class ImportReport(BaseModel):
    """Expected result of an import of files."""

    forecast: str = Field(json_schema_extra={"enum": list(Forecast)})
    keys: int
    expired: int
    lost_keys: int = Field(description="Number of keys that cannot be imported.")
    needed_bytes: int = Field(description="Estimated memory of one copy of the keys.")
    memory_limit: int = Field(description="Bytes that one copy of the keys can use; 0: no limit.")
    losses: list[Finding]
    problems: list[Finding] = Field(description="Why the import is not possible.")
    files: list[InspectedFile]


class Restore(BaseModel):
    """A restore of a backup, an import of files, or an inspection of files before an import."""

    model_config = ConfigDict(extra="allow")

    uid: int
    bdb_uid: int
    bdb_name: str
    kind: str = Field(json_schema_extra={"enum": list(RestoreKind)})
    backup_uid: int | None = Field(description="Null for imports.")
    until: str | None = Field(description="Point in time to which the database is restored; null: that of the backup.")
    source: str = Field(description="Description of the source.")
    mode: str = Field(json_schema_extra={"enum": list(RestoreMode)})
    key_patterns: list[str]
    slots: str = Field(description="Selected hash slots; empty: all.")
    forecast: str = Field(
        json_schema_extra={"enum": ["", *Forecast]},
        description="Result of the inspection of the files of an import; empty if there was none.",
    )
    status: str = Field(json_schema_extra={"enum": list(RestoreStatus)})
    detail: str = Field(description="Message, for example why it failed; otherwise empty.")
    progress: float = Field(description="0-100")
    created_at: str
    finished_at: str | None
    erased: bool = Field(description="Whether the keys of the database were deleted.")
    expected_keys: int | None = Field(description="Number of keys of the source; null if unknown.")
    bytes: int
    raw_bytes: int
    restored: int = Field(description="Number of restored keys.")
    replayed: int = Field(description="Number of recorded commands that were repeated after the backup was restored.")
    expired: int = Field(description="Number of keys that had expired.")
    skipped: int = Field(description="Number of keys that match no pattern.")
    unsupported: dict[str, int] = Field(description="Number of keys that the engine cannot load, by reason.")
    mismatched_slots: int | None = Field(
        description="Number of slots whose restored keys differ from the manifest; null if they were not compared."
    )
    nodes: list[RestoreProgress]
    action_uid: str
    originator: str


class RestoreRow(Protocol):
    @property
    def uid(self) -> int: ...
    @property
    def bdb_uid(self) -> int: ...
    @property
    def bdb_name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def backup_uid(self) -> int | None: ...
    @property
    def until(self) -> datetime | None: ...
    @property
    def source(self) -> str: ...
    @property
    def mode(self) -> str: ...
    @property
    def key_patterns(self) -> list[str]: ...
    @property
    def slots(self) -> str: ...
    @property
    def forecast(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def detail(self) -> str: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def erased_at(self) -> datetime | None: ...
    @property
    def finished_at(self) -> datetime | None: ...
    @property
    def expected_keys(self) -> int | None: ...
    @property
    def bytes(self) -> int: ...
    @property
    def raw_bytes(self) -> int: ...
    @property
    def restored(self) -> int: ...
    @property
    def replayed(self) -> int: ...
    @property
    def expired(self) -> int: ...
    @property
    def skipped(self) -> int: ...
    @property
    def unsupported(self) -> dict[str, int]: ...
    @property
    def mismatched_slots(self) -> int | None: ...
    @property
    def action_uid(self) -> str: ...
    @property
    def originator(self) -> str: ...


def render_window(bdb_uid: int, since: datetime, until: datetime, backup_uid: int) -> dict[str, Any]:
    """Render a window in whole seconds, all of which can be restored."""
    first = since + timedelta(seconds=1) - timedelta(microseconds=1)
    return {"from": iso(first), "to": iso(until), "backup_uid": backup_uid, "bdb_uid": bdb_uid}


def render(row: RestoreRow, transfers: Sequence[TransferRow], progress: float) -> dict[str, Any]:
    """Render a restore with its transfers, oldest first. `progress` is that of its action."""
    return {
        "uid": row.uid,
        "bdb_uid": row.bdb_uid,
        "bdb_name": row.bdb_name,
        "kind": row.kind,
        "backup_uid": row.backup_uid,
        "until": iso(row.until) if row.until else None,
        "source": row.source,
        "mode": row.mode,
        "key_patterns": row.key_patterns,
        "slots": row.slots,
        "forecast": row.forecast,
        "status": row.status,
        "detail": row.detail,
        "progress": progress,
        "created_at": iso(row.created_at),
        "finished_at": iso(row.finished_at) if row.finished_at else None,
        "erased": row.erased_at is not None,
        "expected_keys": row.expected_keys,
        "bytes": row.bytes,
        "raw_bytes": row.raw_bytes,
        "restored": row.restored,
        "replayed": row.replayed,
        "expired": row.expired,
        "skipped": row.skipped,
        "unsupported": row.unsupported,
        "mismatched_slots": row.mismatched_slots,
        "nodes": [
            {
                "node_uid": each.node_uid,
                "status": TRANSFER_STATUSES[each.status],
                "bytes": each.bytes,
                "keys": each.keys,
                "error": each.error,
            }
            for each in transfers
            if each.kind == (TransferKind.INSPECT if row.kind == RestoreKind.INSPECTION else TransferKind.RESTORE)
        ],
        "action_uid": row.action_uid,
        "originator": row.originator,
    }
