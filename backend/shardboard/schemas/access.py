"""Roles and lists of data rules on the wire (REST reference 3.5)."""

from pydantic import BaseModel, ConfigDict, Field

from shardboard.domain import acl_rules
from shardboard.domain.roles import ManagementRole


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True)


class Rules(_Strict):
    acl: str = Field(
        max_length=acl_rules.LONGEST,
        description="Rules as of `ACL SETUSER`, without on, off and passwords: `+@read ~orders:*`.",
    )


class NewAcl(Rules):
    """`min_version` and `max_version` are accepted and not kept."""

    name: str = Field(max_length=120)


class AclUpdate(_Strict):
    """What is left out stays."""

    name: str | None = Field(default=None, max_length=120)
    acl: str | None = Field(default=None, max_length=acl_rules.LONGEST)


class Acl(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    uid: int
    name: str
    acl: str


class NewRole(_Strict):
    name: str = Field(max_length=120)
    management: ManagementRole


class RoleUpdate(_Strict):
    """What is left out stays."""

    name: str | None = Field(default=None, max_length=120)
    management: ManagementRole | None = None


class Role(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    uid: int
    name: str
    management: str
