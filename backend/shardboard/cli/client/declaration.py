"""Declarations: files that state which objects a console should have, and the changes that lead to them.

A file has a list for each kind of object:

    redis_acls:
      - name: read-only
        acl: +@read ~*
    roles:
      - name: reporting
        management: db_viewer
    databases:
      - name: orders
        memory_size: 1GiB
        roles_permissions:
          - role: reporting        # instead of role_uid
            redis_acl: read-only   # instead of redis_acl_uid

Objects are identified by their names. Only fields in the file are compared and changed.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from shardboard.cli.client import resources
from shardboard.cli.client.connection import Connection
from shardboard.cli.client.output import Object
from shardboard.cli.client.resources import ACL, DATABASE, ROLE, USER, WEBHOOK, Resource
from shardboard.domain.access import acl_rules, roles
from shardboard.errors import CommandError

KINDS: Mapping[str, Resource] = {
    "redis_acls": ACL,
    "roles": ROLE,
    "users": USER,
    "webhooks": WEBHOOK,
    "databases": DATABASE,
}
"""Keys of a file, in the order in which objects are created. They are deleted in the reverse order."""

WRITE_ONLY = frozenset({"authentication_redis_pass", "password", "secret"})
"""Fields that the console does not return. They are sent when an object is created."""


class Change(StrEnum):
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True)
class PlannedChange:
    """One change. `fields` are those to send, and `before` the current values of these fields."""

    change: Change
    resource: Resource
    name: str
    fields: Object
    before: Object
    uid: int | None = None


@dataclass(frozen=True)
class Plan:
    changes: Sequence[PlannedChange]
    unchanged: int

    def summary(self) -> str:
        counts = {change: sum(each.change == change for each in self.changes) for change in Change}
        return (
            f"{counts[Change.CREATE]} to create, {counts[Change.UPDATE]} to change, {counts[Change.DELETE]} to delete, "
            f"{self.unchanged} unchanged"
        )


def read_declaration(document: object) -> dict[str, list[dict[str, Any]]]:
    """Return the objects of a file by kind. Raises CommandError."""
    if not isinstance(document, dict) or not document:
        raise CommandError(f"the file must have one or more of the keys {', '.join(KINDS)}")
    for key, items in document.items():
        if key not in KINDS:
            raise CommandError(f"the key {key} is unknown (keys: {', '.join(KINDS)})")
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise CommandError(f"{key} must be a list of objects with fields")
        names = [item.get("name") for item in items]
        for name in names:
            if not isinstance(name, str) or not name:
                raise CommandError(f"each object of {key} needs a name (text)")
            if names.count(name) > 1:
                raise CommandError(f"{key} contains {name} more than once")
    return document


def plan(console: Connection, declared: Mapping[str, Sequence[Object]], *, prune: bool) -> Plan:
    """Compare a declaration with a console. With `prune`, other objects of the declared kinds are deleted.

    Predefined roles, access lists, and the user of the connection are never deleted. Raises CommandError.
    """
    current = {key: resources.list_all(console, KINDS[key]) for key in KINDS if key in declared or _is_referenced(key)}
    changes: list[PlannedChange] = []
    deletions: list[PlannedChange] = []
    unchanged = 0
    own_uid = console.get("/v1/session")["uid"] if prune and "users" in declared else None
    for key, resource in KINDS.items():
        if key not in declared:
            continue
        by_name = _by_name(current[key], resource, declared[key])
        for item in declared[key]:
            change = _change_of(resource, item, by_name.get(item["name"]), current)
            unchanged += change is None
            changes += [] if change is None else [change]
        if prune:
            kept = {item["name"] for item in declared[key]}
            deletions += [
                PlannedChange(Change.DELETE, resource, str(item["name"]), {}, {}, item["uid"])
                for item in current[key]
                if item["name"] not in kept and not _is_predefined(key, item) and item["uid"] != own_uid
            ]
    return Plan([*changes, *reversed(deletions)], unchanged)


def _is_referenced(key: str) -> bool:
    return key in ("roles", "redis_acls")


def _by_name(
    current: Sequence[dict[str, Any]], resource: Resource, declared: Sequence[Object]
) -> dict[str, dict[str, Any]]:
    names = [item["name"] for item in current]
    for item in declared:
        if names.count(item["name"]) > 1:
            raise CommandError(f"several {resource.title}s have the name {item['name']}, so it does not identify one")
    return {item["name"]: item for item in current}


def _is_predefined(key: str, item: Object) -> bool:
    predefined: Mapping[str, Container[int]] = {"roles": roles.BUILT_IN, "redis_acls": acl_rules.BUILT_IN}
    return item["uid"] in predefined.get(key, ())


def _change_of(
    resource: Resource, item: Object, existing: Object | None, current: Mapping[str, Sequence[Object]]
) -> PlannedChange | None:
    if existing is None:
        return PlannedChange(Change.CREATE, resource, item["name"], item, {})
    wanted = {name: value for name, value in item.items() if name not in WRITE_ONLY}
    names = {key: {each["uid"]: each["name"] for each in items} for key, items in current.items()}
    actual = {name: _with_names(existing.get(name), names) for name in wanted}
    changed = [name for name, value in wanted.items() if not _is_equal(value, actual[name])]
    if not changed:
        return None
    return PlannedChange(
        Change.UPDATE,
        resource,
        item["name"],
        {name: wanted[name] for name in changed},
        {name: actual[name] for name in changed},
        existing["uid"],
    )


_ROLE, _ACL = "role", "redis_acl"
_REFERENCES = {_ROLE: ("role_uid", "roles"), _ACL: ("redis_acl_uid", "redis_acls")}
"""Names that files can contain instead of uids, with the field of the uid and the kind of the object."""


def _with_names(value: Any, names: Mapping[str, Mapping[int, str]]) -> Any:
    """Return a value of the console with the names of roles and access lists beside their uids."""
    if not isinstance(value, list):
        return value
    return [
        {
            **item,
            **{
                name: names.get(kind, {}).get(item[uid])
                for name, (uid, kind) in _REFERENCES.items()
                if isinstance(item, dict) and uid in item
            },
        }
        if isinstance(item, dict)
        else item
        for item in value
    ]


def _is_equal(wanted: Any, actual: Any) -> bool:
    """Return whether a value is as declared. In lists of objects, only declared fields are compared."""
    if isinstance(wanted, dict) and isinstance(actual, dict):
        return all(name in actual and _is_equal(value, actual[name]) for name, value in wanted.items())
    if isinstance(wanted, list) and isinstance(actual, list):
        return len(wanted) == len(actual) and all(map(_is_equal, wanted, actual))
    return (type(wanted) is type(actual) and bool(wanted == actual)) or _is_same_number(wanted, actual)


def _is_same_number(wanted: Any, actual: Any) -> bool:
    return (
        isinstance(wanted, int | float)
        and isinstance(actual, int | float)
        and not isinstance(wanted, bool)
        and not isinstance(actual, bool)
        and wanted == actual
    )


def resolved(console: Connection, fields: Object) -> dict[str, Any]:
    """Return the fields with uids instead of the names of roles and access lists. Raises CommandError."""
    return {name: _with_uids(console, value) for name, value in fields.items()}


def _with_uids(console: Connection, value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return [dict(_uid_fields(console, item)) if isinstance(item, dict) else item for item in value]


def _uid_fields(console: Connection, item: Object) -> Iterator[tuple[str, Any]]:
    for name, value in item.items():
        if name in _REFERENCES and isinstance(value, str):
            field, kind = _REFERENCES[name]
            yield field, resources.find(console, KINDS[kind], value)["uid"]
        else:
            yield name, value
