"""The console's certificate authority over HTTP: how it is replaced, also by one that somebody else signed."""

import asyncio
import logging
from contextlib import suppress

from fastapi import APIRouter
from fastapi.responses import JSONResponse, PlainTextResponse
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.api.deps import Admin, Reader, TheConsole, Tx, Viewer
from shardboard.api.errors import ERROR_REPLIES
from shardboard.api.parameters import DryRun, is_on
from shardboard.api.replies import errors
from shardboard.console import Console
from shardboard.errors import BadRequest
from shardboard.schemas import console_authority as schema
from shardboard.services import console_authority as service

log = logging.getLogger(__name__)

MOST_SECONDS = 10
"""That agents may take to say that they trust the next authority."""

router = APIRouter(tags=["cluster"])


@router.get("/ca/bundle", response_class=PlainTextResponse, tags=["join"], responses=ERROR_REPLIES)
async def ca_bundle(console: TheConsole) -> str:
    """All that clients of endpoints with TLS, and browsers, are to trust (PEM): while the console's authority is replaced, that of
    before and the next one. Where somebody else's is above, with the root as far as it is known."""
    return console.authority.bundle


@router.get("/cluster/authority", response_model=schema.ConsoleAuthority, responses=errors())
async def get_authority(_viewer: Viewer, session: Reader, console: TheConsole) -> JSONResponse:
    """What signs the certificates of the console and of agents, and how far its replacement is. Keys never leave where they are."""
    return await _told(session, console)


@router.post("/cluster/authority/request", response_model=schema.RequestOut, responses=errors(409, 503))
async def request_authority(
    admin: Admin, session: Tx, console: TheConsole, body: schema.NewRequest | None = None
) -> JSONResponse:
    """A request for somebody else's authority to sign; its key stays in the console's state directory. It takes the place of one
    that is open."""
    body = body or schema.NewRequest()
    made = await service.request(session, console.authority, admin, body.common_name, body.organization)
    return JSONResponse(schema.of_request(made))


@router.post("/cluster/authority/announce", response_model=schema.AuthorityOut, responses=errors(406, 409, 503))
async def announce_authority(
    admin: Admin, session: Tx, console: TheConsole, body: schema.Announce | None = None, dry_run: DryRun = None
) -> JSONResponse:
    """The first of two orders: agents trust another authority, too, and nothing of it is shown yet. Give `/v1/ca/bundle` to clients
    of endpoints that use TLS, and to browsers. A dry run tells what a certificate says."""
    chain = (body.certificate or "") if body else ""
    if is_on(dry_run):
        if not chain:
            raise BadRequest("invalid_certificate", "A dry run looks at a certificate: give one.", field="certificate")
        return JSONResponse(schema.of(await service.look_at(session, console.authority, chain)))
    announced = await service.announce(session, console.authority, admin, chain)
    console.bus.publish("authority", ("ordered", None))
    return JSONResponse(schema.of(announced))


@router.post("/cluster/authority/switch", response_model=schema.ConsoleAuthority, responses=errors(409, 503))
async def switch_authority(admin: Admin, console: TheConsole) -> JSONResponse:
    """The second order: the console, its agents and their endpoints show certificates of the authority that was announced. The
    former one is forgotten by itself when all nodes do. Join tokens that were made before are not good any more."""
    if console.authority.following is not None:
        with suppress(TimeoutError):
            async with asyncio.timeout(MOST_SECONDS):
                await console.trust.tell(anew=True)  # whatever was said: there may be another agent at an address
    async with console.store.begin() as session:  # not before: agents may take their time
        await service.switch(session, console.authority, admin)
    console.bus.publish("authority", ("switch", None))
    try:
        console.certificate.refresh()
    except OSError as error:  # it is tried again every minute, and agents know what was shown before
        log.error("certificates of the present authority cannot be written: %s", error)
    async with console.store.read() as looking:
        return await _told(looking, console)


@router.delete("/cluster/authority/next", response_model=schema.ConsoleAuthority, responses=errors(409, 503))
async def withdraw_authority(admin: Admin, session: Tx, console: TheConsole) -> JSONResponse:
    """Withdraw what was announced, or the request. After `switch` there is nothing to withdraw: replace it once more
    when the former one is forgotten."""
    await service.withdraw(session, console.authority, admin)
    console.bus.publish("authority", ("ordered", None))
    return await _told(session, console)


async def _told(session: AsyncSession, console: Console) -> JSONResponse:
    return JSONResponse(schema.render(console.authority, await service.waiting(session, console.authority)))
