"""Endpoints of the console's private CA: show it, and replace it by a new CA or by one that an external CA has signed."""

import asyncio
from contextlib import suppress

from fastapi.responses import JSONResponse, PlainTextResponse
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import (
    Admin,
    ConsoleDep,
    ReadSession,
    Viewer,
    WriteSession,
    WriteSessionWithoutDryRun,
)
from shardboard.api.http.error_handlers import ERROR_REPLIES
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import DryRun
from shardboard.console import Console
from shardboard.errors import BadRequest
from shardboard.schemas.cluster import console_ca as schema
from shardboard.services.cluster import console_ca as service

CONFIRM_TIMEOUT_SECONDS = 10
"""Time that agents have to confirm that they trust the next CA."""

router = ApiRouter(prefix="/v1", tags=["cluster"])


@router.get(
    "/ca/bundle", summary="Get CA bundle", response_class=PlainTextResponse, tags=["join"], responses=ERROR_REPLIES
)
async def get_ca_bundle(console: ConsoleDep) -> str:
    """Return all CA certificates (PEM) that browsers and clients of TLS endpoints have to trust.

    While the console CA is being replaced, these are the previous and the next one. For a CA that an external CA has signed, the
    bundle also contains the certificates above it, including the root if it is known. No credentials are required.
    """
    return console.ca.bundle


@router.get(
    "/cluster/authority", summary="Get console CA", response_model=schema.ConsoleCaState, responses=error_responses()
)
async def get_console_ca(_viewer: Viewer, session: ReadSession, console: ConsoleDep) -> JSONResponse:
    """Return the CA that signs the certificates of the console and the agents, and the progress of its replacement.

    Private keys are never returned.
    """
    return await _state_reply(session, console)


@router.post(
    "/cluster/authority/request",
    summary="Create CA request",
    response_model=schema.CaRequestOut,
    responses=error_responses(409, 503),
)
async def create_ca_request(
    admin: Admin, session: WriteSessionWithoutDryRun, console: ConsoleDep, body: schema.NewCaRequest | None = None
) -> JSONResponse:
    """Create a certificate signing request for an external CA. It replaces an open request.

    The private key stays in the store. Required role: `admin`.
    """
    body = body or schema.NewCaRequest()
    request = await service.create_signing_request(session, console.ca, admin, body.common_name, body.organization)
    return JSONResponse(schema.render_ca_request(request))


@router.post(
    "/cluster/authority/announce",
    summary="Announce CA",
    response_model=schema.CaOut,
    responses=error_responses(406, 409, 503),
)
async def announce_ca(
    admin: Admin,
    session: WriteSession,
    console: ConsoleDep,
    dry_run: DryRun,
    body: schema.AnnounceCaRequest | None = None,
) -> JSONResponse:
    """Announce the next CA (first of two steps). Agents trust it from then on, but no certificates that it signed are served yet.

    Afterwards, distribute `/v1/ca/bundle` to browsers and to clients of TLS endpoints, and then send `switch`. A dry run returns
    the contents of a certificate. Required role: `admin`.
    """
    chain = (body.certificate or "") if body else ""
    if dry_run:
        if not chain:
            raise BadRequest("invalid_certificate", "`certificate` is required in a dry run.", field="certificate")
        return JSONResponse(schema.render_ca(await service.check_certificate(session, console.ca, chain)))
    announced = await service.announce(session, console.ca, admin, chain)
    return JSONResponse(schema.render_ca(announced))


@router.post(
    "/cluster/authority/switch",
    summary="Switch CA",
    response_model=schema.ConsoleCaState,
    responses=error_responses(409, 503),
)
async def switch_ca(admin: Admin, console: ConsoleDep) -> JSONResponse:
    """Switch to the announced CA (second of two steps). The console, the agents, and their endpoints then serve
    certificates that it signed.

    The console removes the previous CA when all nodes use the new one. Existing join tokens become invalid. Required role: `admin`.
    """
    if console.ca.next_ca is not None:
        with suppress(TimeoutError):
            async with asyncio.timeout(CONFIRM_TIMEOUT_SECONDS):
                # Includes agents that have confirmed already: an address may have a new agent.
                await console.trust.update(force=True)
    async with console.store.begin() as session:  # opened only now because agents may be slow
        await service.switch(session, console.ca, admin)
    async with console.store.read() as reader:
        return await _state_reply(reader, console)


@router.delete(
    "/cluster/authority/next",
    summary="Withdraw CA",
    response_model=schema.ConsoleCaState,
    responses=error_responses(409, 503),
)
async def withdraw_ca(admin: Admin, session: WriteSessionWithoutDryRun, console: ConsoleDep) -> JSONResponse:
    """Withdraw the announced CA or the open request. After `switch`, this is no longer possible.

    To return to another CA after `switch`, replace the CA again when the previous one has been removed. Required role: `admin`.
    """
    await service.withdraw(session, console.ca, admin)
    return await _state_reply(session, console)


async def _state_reply(session: AsyncSession, console: Console) -> JSONResponse:
    return JSONResponse(schema.render(console.ca, await service.blocking_reasons(session, console.ca)))
