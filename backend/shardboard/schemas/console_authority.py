"""Models of the console's private CA (extension)."""

import re
from collections.abc import Iterable
from typing import Annotated, Any, Protocol

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from shardboard.schemas.certificates import Signed, of_any

CHAIN_CHARACTERS = 16 * 1024
"""Maximum size of a chain. Agents get three CAs at a time, and serve all certificates above a CA."""
_BYTES = 64
"""Maximum size in UTF-8 of each part of a name in a certificate (RFC 5280)."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def _part(text: str) -> str:
    text = text.strip()
    if len(text.encode()) > _BYTES:
        raise ValueError(f"must have at most {_BYTES} bytes")
    if _CONTROL.search(text):
        raise ValueError("must not contain control characters")
    return text


Part = Annotated[str, AfterValidator(_part)]


class AuthorityOut(BaseModel):
    subject: str
    issuer: str
    external: bool = Field(description="Whether an external CA has signed the CA.")
    root_known: bool = Field(
        description="Whether the root is among its certificates; otherwise, clients without the root cannot verify the chain."
    )
    valid_from: str = Field(json_schema_extra={"format": "date-time"})
    valid_until: str = Field(
        description="End of validity, including the CAs above it.", json_schema_extra={"format": "date-time"}
    )
    fingerprint: str = Field(description="SHA-256, hexadecimal.")
    certificate: str = Field(description="PEM, followed by the known certificates of the CAs above it.")


class RequestOut(BaseModel):
    subject: str
    csr: str = Field(description="Certificate signing request (PEM) for an external CA.")


class NodeOut(BaseModel):
    uid: int
    addr: str
    waits_for: str = Field(description="Why the next step waits for the node; empty if it does not.")


class ConsoleAuthority(BaseModel):
    step: str = Field(
        description="Step of the replacement: `announced`, then `shown`; empty if the CA is not being replaced.",
        json_schema_extra={"enum": ["", "announced", "shown"]},
    )
    present: AuthorityOut = Field(description="The CA that signs new certificates.")
    following: AuthorityOut | None = Field(description="The next CA, while it is announced.")
    former: AuthorityOut | None = Field(description="The previous CA, until all nodes use the current one.")
    request: RequestOut | None = Field(description="The open certificate signing request.")
    nodes: list[NodeOut] = Field(
        description="During a replacement: all nodes with their progress. Otherwise: nodes that still have to confirm its end."
    )


class NewRequest(BaseModel):
    model_config = ConfigDict(strict=True)

    common_name: Part = Field(default="", max_length=_BYTES, description="Name of the CA. Default: a unique name.")
    organization: Part = Field(default="", max_length=_BYTES)


class Announce(BaseModel):
    model_config = ConfigDict(strict=True)

    certificate: str | None = Field(
        default=None,
        min_length=1,
        max_length=CHAIN_CHARACTERS,
        description="PEM: the signed certificate of the request, followed by the CAs above it. Default: create a new private CA.",
    )


class Signer(Signed, Protocol):
    """Fields of a CA."""

    @property
    def is_external(self) -> bool: ...
    @property
    def root(self) -> object | None: ...
    @property
    def chain_pem(self) -> str: ...


class Request(Protocol):
    @property
    def subject(self) -> str: ...
    @property
    def csr(self) -> str: ...


class Authority(Protocol):
    @property
    def step(self) -> str: ...
    @property
    def present(self) -> Signer: ...
    @property
    def following(self) -> Signer | None: ...
    @property
    def former(self) -> Signer | None: ...
    @property
    def requested(self) -> Request | None: ...


class Node(Protocol):
    uid: Any
    addr: Any


def render(authority: Authority, nodes: Iterable[tuple[Node, str]]) -> dict[str, Any]:
    """Render the state. `nodes` are nodes with the reason why the next step waits for them."""
    request = authority.requested
    node_states = [{"uid": node.uid, "addr": node.addr, "waits_for": why} for node, why in nodes]
    return {
        "step": authority.step,
        "present": of(authority.present),
        "following": of(authority.following) if authority.following else None,
        "former": of(authority.former) if authority.former else None,
        "request": of_request(request) if request else None,
        "nodes": node_states if authority.step else [each for each in node_states if each["waits_for"]],
    }


def of(signer: Signer) -> dict[str, Any]:
    return {
        **of_any(signer),
        "external": signer.is_external,
        "root_known": signer.root is not None,
        "certificate": signer.chain_pem,
    }


def of_request(request: Request) -> dict[str, str]:
    return {"subject": request.subject, "csr": request.csr}
