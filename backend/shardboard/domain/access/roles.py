"""Roles of users (REST reference 3.5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class ManagementRole(StrEnum):
    """Permissions in the console (REST reference 2.8)."""

    ADMIN = "admin"
    CLUSTER_MEMBER = "cluster_member"
    CLUSTER_VIEWER = "cluster_viewer"
    DB_MEMBER = "db_member"
    DB_VIEWER = "db_viewer"
    USER_MANAGER = "user_manager"
    NONE = "none"


AnyManagementRole = Literal[
    ManagementRole.ADMIN,
    ManagementRole.CLUSTER_MEMBER,
    ManagementRole.CLUSTER_VIEWER,
    ManagementRole.DB_MEMBER,
    ManagementRole.DB_VIEWER,
    ManagementRole.USER_MANAGER,
    ManagementRole.NONE,
]
"""The same values as a type for requests: an enumeration would be a separate component of the OpenAPI document."""


@dataclass(frozen=True)
class Role:
    """A role with its permissions in the console."""

    uid: int
    name: str
    management: str
    bdb_uids: Sequence[int] = ()
    """Databases that it gives access to; empty: all."""


BUILT_IN: Mapping[int, Role] = {
    each.uid: each
    for each in (
        Role(1, "Admin", ManagementRole.ADMIN),
        Role(2, "Cluster Member", ManagementRole.CLUSTER_MEMBER),
        Role(3, "Cluster Viewer", ManagementRole.CLUSTER_VIEWER),
        Role(4, "DB Member", ManagementRole.DB_MEMBER),
        Role(5, "DB Viewer", ManagementRole.DB_VIEWER),
        Role(6, "None", ManagementRole.NONE),
    )
}
"""Roles that always exist and cannot be changed."""


LIMITED: frozenset[str] = frozenset({ManagementRole.DB_MEMBER, ManagementRole.DB_VIEWER})
"""Management roles that can be limited to some databases; the other roles apply to the complete cluster."""


_INCLUDED: Mapping[str, frozenset[str]] = {
    ManagementRole.CLUSTER_MEMBER: frozenset(
        {ManagementRole.CLUSTER_VIEWER, ManagementRole.DB_MEMBER, ManagementRole.DB_VIEWER}
    ),
    ManagementRole.CLUSTER_VIEWER: frozenset({ManagementRole.DB_VIEWER}),
    ManagementRole.DB_MEMBER: frozenset({ManagementRole.DB_VIEWER}),
    ManagementRole.USER_MANAGER: frozenset({ManagementRole.CLUSTER_VIEWER, ManagementRole.DB_VIEWER}),
}
"""Management roles whose permissions another role includes. The role `admin` includes all, and all include `none`."""


def includes(management: str, other: str) -> bool:
    """Return whether a management role has all permissions of another one."""
    is_included = other in (ManagementRole.NONE, management) or other in _INCLUDED.get(management, ())
    return is_included or management == ManagementRole.ADMIN


def leading_role(candidates: Sequence[Role]) -> Role | None:
    """Return the role whose permissions in the console include those of all others; None if there is none."""
    return next((each for each in candidates if all(_covers(each, other) for other in candidates)), None)


def _covers(role: Role, other: Role) -> bool:
    has_databases = not role.bdb_uids or (bool(other.bdb_uids) and set(other.bdb_uids) <= set(role.bdb_uids))
    return other.management == ManagementRole.NONE or (has_databases and includes(role.management, other.management))


def uid_of(management: str) -> int:
    """Return the uid of the built-in role with this management role; 0 if there is none."""
    return next((role.uid for role in BUILT_IN.values() if role.management == management), 0)
