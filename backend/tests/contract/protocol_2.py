"""Frozen messages of protocol 2 whose fields have other names in protocol 3, for compatibility tests."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class Request(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Reply(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class HostCheck(Reply):
    name: str
    value: str
    good: bool
    costs: str
    mends: str


class CertificateRequest(Reply):
    csr: str = ""
    refused: str = ""


class CertificateReply(Reply):
    refused: str = ""


class DrillReply(Reply):
    refused: str = ""


class LoadState(Reply):
    id: str
    state: Literal["running", "ended", "absent"]
    refused: str = ""


class LoadLines(Reply):
    id: str
    state: Literal["running", "ended", "absent"]
    lines: list[str]
    said: str = ""


class SlotsMoved(Reply):
    count: int
    keys: int
    reason: str = ""
    rest: float = 0.0


class Outage(Reply):
    uid: int
    address: str
    port: int
    slots: list[tuple[int, int]]
    last_success_ms: int | None
    noticed_ms: int
    first_success_ms: int | None
    waited: int
    failed: int
    lost: int
    watched: bool = False


class ShardTls(Request):
    authorities: str
    certificate: str
    key: str


LOAD: dict[str, Any] = {"id": "0" * 32, "state": "ended"}
COUNTS = {"last_success_ms": 1, "noticed_ms": 2, "first_success_ms": 3, "waited": 4, "failed": 5, "lost": 6}
MESSAGES: list[Reply | Request] = [
    HostCheck(name="swappiness", value="60", good=False, costs="slow", mends="sysctl"),
    CertificateRequest(refused="no key"),
    CertificateReply(refused="no request"),
    DrillReply(refused="not root"),
    LoadState(**LOAD, refused="busy"),
    LoadLines(**LOAD, lines=["{}"], said="it broke"),
    SlotsMoved(count=1, keys=2, rest=0.5),
    Outage(uid=1, address="10.0.0.1", port=20000, slots=[(0, 99)], **COUNTS, watched=True),
    ShardTls(authorities="CA", certificate="certificate", key="key"),
]
"""An example of each message. No field has its default value."""
