"""The console's certificate authority over HTTP (our own calls; the reference has none)."""

import re
from collections.abc import Iterable
from typing import Annotated, Any, Protocol

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from shardboard.schemas.certificates import Signed, of_any

CHAIN_CHARACTERS = 16 * 1024
"""Agents are told of three authorities at a time, and show all that are above one."""
_BYTES = 64
"""In UTF-8, of each part of a name in a certificate (RFC 5280)."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def _part(text: str) -> str:
    text = text.strip()
    if len(text.encode()) > _BYTES:
        raise ValueError(f"takes {_BYTES} bytes at most")
    if _CONTROL.search(text):
        raise ValueError("has control characters")
    return text


Part = Annotated[str, AfterValidator(_part)]


class AuthorityOut(BaseModel):
    subject: str
    issuer: str
    external: bool = Field(description="Whether somebody else's authority signed it.")
    root_known: bool = Field(
        description="Whether the topmost authority is among its certificates; else clients that do not have it cannot check."
    )
    valid_from: str = Field(json_schema_extra={"format": "date-time"})
    valid_until: str = Field(
        description="Also of those above it: whichever ends first.", json_schema_extra={"format": "date-time"}
    )
    fingerprint: str = Field(description="SHA-256, hexadecimal.")
    certificate: str = Field(description="PEM, then those of the authorities above it as far as they are known.")


class RequestOut(BaseModel):
    subject: str
    csr: str = Field(description="PEM, for somebody else's authority to sign.")


class NodeOut(BaseModel):
    uid: int
    addr: str
    waits_for: str = Field(description="Why it is in the way of the next step; empty when it is not.")


class ConsoleAuthority(BaseModel):
    step: str = Field(
        description="Of replacing it: announced, then shown; empty when it is not being replaced.",
        json_schema_extra={"enum": ["", "announced", "shown"]},
    )
    present: AuthorityOut = Field(description="What signs today.")
    following: AuthorityOut | None = Field(description="While it is announced.")
    former: AuthorityOut | None = Field(description="While certificates of the present one are brought to all nodes.")
    request: RequestOut | None = Field(description="While one is open.")
    nodes: list[NodeOut] = Field(
        description="While it is being replaced: how far each node is. Else those whose agents were not told that it is over."
    )


class NewRequest(BaseModel):
    model_config = ConfigDict(strict=True)

    common_name: Part = Field(
        default="", max_length=_BYTES, description="What the authority is called; without it a name that no other has."
    )
    organization: Part = Field(default="", max_length=_BYTES)


class Announce(BaseModel):
    model_config = ConfigDict(strict=True)

    certificate: str | None = Field(
        default=None,
        min_length=1,
        max_length=CHAIN_CHARACTERS,
        description="PEM: what the request was signed to, then those above it. Without it a new authority of our own is made.",
    )


class Signer(Signed, Protocol):
    """What is told of an authority."""

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
    """`nodes` with what each waits for."""
    request = authority.requested
    told = [{"uid": node.uid, "addr": node.addr, "waits_for": why} for node, why in nodes]
    return {
        "step": authority.step,
        "present": of(authority.present),
        "following": of(authority.following) if authority.following else None,
        "former": of(authority.former) if authority.former else None,
        "request": of_request(request) if request else None,
        "nodes": told if authority.step else [each for each in told if each["waits_for"]],
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
