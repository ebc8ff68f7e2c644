"""Endpoints of the LDAP settings (`/v1/cluster/ldap` of the Redis Enterprise REST API)."""

from dataclasses import asdict
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import Admin, ConsoleDep, ReadSession, UserManager
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.login_throttle import login_change
from shardboard.api.http.parameters import DryRun
from shardboard.domain.access import ldap
from shardboard.domain.access.ldap import Directory, DirectoryUnavailable
from shardboard.errors import NotAcceptable
from shardboard.services.access import ldap as service
from shardboard.state.cluster import cluster

router = ApiRouter(prefix="/v1/cluster/ldap", tags=["users"])

Text = Annotated[str, Field(max_length=ldap.MAX_LENGTH)]


class LdapQuery(BaseModel):
    model_config = ConfigDict(strict=True)

    base: Text = ""
    filter: Annotated[str, Field(min_length=1, max_length=ldap.MAX_LENGTH)]
    scope: Literal["base", "one", "subtree"] = "subtree"


class NewLdapSettings(BaseModel):
    """Omitted fields keep their values. `cba_…` fields (authentication by certificate) are accepted without effect."""

    model_config = ConfigDict(strict=True)

    WITHOUT_EFFECT: ClassVar = dict.fromkeys(
        ("cba_user_dn_template", "cba_user_dn_query", "cba_dn_group_attr", "cba_dn_group_query")
    )

    uris: Annotated[
        list[Text] | None,
        Field(max_length=ldap.MAX_URIS, description="LDAP servers. The first one that responds is used."),
    ] = None
    control_plane: Annotated[
        bool | None, Field(description="Whether users of the console sign in with the directory.")
    ] = None
    data_plane: Annotated[
        Literal[False] | None, Field(description="Not supported: database users have passwords in the engine.")
    ] = None
    cba: Literal[False] | None = None
    starttls: bool | None = None
    ca_cert: Annotated[
        str | None,
        Field(description="CA certificates (PEM) to trust instead of the system's; empty: trust the system's."),
    ] = None
    bind_dn: Annotated[
        Text | None, Field(description="DN of the account that searches for entries; empty: search anonymously.")
    ] = None
    directory_timeout_s: Annotated[int | None, Field(ge=5, le=60)] = None
    cache_ttl: Annotated[
        int | None,
        Field(ge=0, le=86_400, description="Seconds for which a correct password is cached."),
    ] = None
    user_dn_template: Annotated[
        Text | None, Field(description="DN of users, with %u as the username. Replaces `user_dn_query`.")
    ] = None
    user_dn_query: LdapQuery | None = None
    dn_group_attr: Annotated[
        Text | None, Field(description="Attribute with a user's groups, such as `memberOf`. Replaces `dn_group_query`.")
    ] = None
    dn_group_query: Annotated[
        LdapQuery | None, Field(description="Query for a user's groups, with %D as the DN of the user.")
    ] = None
    bind_pass: Annotated[
        str | None,
        Field(
            max_length=1_000,
            repr=False,
            description=f"Password of `bind_dn`. Omit it or send {service.PLACEHOLDER} to keep it. It is removed if `uris`, "
            "`bind_dn`, `ca_cert`, or `starttls` changes.",
        ),
    ] = None


class LdapOut(BaseModel):
    """LDAP settings. Queries that a template or an attribute replaces are omitted."""

    uris: list[str]
    """LDAP servers; empty if no directory is configured."""
    control_plane: bool
    data_plane: Literal[False] = False
    cba: Literal[False] = False
    starttls: bool
    ca_cert: str
    bind_dn: str
    bind_pass: str
    """A placeholder; the password is never returned."""
    directory_timeout_s: int
    cache_ttl: int
    user_dn_template: str
    user_dn_query: LdapQuery | None = None
    dn_group_attr: str
    dn_group_query: LdapQuery | None = None


@router.get("", summary="Get LDAP settings", responses=error_responses(), response_model_exclude_none=True)
async def get_ldap_settings(_manager: UserManager, session: ReadSession) -> LdapOut:
    """Return the LDAP settings, or the defaults if no directory is configured. Required role: `admin` or `user_manager`."""
    return _render(service.directory_of(await cluster.load(session)) or Directory(()))


@router.put("", summary="Set LDAP settings", responses=error_responses(406), response_model_exclude_none=True)
async def set_ldap_settings(admin: Admin, console: ConsoleDep, body: NewLdapSettings, dry_run: DryRun) -> LdapOut:
    """Change the LDAP settings. If `control_plane` is on, the console first checks that the directory works with them.

    Returns 406 `ldap_unavailable` if the check fails. Required role: `admin`.
    """
    payload = body.model_dump(exclude={"data_plane", "cba"})
    async with console.store.read() as session:
        directory = await service.validate(session, payload)
    if directory.control_plane:
        try:
            await console.ldap.check(directory)
        except DirectoryUnavailable as reason:
            raise NotAcceptable("ldap_unavailable", str(reason), field="uris") from reason
    if not dry_run:
        async with login_change(console.store) as session:
            directory = await service.configure(session, payload, admin)
    return _render(directory)


@router.delete("", summary="Remove LDAP settings", responses=error_responses(404))
async def remove_ldap_settings(admin: Admin, console: ConsoleDep, dry_run: DryRun) -> dict[str, str]:
    """Remove the LDAP directory. Its users are signed out and cannot sign in, but are not deleted. Required role: `admin`."""
    async with login_change(console.store, dry_run=dry_run) as session:
        await service.remove(session, admin)
    return {}


def _render(directory: Directory) -> LdapOut:
    fields = {**asdict(directory), "uris": list(directory.uris)}
    fields["bind_pass"] = service.PLACEHOLDER if directory.bind_pass else ""
    return LdapOut(**fields)
