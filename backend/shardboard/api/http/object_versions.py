"""Versions of objects: `ETag` of replies, and `If-Match` of requests that change an object.

A version is derived from the columns that requests change. Statuses, observations, and figures are not part of it, so that a
failover between reading and writing does not reject the request. The hash has a secret key, because a hash of a password can be
guessed.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Header, Request, Response
from fastapi.routing import APIRoute
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.types import Scope

from shardboard.errors import BadRequest, PreconditionFailed
from shardboard.state.access.audit import SAFE_METHODS
from shardboard.state.access.ldap_mappings import LdapMapping
from shardboard.state.access.roles_and_acls import RedisAcl, Role
from shardboard.state.access.users import User
from shardboard.state.alerting.webhooks import Webhook
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster.cluster import Cluster
from shardboard.state.cluster.nodes import Node
from shardboard.state.data.locations import BackupLocation
from shardboard.state.databases.bdbs import Bdb
from shardboard.store.db import Base

HEADER = "If-Match"
VERSION_HEADER = "ETag"
_VERSION = "shardboard-object-version"
_MAX_UID = 2**31 - 1


@dataclass(frozen=True)
class VersionedObject:
    """The row of an object and the columns of its version. The cluster has one row, other rows have the uid in the path."""

    table: type[Base]
    columns: tuple[str, ...]

    async def load(self, session: AsyncSession, uid: str) -> Base | None:
        if self.table is Cluster:
            return await clusters.load(session)
        is_uid = uid.isascii() and uid.isdecimal() and len(uid) <= 10 and int(uid) <= _MAX_UID
        return await session.get(self.table, int(uid)) if is_uid else None


VERSIONED: Mapping[str, VersionedObject] = {
    "/v1/backup_locations/{uid}": VersionedObject(BackupLocation, ("name", "location", "recipients", "identities")),
    "/v1/bdbs/{uid}": VersionedObject(
        Bdb, ("name", "memory_size", "port", "sharding", "shards_count", "replication", "config")
    ),
    "/v1/benchmarks/cost_model": VersionedObject(Cluster, ("cost_model",)),
    "/v1/cluster": VersionedObject(Cluster, ("name", "config", "policy")),
    "/v1/cluster/policy": VersionedObject(Cluster, ("config", "policy")),
    "/v1/ldap_mappings/{uid}": VersionedObject(LdapMapping, ("name", "dn", "role_uid", "email")),
    "/v1/nodes/{uid}": VersionedObject(Node, ("addr", "accept_servers", "config")),
    "/v1/proxies/{uid}": VersionedObject(Node, ("config",)),
    "/v1/redis_acls/{uid}": VersionedObject(RedisAcl, ("name", "acl")),
    "/v1/roles/{uid}": VersionedObject(Role, ("name", "management", "bdb_uids")),
    "/v1/users/{uid}": VersionedObject(
        User,
        ("email", "name", "role", "role_uid", "role_uids", "auth_method", "password_hash", "other_passwords"),
    ),
    "/v1/webhooks/{uid}": VersionedObject(
        Webhook, ("name", "kind", "url", "secret", "ca", "events", "min_severity", "enabled", "muted_until")
    ),
}
"""Objects with a version, by path. Built-in roles and ACLs have no row, and therefore no version."""


async def document_match(
    _match: Annotated[
        str | None,
        Header(
            alias=HEADER,
            max_length=1000,
            description="`ETag` of the object when it was read (extension). If the object was changed since then, the request is "
            "rejected with 412 and changes nothing.",
        ),
    ] = None,
) -> None:
    """Describe the header in OpenAPI. `require_match` checks it in the transaction of the change."""


VERSION_HEADERS: dict[int | str, dict[str, Any]] = {
    200: {
        "headers": {
            VERSION_HEADER: {
                "description": "Version of the object, for the header If-Match (extension)",
                "schema": {"type": "string"},
            }
        }
    }
}
"""`responses=` of the endpoints that return a version."""


async def check_match_support(request: Request) -> None:
    """Raise BadRequest for `If-Match` if the endpoint does not support it, because it would be ignored."""
    if HEADER not in request.headers or request.method in SAFE_METHODS or _versioned(request) is not None:
        return
    message = f"{request.method} {request.url.path} does not support the header {HEADER}. Nothing was changed."
    raise BadRequest("bad_request", message, field=HEADER)


async def read_version(request: Request, session: AsyncSession) -> None:
    """Read the version of the object that a request reads. It is read before the object, so it can only be too old."""
    if request.method in SAFE_METHODS and (versioned := _versioned(request)) is not None:
        request.scope[_VERSION] = await _version(session, versioned, request)


def add_version(scope: Scope, reply: Response) -> None:
    """Add the version to a reply that contains the object."""
    if reply.status_code == 200 and (version := scope.get(_VERSION)) is not None:
        reply.headers[VERSION_HEADER] = f'"{version}"'


async def require_match(request: Request, session: AsyncSession) -> None:
    """Raise PreconditionFailed if the request names another version of the object than the current one.

    Takes the lock of the cluster, so that no other request can change the object until the transaction ends.
    """
    versioned, expected = _versioned(request), request.headers.get(HEADER)
    if versioned is None or expected is None:
        return
    await clusters.load_for_update(session)
    version = await _version(session, versioned, request)
    if version is None or version in _tags(expected):
        return  # an object without a version does not exist, or cannot be changed; the handler reports that
    message = (
        f"The object was changed after it was read, so it does not have the version in {HEADER}. Nothing was changed. "
        "Read the object and send the request with its current ETag."
    )
    raise PreconditionFailed("precondition_failed", message, field=HEADER)


def _tags(header: str) -> "frozenset[str] | _Anything":
    """Return the versions in the header. `W/` is ignored: reverse proxies that compress responses add it."""
    tags = [tag.strip() for tag in header.split(",")]
    return _Anything() if "*" in tags else frozenset(tag.removeprefix("W/").strip('"') for tag in tags)


class _Anything:
    """Matches every version."""

    def __contains__(self, version: object) -> bool:
        return True


def _versioned(request: Request) -> VersionedObject | None:
    route: APIRoute = request.scope["route"]
    return VERSIONED.get(route.path)


async def _version(session: AsyncSession, versioned: VersionedObject, request: Request) -> str | None:
    row = await versioned.load(session, request.path_params.get("uid", ""))
    if row is None:
        return None
    content = [versioned.table.__tablename__, *(getattr(row, name) for name in versioned.columns)]
    secret = (await clusters.load(session)).jwt_secret
    return hmac.new(
        secret.encode(), json.dumps(content, sort_keys=True, default=str).encode(), hashlib.sha256
    ).hexdigest()[:32]
