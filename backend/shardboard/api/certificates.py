"""Certificates over HTTP: which there are, one for the console's ports, and new ones for databases."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Body
from fastapi.responses import JSONResponse

from shardboard import server_certificate
from shardboard.api.deps import Admin, Reader, TheConsole, Tx, Viewer
from shardboard.api.parameters import DryRun, is_on
from shardboard.api.replies import errors
from shardboard.console import Console
from shardboard.errors import BadRequest, Forbidden, NotFound
from shardboard.schemas import certificates as schema
from shardboard.services import certificates as service
from shardboard.services.users import Principal
from shardboard.shard_certificates import ShardCertificates
from shardboard.state import bdbs

router = APIRouter(tags=["cluster"])

ROTATED = ("", "data_internode_encryption")


@router.get("/cluster/certificates", response_model=schema.Certificates, responses=errors())
async def get_certificates(_viewer: Viewer, session: Reader, console: TheConsole) -> JSONResponse:
    """Those of the console and of databases. Keys never leave where they are."""
    of_bdbs = [
        (bdb.uid, ShardCertificates.read(bdb.shard_certificates))
        for bdb in await bdbs.every(session)
        if bdb.shard_certificates is not None
    ]
    own = console.certificate
    return JSONResponse(schema.render(own.source, own.identity, console.authority.ca_pem, of_bdbs))


@router.put("/cluster/certificates", response_model=schema.OfConsole, responses=errors(406, 409))
async def install_certificates(
    admin: Admin, console: TheConsole, body: schema.NewCertificates, dry_run: DryRun = None
) -> JSONResponse:
    """The certificate for the page and the REST API, from the next connection on. A dry run tells what it says."""
    return await _install(console, admin, body.certificates, dry_run)


@router.put("/cluster/update_cert", response_model=schema.OfConsole, responses=errors(406, 409))
async def install_certificate(
    admin: Admin, console: TheConsole, body: schema.NewCertificate, dry_run: DryRun = None
) -> JSONResponse:
    """The same, for clients that know the reference's older call."""
    return await _install(console, admin, [body], dry_run)


@router.delete("/cluster/certificates/{name}", responses=errors(404, 409))
async def remove_certificate(admin: Admin, console: TheConsole, name: str) -> dict[str, str]:
    """Back to a certificate of the console's own authority, from the next connection on."""
    if name not in schema.CONSOLE:
        raise NotFound("unknown_certificate", f"There is no certificate {name!r} that was installed.")
    if console.certificate.source == "own":
        raise Forbidden("required_certificate", "The console's own certificate is needed; none was installed over it.")
    async with console.store.begin() as session:
        service.record_removal(session, admin)
        console.certificate.remove()
    return {}


@router.post("/cluster/certificates/rotate", response_model=schema.Rotated, responses=errors())
async def rotate_certificates(
    admin: Admin, session: Tx, body: Annotated[schema.Rotate | None, Body()] = None
) -> JSONResponse:
    """New certificates for the shards of all encrypted databases, now; connections stay. They are renewed by themselves, too.

    With `authority` what was signed before opens no shard any more, once all were told of three steps: some seconds, or longer
    where a node that may be alive cannot be reached. The same happens by itself when a node is removed.
    """
    name = body.name if body is not None else ""
    if name not in ROTATED:
        sentence = f"Only data_internode_encryption, the certificates of databases, can be replaced so; not {name}."
        raise Forbidden("not_supported", sentence, field="name")
    replace = service.replace_authorities if body is not None and body.authority else service.rotate
    return JSONResponse({"databases": await replace(session, admin)})


async def _install(
    console: Console, admin: Principal, wanted: Sequence[schema.NewCertificate], dry_run: str | None
) -> JSONResponse:
    for each in wanted:
        if each.name not in schema.CONSOLE:
            sentence = (
                f"Only {', '.join(schema.CONSOLE)}, which are one certificate, can be installed; not {each.name!r}."
            )
            raise Forbidden("not_supported", sentence, field="name")
    if len({(each.certificate, each.key) for each in wanted}) > 1:
        sentence = f"{', '.join(schema.CONSOLE)} are one certificate here: give the same for each."
        raise BadRequest("invalid_certificate", sentence, field="certificates")
    identity = server_certificate.read(wanted[0].certificate, wanted[0].key)
    if not is_on(dry_run):
        async with console.store.begin() as session:
            service.record_installation(session, identity, admin)
            console.certificate.install(identity)
    return JSONResponse(schema.of_console("installed", identity))
