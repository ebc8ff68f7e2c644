"""Requests that create or change a database: names, types, defaults. Validity is for `domain/bdb_rules.py`."""

import re
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from shardboard.domain import bdb_rules, io_threads
from shardboard.schemas import bdb_fields, plain

_FIELD_NAME = re.compile(r"[a-z][a-zA-Z0-9_]{0,63}")
MAX_UNKNOWN_FIELDS = 64


def _choice(values: tuple[str, ...], description: str) -> Any:
    return Field(description=description, json_schema_extra={"enum": list(values)})


# Limits are documented here and enforced by domain/bdb_rules.py, which knows the code and the sentence for each.
_NAME: dict[str, JsonValue] = {"minLength": 1, "maxLength": 63, "pattern": "^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$"}
_MEMORY: dict[str, JsonValue] = {"minimum": 0, "maximum": bdb_rules.MAX_MEMORY}
_UID: dict[str, JsonValue] = {"minimum": 0, "maximum": bdb_rules.MAX_UID}
_PORT: dict[str, JsonValue] = {"minimum": 0, "maximum": bdb_rules.PORT_LAST}
_THREADS: dict[str, JsonValue] = {"minimum": 0, "maximum": io_threads.MOST}
_SHARDS: dict[str, JsonValue] = {"minimum": 1, "maximum": bdb_rules.MAX_SHARDS}


