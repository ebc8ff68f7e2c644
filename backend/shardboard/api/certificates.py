"""Endpoints of certificates: list them, install one for the console's ports, and replace those of databases."""

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
    """Return the certificates of the console and of the databases. Private keys are never returned."""
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
    """Install the certificate of the web UI and the REST API. New connections use it. A dry run returns the contents.

    Required role: `admin`.
    """
    return await _install(console, admin, body.certificates, dry_run)


@router.put(
    "/cluster/update_cert",
    summary="Install certificate (older request format)",
    response_model=schema.OfConsole,
    responses=errors(406, 409),
)
async def install_certificate(
    admin: Admin, console: TheConsole, body: schema.NewCertificate, dry_run: DryRun = None
) -> JSONResponse:
    """Install the certificate of the web UI and the REST API, in the older request format of Redis Enterprise.

    Required role: `admin`.
    """
    return await _install(console, admin, [body], dry_run)


@router.delete("/cluster/certificates/{name}", responses=errors(404, 409))
async def remove_certificate(admin: Admin, console: TheConsole, name: str) -> dict[str, str]:
    """Remove the installed certificate. New connections use a certificate of the console's private CA.

    Required role: `admin`.
    """
    if name not in schema.CONSOLE:
        raise NotFound("unknown_certificate", f"The certificate {name!r} does not exist.")
    if console.certificate.source == "own":
        raise Forbidden("required_certificate", "No certificate is installed. The console's own one cannot be removed.")
    async with console.store.begin() as session:
        service.record_removal(session, admin)
        console.certificate.remove()
    return {}


@router.post("/cluster/certificates/rotate", response_model=schema.Rotated, responses=errors())
async def rotate_certificates(
    admin: Admin, session: Tx, body: Annotated[schema.Rotate | None, Body()] = None
) -> JSONResponse:
    """Replace the certificates of the shards of all encrypted databases. Existing connections stay open.

    The console also renews these certificates automatically. With `authority`, the private CAs of the databases are replaced too.
    Shards reject certificates of the previous CA when all of them have completed three steps. This takes some seconds, or longer if
    a node is unreachable but may be running. The console does the same when a node is removed. Required role: `admin`.
    """
    name = body.name if body is not None else ""
    if name not in ROTATED:
        sentence = f"`name` must be `data_internode_encryption`, the certificates of databases, or empty; not {name}."
        raise Forbidden("not_supported", sentence, field="name")
    replace = service.replace_authorities if body is not None and body.authority else service.rotate
    return JSONResponse({"databases": await replace(session, admin)})


async def _install(
    console: Console, admin: Principal, requested: Sequence[schema.NewCertificate], dry_run: str | None
) -> JSONResponse:
    for each in requested:
        if each.name not in schema.CONSOLE:
            sentence = (
                f"`name` must be one of {', '.join(schema.CONSOLE)}, which share one certificate; not {each.name!r}."
            )
            raise Forbidden("not_supported", sentence, field="name")
    if len({(each.certificate, each.key) for each in requested}) > 1:
        sentence = f"{', '.join(schema.CONSOLE)} share one certificate. Send the same certificate and key for each."
        raise BadRequest("invalid_certificate", sentence, field="certificates")
    identity = server_certificate.read(requested[0].certificate, requested[0].key)
    if not is_on(dry_run):
        async with console.store.begin() as session:
            service.record_installation(session, identity, admin)
            console.certificate.install(identity)
    return JSONResponse(schema.of_console("installed", identity))
