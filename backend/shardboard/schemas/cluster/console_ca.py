"""Models of the console's private CA (extension)."""

import re
from collections.abc import Iterable
from typing import Annotated, Any, Protocol

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from shardboard.schemas.cluster.certificates import CertificateRow, published_step, render_certificate

MAX_CHAIN_CHARACTERS = 16 * 1024
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


NamePart = Annotated[str, AfterValidator(_part)]


class CaOut(BaseModel):
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


class CaRequestOut(BaseModel):
    subject: str
    csr: str = Field(description="Certificate signing request (PEM) for an external CA.")


class CaNodeOut(BaseModel):
    uid: int
    addr: str
    waits_for: str = Field(description="Reason why the next step waits for the node; empty if it does not.")


class ConsoleCaState(BaseModel):
    step: str = Field(
        description="Step of the replacement: `announced`, then `shown`; empty if the CA is not being replaced.",
        json_schema_extra={"enum": ["", "announced", "shown"]},
    )
    present: CaOut = Field(description="The CA that signs new certificates.")
    following: CaOut | None = Field(description="The next CA, while it is announced.")
    former: CaOut | None = Field(description="The previous CA, until all nodes use the current one.")
    request: CaRequestOut | None = Field(description="The pending certificate signing request.")
    nodes: list[CaNodeOut] = Field(
        description="During a replacement: all nodes with their progress. Otherwise: nodes that have not yet confirmed its end."
    )


class NewCaRequest(BaseModel):
    model_config = ConfigDict(strict=True)

    common_name: NamePart = Field(default="", max_length=_BYTES, description="Name of the CA. Default: a unique name.")
    organization: NamePart = Field(default="", max_length=_BYTES)


class AnnounceCaRequest(BaseModel):
    model_config = ConfigDict(strict=True)

    certificate: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_CHAIN_CHARACTERS,
        description="PEM: the signed certificate of the request, followed by the CAs above it. Default: create a new private CA.",
    )


class CaRow(CertificateRow, Protocol):
    """Fields of a CA."""

    @property
    def is_external(self) -> bool: ...
    @property
    def root(self) -> object | None: ...
    @property
    def chain_pem(self) -> str: ...


class CaRequestRow(Protocol):
    @property
    def subject(self) -> str: ...
    @property
    def csr(self) -> str: ...


class ConsoleCaRow(Protocol):
    @property
    def step(self) -> str: ...
    @property
    def current(self) -> CaRow: ...
    @property
    def next_ca(self) -> CaRow | None: ...
    @property
    def former(self) -> CaRow | None: ...
    @property
    def requested(self) -> CaRequestRow | None: ...


class CaNodeRow(Protocol):
    uid: Any
    addr: Any


def render(ca: ConsoleCaRow, nodes: Iterable[tuple[CaNodeRow, str]]) -> dict[str, Any]:
    """Render the state. `nodes` are nodes with the reason why the next step waits for them."""
    request = ca.requested
    node_states = [{"uid": node.uid, "addr": node.addr, "waits_for": reason} for node, reason in nodes]
    return {
        "step": published_step(ca.step),
        "present": render_ca(ca.current),
        "following": render_ca(ca.next_ca) if ca.next_ca else None,
        "former": render_ca(ca.former) if ca.former else None,
        "request": render_ca_request(request) if request else None,
        "nodes": node_states if ca.step else [each for each in node_states if each["waits_for"]],
    }


def render_ca(ca: CaRow) -> dict[str, Any]:
    return {
        **render_certificate(ca),
        "external": ca.is_external,
        "root_known": ca.root is not None,
        "certificate": ca.chain_pem,
    }


def render_ca_request(request: CaRequestRow) -> dict[str, str]:
    return {"subject": request.subject, "csr": request.csr}
