"""Models of roles and Redis ACLs."""

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from shardboard.domain.access import acl_rules, roles
from shardboard.domain.access.roles import AnyManagementRole

Uid = Annotated[int, Field(ge=1, le=2**31 - 1)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True)


class Rules(_Strict):
    acl: str = Field(
        max_length=acl_rules.MAX_LENGTH,
        description="Rules as in `ACL SETUSER`, without `on`, `off`, and passwords, for example `+@read ~orders:*`.",
    )


_VERSIONS = {"min_version": None, "max_version": None}
"""Versions of Redis that a Redis ACL requires."""


class NewAcl(Rules):
    """A new Redis ACL. `min_version` and `max_version` are accepted without effect."""

    WITHOUT_EFFECT: ClassVar = _VERSIONS

    name: str = Field(max_length=120)


class AclUpdate(_Strict):
    """Omitted fields keep their values."""

    WITHOUT_EFFECT: ClassVar = _VERSIONS

    name: str | None = Field(default=None, max_length=120)
    acl: str | None = Field(default=None, max_length=acl_rules.MAX_LENGTH)


class Acl(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    uid: int
    name: str
    acl: str


class Resources(_Strict):
    """Databases that a role can access."""

    type: Literal["db"]
    uids: list[Uid] = Field(min_length=1, max_length=1024)


_RESOURCES = "Databases that the role can access, for db_member and db_viewer. Empty: all databases."


class NewRole(_Strict):
    name: str = Field(max_length=120)
    management: AnyManagementRole
    resources: list[Resources] = Field(default=[], max_length=16, description=_RESOURCES)

    def bdb_uids(self) -> list[int]:
        return _uids(self.resources)


class RoleUpdate(_Strict):
    """Omitted fields keep their values."""

    name: str | None = Field(default=None, max_length=120)
    management: AnyManagementRole | None = None
    resources: list[Resources] | None = Field(default=None, max_length=16, description=_RESOURCES)

    def bdb_uids(self) -> list[int] | None:
        return _uids(self.resources) if self.resources is not None else None


class ResourcesOut(BaseModel):
    type: Literal["db"]
    uids: list[int]


class Role(BaseModel):
    uid: int
    name: str
    management: str
    resources: list[ResourcesOut] = Field(description=_RESOURCES)


def render_role(row: roles.Role) -> Role:
    resources = [ResourcesOut(type="db", uids=list(row.bdb_uids))] if row.bdb_uids else []
    return Role(uid=row.uid, name=row.name, management=row.management, resources=resources)


def _uids(resources: list[Resources]) -> list[int]:
    return [uid for each in resources for uid in each.uids]
