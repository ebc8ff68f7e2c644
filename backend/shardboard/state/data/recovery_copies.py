"""The objects that agents keep copies of, as JSON: one for the cluster with its nodes, for all agents, and one for each database in
service, for the agents of its nodes.

A copy contains complete rows. Columns that observations change are included, but their changes alone make no new version.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar, cast

from sqlalchemy import inspect, select
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.databases.bdb_status import IN_SERVICE
from shardboard.state.access import acl_users, roles_and_acls
from shardboard.state.access.users import Password, User
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster import nodes
from shardboard.state.cluster.agent_certificates import IssuedCertificate
from shardboard.state.cluster.cluster import Cluster
from shardboard.state.cluster.console_certificates import ConsoleCertificates
from shardboard.state.cluster.nodes import CA_COLUMNS, Node
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard
from shardboard.store.db import Base, UtcDateTime

KINDS = frozenset({"bdb", "cluster", "console_certificates", "node", "redis_acl", "role", "shard", "user"})
"""Kinds of rows on which copies depend."""
_SECRETS = frozenset({"jwt_secret", "audit_key"})
"""Columns of the cluster that a rebuilt store gets new."""
_SIGN_IN = frozenset({"oidc", "ldap"})
"""Columns of the cluster that refer to users, and are lost with them."""
_OBSERVED: Mapping[type[Base], frozenset[str]] = {
    Node: frozenset(
        {"agent_status", "facts", "health", "last_seen", "proxy", "unavailable_since", "unknown", *CA_COLUMNS}
    ),
    # Not the status: a recovery lists databases whose operation was interrupted.
    Bdb: frozenset({"action_uid", "status_detail", "store_mismatch"}),
    Shard: frozenset(
        {
            "detail",
            "observed_at",
            "observed_link",
            "observed_pid",
            "observed_started_at",
            "observed_status",
            "observed_version",
        }
    ),
}

Row = dict[str, Any]
R = TypeVar("R", bound=Base)


@dataclass(frozen=True)
class CopiedObject:
    """An object and the nodes that keep a copy of it. `uid` is that of a database; None for the cluster."""

    uid: int | None
    content: dict[str, Any]
    digest: str
    """Changes when a new version is necessary."""
    nodes: frozenset[int]


async def load_objects(session: AsyncSession) -> list[CopiedObject]:
    """Return all objects in their present state, the cluster first."""
    every_node = await nodes.list_all(session)
    in_service = [bdb for bdb in await bdbs.list_all(session) if bdb.status in IN_SERVICE]
    shards_of: dict[int, list[Shard]] = {}
    for row in await shards.list_occupying(session):
        shards_of.setdefault(row.bdb_uid, []).append(row)
    content = await _cluster(session, every_node, in_service)
    found = [_object(None, content, (node.uid for node in every_node))]
    for bdb in in_service:
        rows = shards_of.get(bdb.uid, [])
        holders = {*bdb.endpoint_nodes, *(row.node_uid for row in rows)}
        found.append(_object(bdb.uid, {"bdb": _dump(bdb), "shards": [_dump(row) for row in rows]}, holders))
    return found


async def _cluster(session: AsyncSession, every_node: Sequence[Node], in_service: Sequence[Bdb]) -> dict[str, Any]:
    certificates = (await session.execute(select(ConsoleCertificates))).scalar_one_or_none()
    issued = (await session.execute(select(IssuedCertificate).order_by(IssuedCertificate.serial))).scalars()
    users = (await session.execute(select(User).order_by(User.uid))).scalars().all()
    granted = await acl_users.granted_role_uids(session)
    with_data = {user.uid: user for user in users if not granted.isdisjoint(user.all_role_uids) and _data_hashes(user)}
    return {
        "cluster": _dump(await clusters.load(session), without=_SECRETS | _SIGN_IN),
        "certificates": _dump(certificates) if certificates is not None else None,
        "nodes": [_dump(node) for node in every_node],
        "issued_certificates": [_dump(each) for each in issued],
        "roles": [_dump(each) for each in await roles_and_acls.list_roles(session)],
        "redis_acls": [_dump(each) for each in await roles_and_acls.list_acls(session)],
        "users": [_dump_user(user) for user in with_data.values()],
        "other_users": [user.email for user in users if user.uid not in with_data],
        "databases": {str(bdb.uid): bdb.name for bdb in in_service},
    }


def _object(uid: int | None, content: dict[str, Any], holders: Iterable[int]) -> CopiedObject:
    stable = {
        name: [_stable(row) for row in value] if isinstance(value, list) else _stable(value)
        for name, value in content.items()
    }
    digest = hashlib.sha256(json.dumps(stable, sort_keys=True).encode()).hexdigest()
    return CopiedObject(uid, content, digest, frozenset(holders))


class _Dumped(dict[str, Any]):
    """A row, and the names of its columns that observations change."""

    observed: frozenset[str] = frozenset()


def _dump(row: Base, without: Collection[str] = ()) -> _Dumped:
    dumped = _Dumped(
        (column.key, value.isoformat() if isinstance(value := getattr(row, column.key), datetime) else value)
        for column in inspect(type(row)).column_attrs
        if column.key not in without
    )
    dumped.observed = _OBSERVED.get(type(row), frozenset())
    return dumped


def _stable(value: Any) -> Any:
    if not isinstance(value, _Dumped):
        return value
    return {name: each for name, each in value.items() if name not in value.observed}


def _data_hashes(user: User) -> list[str]:
    return [each.data_hash for each in user.passwords if each.data_hash is not None]


def _dump_user(user: User) -> Row:
    """Return what engines need to accept the user. The password for the console and two-factor authentication are lost."""
    return {
        "uid": user.uid,
        "email": user.email,
        "name": user.name,
        "role": user.role,
        "role_uid": user.role_uid,
        "role_uids": user.role_uids,
        "has_name_only": user.has_name_only,
        "created_at": user.created_at.isoformat(),
        "data_hashes": _data_hashes(user),
    }


def load_row(cls: type[R], row: Mapping[str, Any]) -> R:
    """Return a new row of a table from a copy. Raises KeyError, TypeError or ValueError if it is invalid."""
    columns = inspect(cls).columns
    values = {
        name: datetime.fromisoformat(value)
        if value is not None and isinstance(columns[name].type, UtcDateTime)
        else value
        for name, value in row.items()
    }
    return cls(**values)


def load_user(row: Mapping[str, Any]) -> User:
    """Return a user that engines accept, and that cannot sign in to the console until an administrator sets a password."""
    user = load_row(User, {name: value for name, value in row.items() if name != "data_hashes"})
    user.set_passwords([unusable_password(each) for each in cast(list[str], row["data_hashes"])])
    return user


def unusable_password(data_hash: str) -> Password:
    """Return a password that engines accept and the console does not: its hash is not that of any text."""
    password = Password("", data_hash)
    return Password(f"!{password.id}", data_hash, password.id)


def load_cluster(row: Mapping[str, Any], jwt_secret: str) -> Cluster:
    return load_row(Cluster, {**row, "jwt_secret": jwt_secret})
