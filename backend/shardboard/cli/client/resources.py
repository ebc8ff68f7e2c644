"""Kinds of objects that the commands manage. Each has a noun, a path of the REST API, and columns of its table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from shardboard.cli.client.connection import NOT_FOUND, Connection
from shardboard.cli.client.output import Column, Object, flag, number, size
from shardboard.errors import CommandError

UID = Column("UID", "uid")
NAME = Column("NAME", "name")
STATUS = Column("STATUS", "status")


@dataclass(frozen=True)
class Resource:
    """A kind of object. `verbs` are those of list, get, create, update, and delete that the console supports."""

    noun: str
    title: str
    """Name for messages, such as "database"."""
    path: str
    columns: Sequence[Column]
    verbs: frozenset[str] = frozenset({"list", "get"})
    name: str = "name"
    """Field that identifies an object for people."""
    shorthands: dict[str, str] = field(default_factory=dict)
    """Options of create and update, and the fields that they set."""
    read: Callable[[Connection], list[dict[str, Any]]] | None = None
    """Returns all objects, if they are not the response of the path."""


class NoSuchObject(CommandError):
    exit_status = NOT_FOUND


ALL_VERBS = frozenset({"list", "get", "create", "update", "delete"})

DATABASE = Resource(
    "db",
    "database",
    "/v1/bdbs",
    (
        UID,
        NAME,
        STATUS,
        number("SHARDS", "shards_count"),
        flag("REPLICAS", "replication"),
        size("MEMORY", "memory_size"),
        Column("PORT", "port"),
    ),
    ALL_VERBS,
    shorthands={
        "memory": "memory_size",
        "shards": "shards_count",
        "replication": "replication",
        "port": "port",
        "persistence": "data_persistence",
        "eviction": "eviction_policy",
    },
)
NODE = Resource(
    "node",
    "node",
    "/v1/nodes",
    (
        UID,
        Column("ADDRESS", "addr"),
        STATUS,
        Column("AGENT", "agent_status"),
        Column("VALKEY", "engine_version"),
        number("SHARDS", "shard_count"),
        size("MEMORY", "total_memory"),
        Column("ZONE", "rack_id"),
    ),
    frozenset({"list", "get", "update"}),
    name="addr",
)
SHARD = Resource(
    "shard",
    "shard",
    "/v1/shards",
    (
        UID,
        Column("DATABASE", "bdb_uid"),
        Column("NODE", "node_uid"),
        Column("ROLE", "role"),
        STATUS,
        Column("SLOTS", "assigned_slots"),
        size("MEMORY", "used_memory"),
    ),
    name="uid",
)
USER = Resource(
    "user",
    "user",
    "/v1/users",
    (UID, NAME, Column("EMAIL", "email"), Column("ROLE", "role"), STATUS, flag("2FA", "second_factor")),
    ALL_VERBS,
)
ROLE = Resource("role", "role", "/v1/roles", (UID, NAME, Column("MANAGEMENT", "management")), ALL_VERBS)
ACL = Resource("acl", "access list", "/v1/redis_acls", (UID, NAME, Column("RULES", "acl")), ALL_VERBS)
WEBHOOK = Resource(
    "webhook",
    "receiver",
    "/v1/webhooks",
    (UID, NAME, Column("KIND", "kind"), Column("URL", "url"), flag("ENABLED", "enabled")),
    ALL_VERBS,
)
SERVICE_TOKEN = Resource(
    "service-token",
    "service token",
    "/v1/service_tokens",
    (UID, NAME, Column("ROLE", "role"), Column("EXPIRES", "expires_at"), Column("LAST USED", "last_used_at")),
    frozenset({"list", "create", "delete"}),
)
LOCATION = Resource(
    "location", "storage location", "/v1/backup_locations", (UID, NAME, Column("KIND", "kind")), ALL_VERBS
)
BACKUP = Resource(
    "backup",
    "backup",
    "/v1/backups",
    (
        UID,
        Column("DATABASE", "bdb_name"),
        Column("KIND", "kind"),
        STATUS,
        size("SIZE", "bytes"),
        Column("CREATED", "created_at"),
    ),
    frozenset({"list", "get", "delete"}),
    name="uid",
)
RUN = Resource(
    "run",
    "benchmark run",
    "/v1/benchmarks",
    (
        UID,
        NAME,
        Column("DATABASE", "bdb_name"),
        STATUS,
        number("PROGRESS", "progress"),
        Column("CREATED", "created_time"),
    ),
    frozenset({"list", "get", "create", "delete"}),
)
SCENARIO_RUN = Resource(
    "scenario-run",
    "scenario run",
    "/v1/scenario_runs",
    (UID, Column("SCENARIO", "scenario"), number("SCALE", "scale"), STATUS, number("PROGRESS", "progress")),
    frozenset({"list", "get", "delete"}),
    name="uid",
)
SCENARIO = Resource(
    "scenario", "scenario", "/v1/scenarios", (NAME, Column("TITLE", "title"), Column("DOCUMENT", "document"))
)
INCIDENT = Resource(
    "incident",
    "incident",
    "/v1/incidents",
    (UID, Column("KIND", "kind"), Column("STATE", "state"), Column("BEGAN", "began"), Column("ENDED", "ended")),
    name="uid",
)
ACTION = Resource(
    "action",
    "action",
    "/v2/actions",
    (Column("UID", "action_uid"), NAME, STATUS, number("PROGRESS", "progress"), Column("ORIGINATOR", "originator")),
    name="action_uid",
)


def list_all(console: Connection, resource: Resource) -> list[dict[str, Any]]:
    """Return all objects of a kind. Raises CommandError, like all functions here."""
    if resource.read is not None:
        return resource.read(console)
    found: list[dict[str, Any]] = console.get(resource.path)
    return found


def find(console: Connection, resource: Resource, identifier: str) -> dict[str, Any]:
    """Return the object with a uid or a name. A uid has priority. Names are case-sensitive."""
    found = matching(list_all(console, resource), resource, identifier)
    if not found:
        raise NoSuchObject(f"the {resource.title} {identifier} does not exist")
    if len(found) > 1:
        uids = ", ".join(str(item["uid"]) for item in found)
        raise CommandError(f"several objects have the name {identifier}; use one of the uids {uids}")
    return found[0]


def matching(items: Sequence[dict[str, Any]], resource: Resource, identifier: str) -> list[dict[str, Any]]:
    return [item for item in items if str(uid_of(item)) == identifier] or [
        item for item in items if identifier == item.get(resource.name)
    ]


def uid_of(item: Object) -> Any:
    """Return what identifies an object in paths."""
    return item.get("uid", item.get("action_uid", item.get("name")))


def path_of(resource: Resource, item: Object) -> str:
    return f"{resource.path}/{uid_of(item)}"
