"""Endpoints of single sign-on (extension): the settings of the provider, and the redirects of a sign-in."""

from dataclasses import asdict
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Query, Request
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.http import audit_middleware, credentials
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import Admin, ConsoleDep, ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.login_throttle import get_login_state, login_change, recheck_logins
from shardboard.api.http.parameters import DryRun
from shardboard.api.http.query_check import accept_any_query
from shardboard.api.http.web_ui import is_ui_path
from shardboard.console import Console
from shardboard.domain.access import oidc
from shardboard.domain.access.oidc import Provider, SignInAttempt, SignInRefused, SsoIdentity
from shardboard.errors import ApiError, BadRequest, NotAcceptable, NotFound
from shardboard.net.client_address import source_of
from shardboard.services.access import logins, sessions
from shardboard.services.access import sso as service
from shardboard.state.access import audit
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster

router = ApiRouter(prefix="/v1", tags=["session"])

Text = Annotated[str, Field(max_length=500)]
COOKIE = "__Host-shardboard_sso"
"""The prefix prevents other hosts of the domain from setting the cookie."""
MAX_PARAMETER_LENGTH = 4_000
MAX_NEXT_PATH_BYTES = 500


class GroupRole(BaseModel):
    model_config = ConfigDict(strict=True)

    group: Annotated[str, Field(min_length=1, max_length=500)]
    role_uid: Annotated[int, Field(ge=1, le=2**31 - 1, description="Uid of a role of /v1/roles.")]


class OidcSettings(BaseModel):
    model_config = ConfigDict(strict=True)

    enabled: bool = True
    name: Annotated[str, Field(min_length=1, max_length=64, description="Text of the sign-in button.")] = (
        "single sign-on"
    )
    issuer: Annotated[
        str, Field(max_length=oidc.MAX_URL_LENGTH, description="Issuer URL, exactly as in the provider's tokens.")
    ]
    client_id: Annotated[str, Field(min_length=1, max_length=500)]
    scope: Text = "openid profile email"
    username_claim: Annotated[str, Field(min_length=1, max_length=100, description="Claim with the username.")] = (
        "email"
    )
    groups_claim: Annotated[str, Field(min_length=1, max_length=100)] = "groups"
    roles: Annotated[
        list[GroupRole],
        Field(
            max_length=200,
            description="Roles by group. At each sign-in, the first entry whose group contains the user applies.",
        ),
    ] = []
    default_role_uid: Annotated[
        int | None,
        Field(
            description="Role of users in none of these groups; null: they are rejected. Without `roles` and a default role, "
            "assign roles to the users in Shardboard."
        ),
    ] = None
    ca: Annotated[
        str,
        Field(
            description="CA certificates (PEM) to trust for the provider instead of the system's; empty: trust the system's."
        ),
    ] = ""


class NewOidcSettings(OidcSettings):
    client_secret: Annotated[
        str | None,
        Field(
            max_length=1_000,
            repr=False,
            description="Client secret; empty: use PKCE only. Default: unchanged, if `issuer` and `client_id` are the same.",
        ),
    ] = None


class OidcOut(OidcSettings):
    """Settings of the provider without the client secret."""

    has_client_secret: bool
    redirect_uri: str
    """Redirect URI to register with the provider, based on the host name of this request."""


class SsoStatus(BaseModel):
    """Sign-in option that the web UI shows to users who are not signed in."""

    name: str | None
    """Text of the button; null if single sign-on is not configured."""


@router.get("/cluster/oidc", summary="Get single sign-on settings", responses=error_responses(404))
async def get_oidc_settings(_admin: Admin, session: ReadSession, request: Request) -> OidcOut:
    """Return the settings of the single sign-on provider. Required role: `admin`."""
    provider = service.provider_of(await cluster.load(session))
    if provider is None:
        raise NotFound("sso_not_configured", "Single sign-on is not configured.")
    return _render(provider, request)


@router.put("/cluster/oidc", summary="Set single sign-on settings", responses=error_responses(406))
async def set_oidc_settings(
    admin: Admin, console: ConsoleDep, request: Request, body: NewOidcSettings, dry_run: DryRun
) -> OidcOut:
    """Replace all settings of single sign-on. Unless `enabled` is false, the console first checks that the provider responds.

    Returns 406 if the check fails. Required role: `admin`.
    """
    payload = {**body.model_dump(), "roles": tuple((each.group, each.role_uid) for each in body.roles)}
    async with console.store.read() as session:
        provider = await service.validate(session, payload)
    if provider.enabled:
        try:
            await console.oidc.check(provider)
        except SignInRefused as error:
            raise NotAcceptable(error.code, error.message, field="issuer") from error
    if not dry_run:
        async with login_change(console.store) as session:
            provider = await service.configure(session, payload, admin)
    return _render(provider, request)


@router.delete("/cluster/oidc", summary="Remove single sign-on settings", responses=error_responses(404))
async def remove_oidc_settings(admin: Admin, console: ConsoleDep, dry_run: DryRun) -> dict[str, str]:
    """Remove single sign-on. Its users are signed out and can no longer sign in, but are not deleted.

    Required role: `admin`.
    """
    async with login_change(console.store, dry_run=dry_run) as session:
        await service.remove(session, admin)
    return {}


@router.get("/session/sso", summary="Get single sign-on option", responses=error_responses())
async def get_sso_status(session: ReadSession) -> SsoStatus:
    """Return whether users can sign in with single sign-on. No credentials are required."""
    provider = service.provider_of(await cluster.load(session))
    return SsoStatus(name=provider.name if provider is not None and provider.enabled else None)


