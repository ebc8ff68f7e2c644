"""Roles of users (REST reference 3.5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

ManagementRole = Literal["admin", "cluster_member", "cluster_viewer", "db_member", "db_viewer", "user_manager", "none"]
"""What a user may do here (REST reference 2.8)."""


@dataclass(frozen=True)
class Role:
    """A role, and what its users may do here."""

    uid: int
    name: str
    management: str
    bdb_uids: Sequence[int] = ()
    """Databases that it reaches; empty: all."""


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
"""Those that are always there and never change."""


LIMITED: frozenset[str] = frozenset({"db_member", "db_viewer"})
"""Management roles that may reach some databases only; what the others do concerns the whole cluster."""


def uid_of(management: str) -> int:
    """Of the built-in role with that management role; 0: there is none."""
    return next((role.uid for role in BUILT_IN.values() if role.management == management), 0)
