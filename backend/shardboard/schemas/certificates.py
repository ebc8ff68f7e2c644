"""Certificates of the REST reference (`/v1/cluster/certificates`); keys are not told."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from shardboard.schemas.times import iso


class OfBdb(BaseModel):
    uid: int = Field(description="The database.")
    certificate: str = Field(description="PEM; all its shards, and proxies towards them, show this one.")
    valid_until: str = Field(json_schema_extra={"format": "date-time"})


class Certificates(BaseModel):
    api_cert: str = Field(description="PEM, with its chain: what the page and the REST API show.")
    cm_cert: str = Field(description="The same: the page is served by it.")
    metrics_exporter_cert: str = Field(description="The same.")
    ca_cert: str = Field(description="PEM of the console's own authority.")
    data_internode_encryption: list[OfBdb] = Field(description="Of databases whose shards speak TLS with each other.")


class Rotate(BaseModel):
    model_config = ConfigDict(strict=True)

    name: str = Field(
        default="", max_length=64, description="data_internode_encryption, which is all that can be replaced."
    )


class Rotated(BaseModel):
    databases: int = Field(description="How many have another certificate now.")


def render(own: str, authority: str, of_bdbs: Iterable[tuple[int, str, datetime]]) -> dict[str, Any]:
    """`of_bdbs`: uids of databases, the certificates of their shards (PEM), and when these end."""
    return {
        "api_cert": own,
        "cm_cert": own,
        "metrics_exporter_cert": own,
        "ca_cert": authority,
        "data_internode_encryption": [
            {"uid": uid, "certificate": certificate, "valid_until": iso(ends)} for uid, certificate, ends in of_bdbs
        ],
    }