class Wire(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class RegexRule(Wire):
    regex: str = Field(max_length=1024)


class SnapshotPoint(Wire):
    """Save when `secs` have passed and at least `writes` keys have changed."""

    secs: int
    writes: int


class RolePermission(Wire):
    """Users of the role may do at the data what the list of rules says."""

    role_uid: int
    redis_acl_uid: int


class Tag(Wire):
    key: str
    value: str


EvictionPolicy = Annotated[str, _choice(bdb_rules.EVICTION_POLICIES, "What gives way when memory_size is reached.")]
ProxyPolicy = Annotated[str, _choice(bdb_rules.PROXY_POLICIES, "Which nodes serve the endpoint.")]
Placement = Annotated[str, _choice(bdb_rules.PLACEMENTS, "dense: on few nodes; sparse: spread over all.")]
Persistence = Annotated[str, _choice(bdb_rules.PERSISTENCES, "How data is kept on disk.")]
AofPolicy = Annotated[str, _choice(bdb_rules.AOF_POLICIES, "When the append-only file is flushed to disk.")]


class BdbUpdate(Wire):
    """Fields to change. Those of the REST reference that have no effect yet are kept and sent back."""

    name: str = Field(
        default="",
        description="1-63 letters, digits and hyphens; begins and ends alphanumeric.",
        json_schema_extra=_NAME,
    )
    memory_size: int = Field(
        default=0,
        description="Bytes for the whole database, replicas included; 0 = no limit.",
        json_schema_extra=_MEMORY,
    )
    uid: int = Field(default=0, description="Only when creating; 0 = chosen by the console.", json_schema_extra=_UID)
    type: str = "redis"
    port: int = Field(
        default=0, description="10000-19999 without 10050; 0 = assigned by the console.", json_schema_extra=_PORT
    )
    sharding: bool = Field(default=False, description="Spread the keys over several shards.")
    shards_count: int = Field(default=1, description="Primaries.", json_schema_extra=_SHARDS)
    shard_key_regex: list[RegexRule] = Field(
        default=[], max_length=32, description="Hashing policy; the standard one (hash tags in braces) when left out."
    )
    oss_cluster: bool = Field(default=False, description="Clients speak the cluster protocol to the shards.")
    proxy_policy: ProxyPolicy = "single"
    shards_placement: Placement = "dense"
    replication: bool = Field(default=False, description="One replica for each primary, on another node.")
    data_persistence: Persistence = "disabled"
    aof_policy: AofPolicy = "appendfsync-every-sec"
    snapshot_policy: list[SnapshotPoint] = Field(default=[], max_length=16)
    eviction_policy: EvictionPolicy = "volatile-lru"
    roles_permissions: list[RolePermission] = Field(
        default=[], max_length=1000, description="Which roles are let in, and by which rules; each role once."
    )
    authentication_redis_pass: str = Field(default="", description="Password of the default user; empty = none.")
    bigstore: bool = Field(
        default=False, description="On flash: values that are used little leave the RAM. Only when creating."
    )
    bigstore_ram_size: int = Field(
        default=0,
        description="Bytes of memory_size that may be RAM, 10 % to 100 % of it; 0 = 10 %. For databases on flash.",
        json_schema_extra=_MEMORY,
    )
    io_threads: int = Field(
        default=0,
        description="Threads of each shard that read requests and write replies, 1 = off, at most the cores of its nodes; "
        "0 = chosen by the console.",
        json_schema_extra=_THREADS,
    )
    tags: list[Tag] = Field(default=[], description="At most 30.")
    avoid_nodes: list[str] = Field(default=[], description="Node uids that get no shard.")
    use_nodes: list[str] = Field(default=[], description="Node uids to choose from; empty = all.")

    @model_validator(mode="before")
    @classmethod
    def _check_plain(cls, body: Any) -> Any:
        for name, value in body.items() if isinstance(body, dict) else ():
            try:
                plain.check(value)
            except ValueError as fault:
                raise _fault(name, str(fault)) from None
        return _by_their_names(body) if isinstance(body, dict) else body

    @model_validator(mode="after")
    def _check_extra(self) -> Self:
        for name, value in (self.model_extra or {}).items():
            default = bdb_fields.CONFIG_DEFAULTS.get(name)
            if default is not None and type(value) is not type(default):
                raise _fault(name, f"must be {_TYPE_NAMES[type(default)]}")
        unknown = self.unknown()
        if len(unknown) > MAX_UNKNOWN_FIELDS:
            raise _fault(unknown[-1], f"is one of more than {MAX_UNKNOWN_FIELDS} fields that no database has")
        for name in unknown:
            if not _FIELD_NAME.fullmatch(name):
                raise _fault(name[:64] or "An empty text", "is not the name of a field")
        return self

    def given(self) -> dict[str, Any]:
        """The writable fields that the request names, as plain values."""
        values = self.model_dump(exclude_unset=True)
        return {name: value for name, value in values.items() if name not in bdb_fields.READ_ONLY}

    def unknown(self) -> list[str]:
        """Names that this console has never heard of; they are kept, since the reference keeps growing."""
        known = {*bdb_fields.COLUMNS, *bdb_fields.CONFIG_DEFAULTS, *bdb_fields.READ_ONLY, *bdb_fields.WITHOUT_DEFAULT}
        return sorted(set(self.model_extra or {}) - known)


class BdbCreate(BdbUpdate):
    """A new database. Only name and memory_size are needed."""

    name: str = Field(
        description="1-63 letters, digits and hyphens; begins and ends alphanumeric.", json_schema_extra=_NAME
    )
    memory_size: int = Field(
        description="Bytes for the whole database, replicas included; 0 = no limit.", json_schema_extra=_MEMORY
    )


def _by_their_names(body: dict[str, Any]) -> dict[str, Any]:
    """Every field by the name that the reference gives it."""
    named = {name: value for name, value in body.items() if name not in bdb_fields.ALIASES}
    for alias in body.keys() & bdb_fields.ALIASES.keys():
        name = bdb_fields.ALIASES[alias]
        if named.setdefault(name, body[alias]) != body[alias]:
            raise _fault(alias, f"is another name of {name}, and must say the same")
    return named


_TYPE_NAMES: dict[type, str] = {
    bool: "true or false",
    int: "a whole number",
    str: "text",
    list: "a list",
    dict: "an object",
}


def _fault(name: str, what: str) -> PydanticCustomError:
    return PydanticCustomError("field", "{field} {what}", {"field": name, "what": what})
