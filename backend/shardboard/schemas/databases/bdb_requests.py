"""Requests that create or change a database: names, types and defaults. `domain/databases/bdb_rules.py` validates the values."""

import re
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from shardboard.domain.data import schedules
from shardboard.domain.databases import bdb_rules, io_threads
from shardboard.schemas import json_limits
from shardboard.schemas.databases import bdb_fields
from shardboard.schemas.databases.backup_settings import BackupRetention, BackupSchedule
from shardboard.schemas.unknown_fields import known_fields

_FIELD_NAME = re.compile(r"[a-z][a-zA-Z0-9_]{0,63}")
MAX_UNKNOWN_FIELDS = 64


def _choice(values: tuple[str, ...], description: str) -> Any:
    return Field(description=description, json_schema_extra={"enum": list(values)})


# Limits are documented here and enforced by domain/databases/bdb_rules.py, which defines the error code and message of each.
_NAME: dict[str, JsonValue] = {"minLength": 1, "maxLength": 63, "pattern": "^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$"}
_MEMORY: dict[str, JsonValue] = {"minimum": 0, "maximum": bdb_rules.MAX_MEMORY}
_UID: dict[str, JsonValue] = {"minimum": 0, "maximum": bdb_rules.MAX_UID}
_PORT: dict[str, JsonValue] = {"minimum": 0, "maximum": bdb_rules.PORT_LAST}
_THREADS: dict[str, JsonValue] = {"minimum": 0, "maximum": io_threads.MAX_THREADS}
_SHARDS: dict[str, JsonValue] = {"minimum": 1, "maximum": bdb_rules.MAX_SHARDS}


def _name_schema(schema: dict[str, Any]) -> None:
    schema.update(_NAME)
    schema.pop("default", None)  # the empty text stands for an omitted name, and is not a valid one


