"""Endpoints of LDAP mappings, which assign roles to groups (`/v1/ldap_mappings` of the Redis Enterprise REST API)."""

from typing import Annotated, Any, ClassVar

from fastapi import Depends
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import ReadSession, UserManager, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lists import ListQuery, list_query_of
from shardboard.api.http.parameters import Uid
from shardboard.domain.access.roles import AnyManagementRole, uid_of
from shardboard.services.access import ldap as service
from shardboard.services.access import roles_and_acls
from shardboard.state.access import ldap_mappings as state
from shardboard.state.access.ldap_mappings import LdapMapping

router = ApiRouter(prefix="/v1/ldap_mappings", tags=["users"])

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

    WITHOUT_EFFECT: ClassVar = {"email_alerts": False, "bdbs_email_alerts": [], "cluster_email_alerts": False}

    name: MappingName | None = None
    dn: Dn | None = None
    role: Annotated[AnyManagementRole | None, Field(description="Management role. Alternative to `role_uids`.")] = None
    role_uids: RoleUids | None = None
    email: Email | None = None


class NewMapping(MappingChanges):
    name: MappingName
    dn: Dn
    email: Email = ""

    @model_validator(mode="after")
    def _check_role(self) -> "NewMapping":
        if self.role is None and self.role_uids is None:
            raise PydanticCustomError("field", "{field} {what}", {"field": "role_uids", "what": "is missing"})
        return self


class MappingOut(BaseModel):
    uid: int
    name: str
    dn: str
    role: str = Field(description="Management role of the role.")
    role_uids: list[int]
    email: str


MappingList = Annotated[ListQuery, Depends(list_query_of(MappingOut))]


@router.get("", summary="List LDAP mappings", response_model=list[MappingOut], responses=error_responses())
async def list_mappings(_manager: UserManager, session: ReadSession, query: MappingList) -> JSONResponse:
    """Return all LDAP mappings by uid. The first mapping whose group contains the user determines the role of the user.

    Required role: `admin` or `user_manager`.
    """
    return query.reply([(await _render(session, row)).model_dump() for row in await state.list_all(session)])


@router.post("", summary="Create LDAP mapping", responses=error_responses(406, 409))
async def create_mapping(manager: UserManager, session: WriteSession, body: NewMapping) -> MappingOut:
    """Add an LDAP mapping. Required role: `admin` or `user_manager`."""
    role_uid = await _role_uid(session, body)
    assert role_uid is not None  # noqa: S101 - validated by the model
    return await _render(
        session, await service.create_mapping(session, body.name, body.dn, role_uid, body.email, manager)
    )


@router.get("/{uid}", summary="Get LDAP mapping", responses=error_responses(404))
async def get_mapping(_manager: UserManager, session: ReadSession, uid: Uid) -> MappingOut:
    """Return an LDAP mapping. Required role: `admin` or `user_manager`."""
    return await _render(session, await service.get_mapping(session, uid))


@router.put("/{uid}", summary="Update LDAP mapping", responses=error_responses(404, 406, 409))
async def update_mapping(manager: UserManager, session: WriteSession, uid: Uid, body: MappingChanges) -> MappingOut:
    """Change an LDAP mapping. The change applies to a user at the next sign-in. Required role: `admin` or `user_manager`."""
    role_uid = await _role_uid(session, body)
    row = await service.change_mapping(
        session, uid, manager, name=body.name, dn=body.dn, role_uid=role_uid, email=body.email
    )
    return await _render(session, row)


@router.delete("/{uid}", summary="Delete LDAP mapping", responses=error_responses(404))
async def delete_mapping(manager: UserManager, session: WriteSession, uid: Uid) -> dict[str, Any]:
    """Delete an LDAP mapping. The change applies to a user at the next sign-in. Required role: `admin` or `user_manager`."""
    await service.remove_mapping(session, uid, manager)
    return {}


async def _role_uid(session: AsyncSession, body: MappingChanges) -> int | None:
    """Return the uid of the role that a request names; None if it names none."""
    if body.role is not None and body.role_uids is not None:
        await roles_and_acls.requested_role(session, body.role, body.role_uids)  # raises an error if they differ
    if body.role_uids is not None:
        return body.role_uids[0]
    return uid_of(body.role) if body.role is not None else None


async def _render(session: AsyncSession, row: LdapMapping) -> MappingOut:
    role = await roles_and_acls.get_role(session, row.role_uid)
    return MappingOut(
        uid=row.uid, name=row.name, dn=row.dn, role=role.management, role_uids=[row.role_uid], email=row.email
    )
