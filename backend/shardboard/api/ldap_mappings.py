"""Groups of the directory and their roles, over HTTP (REST reference: `/v1/ldap_mappings`)."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.deps import Reader, Tx, UserManager
from shardboard.api.parameters import DryRun, Uid, is_on
from shardboard.api.replies import errors
from shardboard.db import take_back
from shardboard.services import ldap as service
from shardboard.state import ldap_mappings as state
from shardboard.state.ldap_mappings import LdapMapping

router = APIRouter(prefix="/ldap_mappings", tags=["users"])

Name = Annotated[str, Field(max_length=service.LONGEST_NAME)]
Dn = Annotated[str, Field(max_length=1_000, description="Of the group.")]
RoleUids = Annotated[
    list[Annotated[int, Field(ge=1, le=2**31 - 1)]], Field(min_length=1, max_length=1, description="One of /v1/roles.")
]
Email = Annotated[str, Field(max_length=254)]


class MappingChanges(BaseModel):
    """What is left out stays. Alerts by mail are set for receivers; `…email_alerts` are accepted and not kept."""

    model_config = ConfigDict(strict=True)

    name: Name | None = None
    dn: Dn | None = None
    role_uids: RoleUids | None = None
    email: Email | None = None


class NewMapping(MappingChanges):
    name: Name
    dn: Dn
    role_uids: RoleUids
    email: Email = ""


class MappingOut(BaseModel):
    uid: int
    name: str
    dn: str
    role_uids: list[int]
    email: str


@router.get("", responses=errors())
async def list_mappings(_manager: UserManager, session: Reader) -> list[MappingOut]:
    """All by uid: the first whose group somebody is in gives the role."""
    return [_shape(row) for row in await state.every(session)]


@router.post("", responses=errors(406, 409))
async def create_mapping(manager: UserManager, session: Tx, body: NewMapping, dry_run: DryRun = None) -> MappingOut:
    """Add one."""
    row = await service.create_mapping(session, body.name, body.dn, body.role_uids[0], body.email, manager)
    return await _kept(session, row, dry_run)


@router.get("/{uid}", responses=errors(404))
async def get_mapping(_manager: UserManager, session: Reader, uid: Uid) -> MappingOut:
    """One of them."""
    return _shape(await service.mapping(session, uid))


@router.put("/{uid}", responses=errors(404, 406, 409))
async def update_mapping(
    manager: UserManager, session: Tx, uid: Uid, body: MappingChanges, dry_run: DryRun = None
) -> MappingOut:
    """Change one, from the next log-in on."""
    role_uid = body.role_uids[0] if body.role_uids else None
    row = await service.change_mapping(
        session, uid, manager, name=body.name, dn=body.dn, role_uid=role_uid, email=body.email
    )
    return await _kept(session, row, dry_run)


@router.delete("/{uid}", responses=errors(404))
async def delete_mapping(manager: UserManager, session: Tx, uid: Uid) -> dict[str, Any]:
    """Remove one, from the next log-in on."""
    await service.remove_mapping(session, uid, manager)
    return {}


async def _kept(session: Tx, row: LdapMapping, dry_run: str | None) -> MappingOut:
    """As it would be, of a dry run."""
    shown = _shape(row)
    if is_on(dry_run):
        await take_back(session)
    return shown


def _shape(row: LdapMapping) -> MappingOut:
    return MappingOut(uid=row.uid, name=row.name, dn=row.dn, role_uids=[row.role_uid], email=row.email)
