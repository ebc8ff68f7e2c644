"""Endpoints of LDAP mappings, which assign roles to groups (`/v1/ldap_mappings` of the Redis Enterprise REST API)."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.http.dependencies import ReadSession, UserManager, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import DryRun, Uid, is_flag_set
from shardboard.services.access import ldap as service
from shardboard.state.access import ldap_mappings as state
from shardboard.state.access.ldap_mappings import LdapMapping
from shardboard.store.db import roll_back

router = APIRouter(prefix="/ldap_mappings", tags=["users"])

MappingName = Annotated[str, Field(max_length=service.MAX_NAME_LENGTH)]
Dn = Annotated[str, Field(max_length=1_000, description="DN of the group.")]
RoleUids = Annotated[
    list[Annotated[int, Field(ge=1, le=2**31 - 1)]],
    Field(min_length=1, max_length=1, description="Uid of one role of /v1/roles."),
]
Email = Annotated[str, Field(max_length=254)]


class MappingChanges(BaseModel):
    """Omitted fields keep their values. `…email_alerts` fields are accepted without effect."""

    model_config = ConfigDict(strict=True)

    name: MappingName | None = None
    dn: Dn | None = None
    role_uids: RoleUids | None = None
    email: Email | None = None


class NewMapping(MappingChanges):
    name: MappingName
    dn: Dn
    role_uids: RoleUids
    email: Email = ""


class MappingOut(BaseModel):
    uid: int
    name: str
    dn: str
    role_uids: list[int]
    email: str


@router.get("", summary="List LDAP mappings", responses=error_responses())
async def list_mappings(_manager: UserManager, session: ReadSession) -> list[MappingOut]:
    """Return all LDAP mappings by uid. The first mapping whose group contains a user defines the user's role.

    Required role: `admin` or `user_manager`.
    """
    return [_render(row) for row in await state.list_all(session)]


@router.post("", summary="Create LDAP mapping", responses=error_responses(406, 409))
async def create_mapping(
    manager: UserManager, session: WriteSession, body: NewMapping, dry_run: DryRun = None
) -> MappingOut:
    """Add an LDAP mapping. Required role: `admin` or `user_manager`."""
    row = await service.create_mapping(session, body.name, body.dn, body.role_uids[0], body.email, manager)
    return await _result(session, row, dry_run)


@router.get("/{uid}", summary="Get LDAP mapping", responses=error_responses(404))
async def get_mapping(_manager: UserManager, session: ReadSession, uid: Uid) -> MappingOut:
    """Return an LDAP mapping. Required role: `admin` or `user_manager`."""
    return _render(await service.get_mapping(session, uid))


@router.put("/{uid}", summary="Update LDAP mapping", responses=error_responses(404, 406, 409))
async def update_mapping(
    manager: UserManager, session: WriteSession, uid: Uid, body: MappingChanges, dry_run: DryRun = None
) -> MappingOut:
    """Change an LDAP mapping. The change applies to a user at the next login. Required role: `admin` or `user_manager`."""
    role_uid = body.role_uids[0] if body.role_uids else None
    row = await service.change_mapping(
        session, uid, manager, name=body.name, dn=body.dn, role_uid=role_uid, email=body.email
    )
    return await _result(session, row, dry_run)


@router.delete("/{uid}", summary="Delete LDAP mapping", responses=error_responses(404))
async def delete_mapping(manager: UserManager, session: WriteSession, uid: Uid) -> dict[str, Any]:
    """Delete an LDAP mapping. The change applies to a user at the next login. Required role: `admin` or `user_manager`."""
    await service.remove_mapping(session, uid, manager)
    return {}


async def _result(session: WriteSession, row: LdapMapping, dry_run: str | None) -> MappingOut:
    """Return the mapping, and roll back in a dry run."""
    shown = _render(row)
    if is_flag_set(dry_run):
        await roll_back(session)
    return shown


def _render(row: LdapMapping) -> MappingOut:
    return MappingOut(uid=row.uid, name=row.name, dn=row.dn, role_uids=[row.role_uid], email=row.email)
