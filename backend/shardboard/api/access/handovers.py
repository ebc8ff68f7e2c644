"""Endpoints with which the web UI continues on another console, with the same session, when its own no longer responds.

Consoles have different host names, so their cookies are not shared. The page of the lost console submits a form with a token to
another console, which sets its own cookie and redirects to the same page. The token is only sent in bodies.
"""

from typing import Annotated
from urllib.parse import parse_qs

from fastapi import Header, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field

from shardboard.api.http import audit_middleware, credentials
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import ConsoleDep, CurrentLogin
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.login_throttle import get_login_state
from shardboard.api.http.web_ui import is_ui_path
from shardboard.console import Console
from shardboard.domain.cluster.consoles import ConsoleStatus, origin_of
from shardboard.errors import ApiError, BadRequest, Unauthorized
from shardboard.services.access import handovers as service
from shardboard.state.access import audit
from shardboard.state.cluster import cluster, consoles

router = ApiRouter(prefix="/v1/session", tags=["session"])

MAX_PATH_BYTES = 8_000
_FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-www-form-urlencoded": {
                "schema": {
                    "type": "object",
                    "required": ["token", "next"],
                    "properties": {
                        "token": {"type": "string", "description": "Token of `POST /v1/session/handover`."},
                        "next": {"type": "string", "description": "Path of the web UI to open."},
                    },
                }
            }
        },
    }
}


class HandoverConsole(BaseModel):
    """A console at which the web UI can continue."""

    uid: str
    host: str
    origin: str
    """Scheme, host name, and port of its web UI."""
    running: bool
    current: bool
    """Whether it has sent this response."""


class Handover(BaseModel):
    token: Annotated[str | None, Field(repr=False)]
    """Valid once and for a limited time. Null if no other console is running, or without a session cookie."""
    seconds: int
    """Lifetime of the token."""
    consoles: list[HandoverConsole]


class ConsoleReadiness(BaseModel):
    uid: str
    leads: bool
    """Whether it changes machines and records what it observes."""


@router.get("/handover", summary="Check console", responses=error_responses())
async def get_readiness(
    console: ConsoleDep, response: Response, origin: Annotated[str | None, Header(include_in_schema=False)] = None
) -> ConsoleReadiness:
    """Return 200 if this console can continue sessions of others, and 503 if its store is unavailable.

    Pages of other consoles of this store can read the response. No credentials are required.
    """
    async with console.store.read() as session:
        lease = await consoles.leadership(session)
        if origin is not None and await service.is_console_origin(session, origin):
            response.headers["Access-Control-Allow-Origin"] = origin
    response.headers["Vary"] = "Origin"
    leads = lease is not None and lease.console_id == console.id and not lease.released
    return ConsoleReadiness(uid=console.id, leads=leads)


@router.post("/handover", summary="Create token for other consoles", responses=error_responses())
async def create_handover(login: CurrentLogin, console: ConsoleDep) -> Handover:
    """Return the consoles of this store, and a token with which one of them can continue the session of this request."""
    async with console.store.read() as session:
        rows = [(row, origin_of(row.address)) for row in await consoles.list_all(session)]
    found = [
        HandoverConsole(
            uid=row.uid,
            host=row.host,
            origin=origin,
            running=row.status == ConsoleStatus.RUNNING,
            current=row.uid == console.id,
        )
        for row, origin in rows
        if origin is not None
    ]
    token = None
    if login.session_uid is not None and any(each.running and not each.current for each in found):
        async with console.store.begin() as session:
            audit.without_audit(session)
            token = await service.offer(session, login.session_uid)
    return Handover(token=token, seconds=service.TOKEN_SECONDS, consoles=found)


@router.post(
    "/continue",
    summary="Continue session of other console",
    status_code=303,
    response_class=RedirectResponse,
    responses={**error_responses(), 303: {"description": "Redirect to the web UI."}},
    openapi_extra=_FORM,
)
async def continue_session(
    console: ConsoleDep, request: Request, origin: Annotated[str | None, Header(include_in_schema=False)] = None
) -> RedirectResponse:
    """Exchange a token for the cookie of a session, and redirect the browser to the web UI.

    Returns 403 unless a page of a console of this store sends the form. If the token is not valid, the web UI asks for a sign-in.
    """
    form = _parse(await request.body())
    async with console.store.read() as session:
        await service.require_console_origin(session, origin)
    path = form.get("next", "")
    reply = RedirectResponse(path if is_ui_path(path, MAX_PATH_BYTES) else "/", 303)
    try:
        continued = await _redeem(console, form.get("token", ""), credentials.source_address_of(request))
    except ApiError as refusal:
        # The browser may still have a valid cookie, for example of a console with the same host name and another port.
        audit_middleware.record_rejection(refusal.code, refusal.description)
    else:
        credentials.set_cookie(reply, continued.cookie, continued.seconds)
    return reply


def _parse(body: bytes) -> dict[str, str]:
    """Return the fields of a form. Raises BadRequest."""
    try:
        return {name: values[-1] for name, values in parse_qs(body.decode(), errors="strict", max_num_fields=8).items()}
    except ValueError:
        raise BadRequest("bad_request", "The body must be a form with the fields `token` and `next`.") from None


async def _redeem(console: Console, token: str, source: str) -> service.ContinuedSession:
    throttle = get_login_state(console.store).handover_throttle
    if throttle.is_throttled("", source):
        raise Unauthorized(
            "token_expired", "Too many invalid tokens came from this address. Sign in, or try again later."
        )
    try:
        async with console.store.begin() as session:
            audit.without_audit(session)
            continued = await service.redeem(session, token)
            cluster_row = await cluster.load(session)
            credentials.require_second_factor(continued.user, cluster_row)
    except Unauthorized:
        async with console.store.read() as session:
            throttle.record_failure("", source, (await cluster.load(session)).rules)
        raise
    throttle.clear("", source)
    audit_middleware.record_authenticated_user(continued.user.email, "session")
    audit_middleware.record_secret_access("A session of another console was continued.")
    return continued
