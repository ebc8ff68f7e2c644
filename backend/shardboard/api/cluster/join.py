"""Endpoints for joining nodes: create join tokens, get the CA certificate, admit agents."""

import shlex
import socket
from typing import Annotated

from fastapi import BackgroundTasks, Request
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, Field, field_validator
from pydantic_core import PydanticCustomError

from shardboard.api.http import audit_middleware
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import Admin, ConsoleDep, WriteSessionWithoutDryRun
from shardboard.api.http.error_handlers import ERROR_REPLIES
from shardboard.console import Console
from shardboard.contract import NodeFacts, Port, protocol
from shardboard.errors import NotAcceptable
from shardboard.kit.addresses import host_port, normal_name
from shardboard.schemas.cluster.nodes import RACK_ID
from shardboard.schemas.timestamps import iso
from shardboard.services.cluster import join as services

router = ApiRouter(prefix="/v1", tags=["join"], responses=ERROR_REPLIES)


class JoinTokenRequest(BaseModel):
    ttl: Annotated[int, Field(ge=60, le=3600, strict=True, description="Lifetime in seconds.")] = services.DEFAULT_TTL
    address: Annotated[
        str | None,
        Field(max_length=253, description="Address of the new node. The token is valid for this address only."),
    ] = None
    rack_id: Annotated[
        str, Field(max_length=64, description="Zone of the new node, for the command; empty for none.")
    ] = ""

    @field_validator("rack_id")
    @classmethod
    def _check_rack_id(cls, value: str) -> str:
        if error := RACK_ID.validation_error(value):
            raise PydanticCustomError("field", "{field} {what}", {"field": "rack_id", "what": error})
        return value


class JoinTokenOut(BaseModel):
    token: str
    expires_at: str
    command: str
    """Command to run on the new node."""


class JoinRequest(BaseModel):
    token: Annotated[str, Field(max_length=256, repr=False)]
    csr: Annotated[str, Field(max_length=16384, description="Certificate signing request (PEM).")]
    addr: Annotated[str, Field(max_length=253)]
    agent_port: Port
    facts: NodeFacts
    rack_id: Annotated[
        str, Field(max_length=64, description="Zone of the node. Required if the cluster is rack-aware.")
    ] = ""
    renews: Annotated[bool, Field(description="Whether the agent can replace its certificates while it runs.")] = False


class JoinReply(BaseModel):
    node_uid: int
    certificate: str
    ca: str
    cluster_name: str


class JoinConflict(BaseModel):
    token: Annotated[str, Field(max_length=256, repr=False)]
    addr: Annotated[str, Field(max_length=253)]


@router.post("/join_tokens")
async def create_join_token(
    request: Request,
    console: ConsoleDep,
    session: WriteSessionWithoutDryRun,
    admin: Admin,
    body: JoinTokenRequest | None = None,
) -> JoinTokenOut:
    """Create a join token. One agent can use it once to join, until it expires. Required role: `admin`."""
    body = body or JoinTokenRequest()
    token, expires_at = await services.create_token(session, originator=admin.username, ttl=body.ttl, addr=body.address)
    command = ["shardboard", "agent", "--join", _url(console, request), "--token", token]
    command += ["--address", normal_name(body.address) if body.address else "ADDRESS-OF-THE-NODE"]
    command += ["--rack-id", body.rack_id] if body.rack_id else []
    return JoinTokenOut(token=token, expires_at=iso(expires_at), command=shlex.join(command))


@router.get("/ca", summary="Get CA certificate", response_class=PlainTextResponse)
async def get_ca_certificate(console: ConsoleDep) -> str:
    """Return the certificate of the console CA (PEM). Compare its fingerprint with the one in the join token before you trust it.

    No credentials are required.
    """
    return console.ca.ca_pem


@router.post("/bootstrap/join", summary="Join node")
async def join_node(
    request: Request, body: JoinRequest, console: ConsoleDep, session: WriteSessionWithoutDryRun, after: BackgroundTasks
) -> JoinReply:
    """Admit an agent that has a join token. Its release can differ from the console's by at most one.

    Authenticated by the join token in the body.
    """
    if incompatibility := protocol.incompatibility(
        protocol.protocol_from_header(request.headers.get(protocol.HEADER)), "the agent"
    ):
        raise NotAcceptable("wrong_release", f"{incompatibility[0].upper()}{incompatibility[1:]}.")
    audit_middleware.record_claimed_user(f"agent of {body.addr}")
    join_request = services.JoinRequest(
        token=body.token,
        csr=body.csr,
        addr=body.addr,
        agent_port=body.agent_port,
        facts=body.facts.model_dump(),
        renews_certificates=body.renews,
        rack_id=body.rack_id,
    )
    admission = await services.accept(session, console.ca, join_request)
    audit_middleware.record_authenticated_user(f"agent of {body.addr}", "join token")
    after.add_task(console.bus.publish, "nodes", admission.node_uid)
    return JoinReply(
        node_uid=admission.node_uid,
        certificate=admission.certificate,
        ca=admission.ca,
        cluster_name=admission.cluster_name,
    )


@router.post("/bootstrap/join_conflict", summary="Report join conflict")
async def report_join_conflict(body: JoinConflict, session: WriteSessionWithoutDryRun) -> dict[str, str]:
    """Record that an agent ignores its join token because it belongs to another console.

    Authenticated by the join token in the body, which remains valid.
    """
    audit_middleware.record_claimed_user(f"agent of {body.addr}")
    await services.report_conflict(session, body.token, body.addr)
    audit_middleware.record_authenticated_user(f"agent of {body.addr}", "join token")
    return {}


def _url(console: Console, request: Request) -> str:
    """Return the console's URL. Uses the host name of the request if the console's certificate is valid for it."""
    host = normal_name(request.url.hostname or "")
    names = {*console.ca.names, *console.certificate.identity.names}
    if console.certificate.source != "settings" and host not in names:
        host = socket.gethostname()
    return f"https://{host_port(host, console.settings.https_port)}"
