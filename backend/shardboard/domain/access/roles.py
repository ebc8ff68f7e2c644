"""Roles of users (REST reference 3.5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

ManagementRole = Literal["admin", "cluster_member", "cluster_viewer", "db_member", "db_viewer", "user_manager", "none"]
"""Permissions in the console (REST reference 2.8)."""


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
        Role(1, "Admin", "admin"),
        Role(2, "Cluster Member", "cluster_member"),
        Role(3, "Cluster Viewer", "cluster_viewer"),
        Role(4, "DB Member", "db_member"),
        Role(5, "DB Viewer", "db_viewer"),
        Role(6, "None", "none"),
    )
}
"""Roles that always exist and cannot be changed."""


LIMITED: frozenset[str] = frozenset({"db_member", "db_viewer"})
"""Management roles that can be limited to some databases; the other roles apply to the complete cluster."""


def uid_of(management: str) -> int:
    """Return the uid of the built-in role with this management role; 0 if there is none."""
    return next((role.uid for role in BUILT_IN.values() if role.management == management), 0)