@router.get(
    "/session/sso/start",
    summary="Start single sign-on",
    responses={303: {"description": "Redirect to the provider, or to the web UI with the error."}},
)
async def start_sso(
    console: ConsoleDep,
    request: Request,
    return_path: Annotated[str, Query(alias="next", description="Path of the web UI to open after the sign-in.")] = "/",
) -> RedirectResponse:
    """Redirect the browser to the provider. No credentials are required."""
    _require_navigation(request)
    attempt = SignInAttempt(
        _redirect_uri(request), return_path if is_ui_path(return_path, MAX_NEXT_PATH_BYTES) else "/"
    )
    try:
        async with console.store.read() as session:
            provider, cluster_row = await service.enabled_provider(session), await cluster.load(session)
        url = await console.oidc.authorization_url(provider, attempt)
    except SignInRefused as error:
        return await _redirect_to_login(console, request, attempt.return_path, error.code, error.message)
    except ApiError as refusal:
        return await _redirect_to_login(console, request, attempt.return_path, refusal.code, refusal.description)
    reply = RedirectResponse(url, 303)
    # Lax: the provider sends the browser back.
    reply.set_cookie(
        COOKIE,
        service.sign_attempt(cluster_row, attempt),
        max_age=service.ATTEMPT_SECONDS,
        secure=True,
        httponly=True,
        samesite="lax",
    )
    return reply


@router.get(
    "/session/sso/callback",
    summary="Finish single sign-on",
    responses={303: {"description": "Redirect to the web UI, signed in or with the error."}},
)
@accept_any_query
async def finish_sso(console: ConsoleDep, request: Request) -> RedirectResponse:
    """Complete the sign-in after the provider has redirected the browser back."""
    _require_navigation(request)
    source, return_path, identity = credentials.source_address_of(request), "/", None
    params = {name: value for name, value in request.query_params.items() if len(value) <= MAX_PARAMETER_LENGTH}
    try:
        async with console.store.read() as session:
            provider, cluster_row = await service.enabled_provider(session), await cluster.load(session)
        attempt = service.read_attempt(cluster_row, request.cookies.get(COOKIE, ""))
        return_path = attempt.return_path
        if not credentials.equal_in_constant_time(params.get("state", ""), attempt.state):
            raise SignInRefused("too_late", "Another sign-in was started in this browser. Start again.")
        if "error" in params or "code" not in params:
            raise SignInRefused(
                "provider_refused",
                f"The provider rejected the sign-in: {logins.printable_name(params.get('error', 'no code was sent'))}.",
            )
        async with get_login_state(console.store).sso.slot(source_of(source)):
            claims = await console.oidc.claims(provider, attempt, params)
        identity = oidc.identity(provider, claims)
        audit_middleware.record_claimed_user(logins.printable_name(identity.username))
        async with login_change(console.store) as session:
            user = await service.sign_in(session, provider, identity, source)
            audit_middleware.record_authenticated_user(user.email, "single sign-on")
            browser = request.headers.get("user-agent", "")
            token = await sessions.start(session, user, user.passwords[0], source, browser)
    except SignInRefused as error:
        return await _redirect_to_login(console, request, return_path, error.code, error.message)
    except ApiError as refusal:
        if identity is not None and refusal.code == "no_role":
            await _sign_out(console, identity)
        return await _redirect_to_login(console, request, return_path, refusal.code, refusal.description)
    reply = RedirectResponse(return_path, 303)
    credentials.set_cookie(reply, token, sessions.SESSION_SECONDS)
    _delete_attempt_cookie(reply)
    return reply


async def _redirect_to_login(
    console: Console, request: Request, return_path: str, code: str, message: str
) -> RedirectResponse:
    """Redirect to the sign-in page of the web UI, which explains the code, and record the message as an event."""
    audit_middleware.record_rejection(code, message)
    is_recorded, suppressed = get_login_state(console.store).sso_audit.try_record()
    if is_recorded:
        description = f"Sign-in with single sign-on from {credentials.source_address_of(request)} failed: {message}"
        if suppressed:
            description += f" {suppressed} more failures since the last recorded one."
        async with login_change(console.store) as session:
            audit.without_audit(session)
            events.record(session, "authentication_err", description, source="cluster", severity="WARNING")
    query = {"refused": code, **({"next": return_path} if return_path != "/" else {})}
    reply = RedirectResponse(f"/login?{urlencode(query)}", 303)
    _delete_attempt_cookie(reply)
    return reply


def _render(provider: Provider, request: Request) -> OidcOut:
    fields = asdict(provider)
    roles = [GroupRole(group=group, role_uid=uid) for group, uid in provider.roles]
    has_secret = bool(fields.pop("client_secret"))
    return OidcOut(**{**fields, "roles": roles}, has_client_secret=has_secret, redirect_uri=_redirect_uri(request))


def _redirect_uri(request: Request) -> str:
    return f"{request.base_url}v1/session/sso/callback"


def _delete_attempt_cookie(reply: RedirectResponse) -> None:
    reply.delete_cookie(COOKIE, secure=True, httponly=True, samesite="lax")


def _require_navigation(request: Request) -> None:
    """Require a navigation. Otherwise, pages of other sites could make browsers send hundreds of these requests as images."""
    if request.headers.get("sec-fetch-mode", "navigate") != "navigate":
        raise BadRequest(
            "bad_request",
            "Single sign-on requires a browser that navigates to this address; scripts and embedded requests are rejected.",
        )


async def _sign_out(console: Console, identity: SsoIdentity) -> None:
    async with console.store.begin() as session:
        await service.sign_out(session, identity)
    recheck_logins(console.store)
