"""Certificates over HTTP: which there are, and new ones for databases."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Body
from fastapi.responses import JSONResponse

from shardboard.api.deps import Admin, Reader, TheConsole, Tx, Viewer
from shardboard.api.replies import errors
from shardboard.errors import Forbidden
from shardboard.schemas import certificates as schema
from shardboard.services import certificates as service
from shardboard.shard_certificates import ShardCertificates
from shardboard.state import bdbs

router = APIRouter(tags=["cluster"])

ROTATED = ("", "data_internode_encryption")


@router.get("/cluster/certificates", response_model=schema.Certificates, responses=errors())
async def get_certificates(_viewer: Viewer, session: Reader, console: TheConsole) -> JSONResponse:
    """Those of the console and of databases. Keys never leave where they are."""
    chain, _ = console.authority.server_context_files()
    own = await asyncio.to_thread(chain.read_text)
    of_bdbs = [
        (bdb.uid, held.certificate, held.ends)
        for bdb in await bdbs.every(session)
        if bdb.shard_certificates is not None
        for held in [ShardCertificates.read(bdb.shard_certificates)]
    ]
    return JSONResponse(schema.render(own, console.authority.ca_pem, of_bdbs))


@router.post("/cluster/certificates/rotate", response_model=schema.Rotated, responses=errors())
async def rotate_certificates(
    admin: Admin, session: Tx, body: Annotated[schema.Rotate | None, Body()] = None
) -> JSONResponse:
    """New certificates for the shards of all encrypted databases, now; connections stay. They are renewed by themselves, too."""
    name = body.name if body is not None else ""
    if name not in ROTATED:
        sentence = f"Only data_internode_encryption, the certificates of databases, can be replaced so; not {name}."
        raise Forbidden("not_supported", sentence, field="name")
    return JSONResponse({"databases": await service.rotate(session, admin)})
