"""Endpoints of certificates: list them, install one for the console's ports, and replace those of databases."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Body
from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import Admin, ConsoleDep, ReadSession, Viewer, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import DryRun
from shardboard.console import Console
from shardboard.errors import BadRequest, Forbidden, NotFound
from shardboard.pki import server_certificate
from shardboard.pki.shard_certificates import ShardCertificates
from shardboard.schemas.cluster import certificates as schema
from shardboard.services.access.authorization import Principal
from shardboard.services.cluster import certificates as service
from shardboard.state.databases import bdbs

router = ApiRouter(prefix="/v1", tags=["cluster"])

ROTATABLE_NAMES = ("", "data_internode_encryption")


@router.get("/cluster/certificates", response_model=schema.Certificates, responses=error_responses())
async def get_certificates(_viewer: Viewer, session: ReadSession, console: ConsoleDep) -> JSONResponse:
    """Return the certificates of the console and of the databases. Private keys are never returned."""
    bdb_certificates = [
        (bdb.uid, ShardCertificates.read(bdb.shard_certificates))
        for bdb in await bdbs.list_all(session)
        if bdb.shard_certificates is not None
    ]
    identity = console.certificate
    return JSONResponse(schema.render(identity.source, identity.identity, console.ca.ca_pem, bdb_certificates))


@router.put("/cluster/certificates", response_model=schema.ConsoleCertificate, responses=error_responses(406, 409))
async def install_certificates(
    admin: Admin, console: ConsoleDep, body: schema.NewCertificates, dry_run: DryRun
) -> JSONResponse:
    """Install the certificate of the web UI and the REST API. New connections use it. A dry run returns the contents.

    Required role: `admin`.
    """
    return await _install(console, admin, body.certificates, dry_run)


@router.put(
    "/cluster/update_cert",
    summary="Install certificate (older request format)",
    response_model=schema.ConsoleCertificate,
    responses=error_responses(406, 409),
)
async def install_certificate(
    admin: Admin, console: ConsoleDep, body: schema.NewCertificate, dry_run: DryRun
) -> JSONResponse:
    """Install the certificate of the web UI and the REST API, in the older request format of Redis Enterprise.

    Required role: `admin`.
    """
    return await _install(console, admin, [body], dry_run)


@router.delete("/cluster/certificates/{name}", responses=error_responses(404, 409))
async def remove_certificate(admin: Admin, console: ConsoleDep, name: str) -> dict[str, str]:
    """Remove the installed certificate. New connections use a certificate of the console's private CA.

    Required role: `admin`.
    """
    if name not in schema.CONSOLE_CERTIFICATE_NAMES:
        raise NotFound("unknown_certificate", f"The certificate {name!r} does not exist.")
    if console.certificate.source == "own":
        raise Forbidden(
            "required_certificate", "No certificate is installed. The console's own certificate cannot be removed."
        )
    console.certificate.check_not_configured()
    async with console.store.begin() as session:
        await service.remove(session, console.ca, admin)
    return {}


@router.post("/cluster/certificates/rotate", response_model=schema.RotateReply, responses=error_responses())
async def rotate_certificates(
    admin: Admin, session: WriteSession, body: Annotated[schema.RotateRequest | None, Body()] = None
) -> JSONResponse:
    """Replace the certificates of the shards of all encrypted databases. Existing connections stay open.

    The console also renews these certificates automatically. With `authority`, the private CAs of the databases are also replaced.
    Shards reject certificates of the previous CA when all of them have completed three steps. This takes some seconds, or longer if
    a node is unreachable but may be running. The console does the same when a node is removed. Required role: `admin`.
    """
    name = body.name if body is not None else ""
    if name not in ROTATABLE_NAMES:
        message = f"`name` must be `data_internode_encryption`, the certificates of databases, or empty; not {name}."
        raise Forbidden("not_supported", message, field="name")
    replace = service.replace_cas if body is not None and body.authority else service.rotate
    return JSONResponse({"databases": await replace(session, admin)})


async def _install(
    console: Console, admin: Principal, requested: Sequence[schema.NewCertificate], dry_run: bool
) -> JSONResponse:
    for each in requested:
        if each.name not in schema.CONSOLE_CERTIFICATE_NAMES:
            names = ", ".join(schema.CONSOLE_CERTIFICATE_NAMES)
            message = f"`name` must be one of {names}, which share one certificate; not {each.name!r}."
            raise Forbidden("not_supported", message, field="name")
    if len({(each.certificate, each.key) for each in requested}) > 1:
        names = ", ".join(schema.CONSOLE_CERTIFICATE_NAMES)
        message = f"{names} share one certificate. Send the same certificate and key for each."
        raise BadRequest("invalid_certificate", message, field="certificates")
    identity = server_certificate.validate_identity(requested[0].certificate, requested[0].key)
    if not dry_run:
        console.certificate.check_not_configured()
        async with console.store.begin() as session:
            await service.install(session, console.ca, identity, admin)
    return JSONResponse(schema.render_console_certificate("installed", identity))