class RequestModel(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class RegexRule(RequestModel):
    regex: str = Field(max_length=1024)


class SnapshotPoint(RequestModel):
    """Save if `secs` have passed and at least `writes` keys have changed."""

    secs: int
    writes: int


class RolePermission(RequestModel):
    """Access to the data for users of the role, as defined by the Redis ACL."""

    role_uid: int
    redis_acl_uid: int


class Tag(RequestModel):
    key: str
    value: str


EvictionPolicy = Annotated[
    str, _choice(bdb_rules.EVICTION_POLICIES, "Which keys are evicted when memory_size is reached.")
]
ProxyPolicy = Annotated[str, _choice(bdb_rules.PROXY_POLICIES, "Which nodes serve the endpoint.")]
Placement = Annotated[
    str, _choice(bdb_rules.PLACEMENTS, "`dense`: on as few nodes as possible; `sparse`: on all nodes.")
]
Persistence = Annotated[str, _choice(bdb_rules.PERSISTENCES, "Persistence of data on disk.")]
AofPolicy = Annotated[str, _choice(bdb_rules.AOF_POLICIES, "When the append-only file is written to disk.")]


class BdbUpdate(RequestModel):
    """Fields to change. Fields of the Redis Enterprise REST API without effect are stored and returned."""

    KNOWN_FIELDS: ClassVar = (
        *(*bdb_fields.COLUMNS, *bdb_fields.IMPLEMENTED, *bdb_fields.UNSUPPORTED),
        *(*bdb_fields.READ_ONLY, *bdb_fields.ALIASES),
    )
    WITHOUT_EFFECT: ClassVar = {**bdb_fields.STORED_WITHOUT_EFFECT, **dict.fromkeys(bdb_fields.WITHOUT_DEFAULT)}

    name: str = Field(
        default="",
        description="1-63 letters, digits, and hyphens; alphanumeric at both ends.",
        json_schema_extra=_name_schema,
    )
    memory_size: int = Field(
        default=0,
        description="Memory limit of the database in bytes, including replicas; 0 = no limit.",
        json_schema_extra=_MEMORY,
    )
    uid: int = Field(
        default=0,
        description="Only in requests that create a database; 0 = assigned by the console.",
        json_schema_extra=_UID,
    )
    type: str = "redis"
    port: int = Field(
        default=0, description="10000-19999 except 10050; 0 = assigned by the console.", json_schema_extra=_PORT
    )
    sharding: bool = Field(default=False, description="Distribute the keys over several shards.")
    shards_count: int = Field(default=1, description="Number of primaries.", json_schema_extra=_SHARDS)
    shard_key_regex: list[RegexRule] = Field(
        default=[], max_length=32, description="Hashing policy. Default: the standard policy (hash tags in braces)."
    )
    oss_cluster: bool = Field(default=False, description="Clients use the cluster protocol.")
    proxy_policy: ProxyPolicy = "single"
    shards_placement: Placement = "dense"
    replication: bool = Field(default=False, description="Whether each primary has a replica, on another node.")
    data_persistence: Persistence = "disabled"
    aof_policy: AofPolicy = "appendfsync-every-sec"
    snapshot_policy: list[SnapshotPoint] = Field(default=[], max_length=16)
    eviction_policy: EvictionPolicy = "volatile-lru"
    roles_permissions: list[RolePermission] = Field(
        default=[],
        max_length=1000,
        description="Roles with access to the data, each with a Redis ACL. A role can appear only once.",
    )
    authentication_redis_pass: str = Field(default="", description="Password of the default user; empty = no password.")
    bigstore: bool = Field(
        default=False,
        description="Whether the database is on flash: rarely used values are moved from RAM to flash. Cannot be changed.",
    )
    bigstore_ram_size: int = Field(
        default=0,
        description="RAM limit of a database on flash in bytes, 10% to 100% of memory_size; 0 = 10%.",
        json_schema_extra=_MEMORY,
    )
    io_threads: int = Field(
        default=0,
        description="Threads of each shard that read requests and write replies; 1 = off, 0 = chosen by the console; at most the "
        "number of cores of its nodes.",
        json_schema_extra=_THREADS,
    )
    tags: list[Tag] = Field(default=[], description="At most 30 tags.")
    backup: bool = Field(default=False, description="Whether backups are made on a schedule.")
    backup_interval: int = Field(
        default=86400,
        description="Seconds between scheduled backups, counted from 1970-01-01 00:00 UTC. Without effect if `backup_schedule` has "
        "a cron expression.",
        json_schema_extra={"minimum": 0, "maximum": schedules.MAX_INTERVAL},
    )
    backup_interval_offset: int = Field(
        default=0, description="Seconds after the start of each interval; less than `backup_interval`."
    )
    backup_schedule: BackupSchedule = Field(
        default=BackupSchedule(), description="Cron expression instead of `backup_interval`, and options (extension)."
    )
    backup_location: dict[str, Any] = Field(
        default={},
        description="Location of scheduled backups. Responses contain it without secrets; secrets that an update omits are kept.",
    )
    backup_location_uid: int = Field(
        default=0, description="Uid of a stored location, instead of `backup_location`; 0 = none (extension)."
    )
    backup_history: int = Field(
        default=0, description="Number of backups to keep; 0 = no limit. Same as `count` of `backup_retention`."
    )
    backup_retention: BackupRetention = Field(
        default=BackupRetention(), description="Rules for the deletion of old backups (extension)."
    )
    avoid_nodes: list[str] = Field(default=[], description="Uids of nodes that must not get a shard.")
    use_nodes: list[str] = Field(default=[], description="Uids of nodes that can get a shard; empty = all.")

    @model_validator(mode="before")
    @classmethod
    def _check_plain(cls, body: Any) -> Any:
        for name, value in body.items() if isinstance(body, dict) else ():
            try:
                json_limits.check_json_value(value)
            except ValueError as error:
                raise _field_error(name, str(error)) from None
        return _resolve_aliases(body) if isinstance(body, dict) else body

    @model_validator(mode="after")
    def _check_extra(self) -> Self:
        for name, value in (self.model_extra or {}).items():
            default = bdb_fields.CONFIG_DEFAULTS.get(name)
            if default is not None and type(value) is not type(default):
                raise _field_error(name, f"must be {_TYPE_NAMES[type(default)]}")
        unknown_field = self.unknown_fields()
        if len(unknown_field) > MAX_UNKNOWN_FIELDS:
            raise _field_error(
                unknown_field[-1], f"is one of more than {MAX_UNKNOWN_FIELDS} unknown fields. Remove unknown fields"
            )
        for name in unknown_field:
            if not _FIELD_NAME.fullmatch(name):
                raise _field_error(name[:64] or "An empty text", "is not a valid field name")
        return self

    def writable_fields(self) -> dict[str, Any]:
        """Return the writable fields that the request contains, as plain values."""
        values = self.model_dump(exclude_unset=True)
        values |= {name: getattr(self, name).model_dump() for name in _COMPLETE_FIELDS & values.keys()}
        return {name: value for name, value in values.items() if name not in bdb_fields.READ_ONLY}

    def unknown_fields(self) -> list[str]:
        """Return unknown field names. Unknown fields are stored, because new releases of Redis Enterprise add fields."""
        return sorted(set(self.model_extra or {}) - known_fields(type(self)))


class BdbCreate(BdbUpdate):
    """A new database. Only `name` and `memory_size` are required."""

    name: str = Field(
        description="1-63 letters, digits, and hyphens; alphanumeric at both ends.", json_schema_extra=_NAME
    )
    memory_size: int = Field(
        description="Memory limit of the database in bytes, including replicas; 0 = no limit.",
        json_schema_extra=_MEMORY,
    )


def _resolve_aliases(body: dict[str, Any]) -> dict[str, Any]:
    """Replace aliases by the field names of the Redis Enterprise REST API."""
    without_aliases = {name: value for name, value in body.items() if name not in bdb_fields.ALIASES}
    for alias in body.keys() & bdb_fields.ALIASES.keys():
        name = bdb_fields.ALIASES[alias]
        if without_aliases.setdefault(name, body[alias]) != body[alias]:
            raise _field_error(alias, f"is another name of {name} and must have the same value")
    return without_aliases


_COMPLETE_FIELDS = frozenset({"backup_schedule", "backup_retention"})
"""Objects that are stored with all members."""

_TYPE_NAMES: dict[type, str] = {
    bool: "true or false",
    int: "a whole number",
    str: "text",
    list: "a list",
    dict: "an object",
}


def _field_error(name: str, what: str) -> PydanticCustomError:
    return PydanticCustomError("field", "{field} {what}", {"field": name, "what": what})
