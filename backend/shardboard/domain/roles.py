"""The roles that are always there (REST reference 3.5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

ManagementRole = Literal["admin", "cluster_member", "cluster_viewer", "db_member", "db_viewer", "user_manager", "none"]
"""What a user may do here (REST reference 2.8)."""


@dataclass(frozen=True)
class BuiltIn:
    """A role of the reference, which never changes."""

    uid: int
    name: str
    management: str


BUILT_IN: Mapping[int, BuiltIn] = {
    each.uid: each
    for each in (
        BuiltIn(1, "Admin", "admin"),
        BuiltIn(2, "Cluster Member", "cluster_member"),
        BuiltIn(3, "Cluster Viewer", "cluster_viewer"),
        BuiltIn(4, "DB Member", "db_member"),
        BuiltIn(5, "DB Viewer", "db_viewer"),
        BuiltIn(6, "None", "none"),
    )
}


def uid_of(management: str) -> int:
    """Of the built-in role with that management role; 0: there is none."""
    return next((role.uid for role in BUILT_IN.values() if role.management == management), 0)
