"""Logging in by a directory, over HTTP (REST reference: `/v1/cluster/ldap`)."""

from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.deps import Admin, Reader, TheConsole, UserManager
from shardboard.api.gate import look_again
from shardboard.api.parameters import DryRun, is_on
from shardboard.api.replies import errors
from shardboard.domain import ldap
from shardboard.domain.ldap import Directory, Unavailable
from shardboard.errors import NotAcceptable
from shardboard.services import ldap as service
from shardboard.state import cluster

router = APIRouter(prefix="/cluster/ldap", tags=["users"])

Text = Annotated[str, Field(max_length=ldap.LONGEST)]


class LdapQuery(BaseModel):
    model_config = ConfigDict(strict=True)

    base: Text = ""
    filter: Annotated[str, Field(min_length=1, max_length=ldap.LONGEST)]
    scope: Literal["base", "one", "subtree"] = "subtree"


class NewLdapSettings(BaseModel):
    """What is left out stays. `cba_…` are accepted and not kept: nobody logs in by a certificate."""

    model_config = ConfigDict(strict=True)

    uris: Annotated[
        list[Text] | None, Field(max_length=ldap.MOST_URIS, description="The first that answers counts.")
    ] = None
    control_plane: Annotated[bool | None, Field(description="Whether people log in by it.")] = None
    data_plane: Annotated[
        Literal[False] | None, Field(description="Users of data log in by what the console hands to engines.")
    ] = None
    cba: Literal[False] | None = None
    starttls: bool | None = None
    ca_cert: Annotated[
        str | None, Field(description="PEM of authorities that alone are trusted for it; empty: the system's.")
    ] = None
    bind_dn: Annotated[Text | None, Field(description="As whom entries are searched for; empty: as nobody.")] = None
    directory_timeout_s: Annotated[int | None, Field(ge=5, le=60)] = None
    cache_ttl: Annotated[
        int | None,
        Field(ge=0, le=86_400, description="Seconds for which a password that was right is not asked again."),
    ] = None
    user_dn_template: Annotated[Text | None, Field(description="%u is the name; in place of user_dn_query.")] = None
    user_dn_query: LdapQuery | None = None
    dn_group_attr: Annotated[Text | None, Field(description="Such as memberOf; in place of dn_group_query.")] = None
    dn_group_query: Annotated[LdapQuery | None, Field(description="%D is the DN of the user's entry.")] = None
    bind_pass: Annotated[
        str | None,
        Field(
            max_length=1_000, repr=False, description=f"{service.HIDDEN}, or left out: as it is, for the same server."
        ),
    ] = None


class LdapOut(BaseModel):
    """Queries are left out where a template or an attribute is in their place."""

    uris: list[str]
    """None: there is no directory."""
    control_plane: bool
    data_plane: Literal[False] = False
    cba: Literal[False] = False
    starttls: bool
    ca_cert: str
    bind_dn: str
    bind_pass: str
    """Never shown."""
    directory_timeout_s: int
    cache_ttl: int
    user_dn_template: str
    user_dn_query: LdapQuery | None = None
    dn_group_attr: str
    dn_group_query: LdapQuery | None = None


@router.get("", responses=errors(), response_model_exclude_none=True)
async def get_directory(_manager: UserManager, session: Reader) -> LdapOut:
    """The directory that people log in by; without one what would be, were it set."""
    return _shape(service.directory_of(await cluster.load(session)) or Directory(()))


@router.put("", responses=errors(406), response_model_exclude_none=True)
async def set_directory(admin: Admin, console: TheConsole, body: NewLdapSettings, dry_run: DryRun = None) -> LdapOut:
    """Set it. Where people log in by it, it is asked first whether it answers as it was described."""
    given = body.model_dump(exclude={"data_plane", "cba"})
    async with console.store.read() as session:
        directory = await service.examine(session, given)
    if directory.control_plane:
        try:
            await console.ldap.look(directory)
        except Unavailable as reason:
            raise NotAcceptable("ldap_unavailable", str(reason), field="uris") from reason
    if not is_on(dry_run):
        async with console.store.begin() as session:
            directory = await service.configure(session, given, admin)
        look_again(console.store)
    return _shape(directory)


@router.delete("", responses=errors(404))
async def remove_directory(admin: Admin, console: TheConsole) -> dict[str, str]:
    """Nobody logs in by it any more. Its users are signed out, and stay."""
    async with console.store.begin() as session:
        await service.remove(session, admin)
    look_again(console.store)
    return {}


def _shape(directory: Directory) -> LdapOut:
    kept = {**asdict(directory), "uris": list(directory.uris)}
    kept["bind_pass"] = service.HIDDEN if directory.bind_pass else ""
    return LdapOut(**kept)
