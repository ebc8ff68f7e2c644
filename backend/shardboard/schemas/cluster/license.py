"""Model of the license (Redis Enterprise REST API). Shardboard is open source: the license has no limits and does not expire."""

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from shardboard.domain.cluster.license_terms import NEVER, UNLIMITED
from shardboard.schemas.row_protocols import ClusterRow
from shardboard.schemas.timestamps import iso


class License(BaseModel):
    license: str
    key: str
    cluster_name: str | None
    owner: str | None
    type: str
    expired: bool
    activation_date: str
    expiration_date: str
    shards_limit: int
    ram_shards_limit: int | None
    flash_shards_limit: int | None
    ram_shards_in_use: int
    flash_shards_in_use: int
    features: list[str]


class LicenseUpdate(BaseModel):
    """Accepted without effect, so that scripts that install a license work."""

    model_config = ConfigDict(strict=True)

    KNOWN_FIELDS: ClassVar = tuple(License.model_fields)

    license: str = Field(max_length=65536)


def render(cluster: ClusterRow, *, ram_shards: int, flash_shards: int) -> dict[str, Any]:
    return {
        "license": "Apache License 2.0. No key is needed.",
        "key": "",
        "cluster_name": cluster.name,
        "owner": None,
        "type": "open-source",
        "expired": False,
        "activation_date": iso(cluster.created_at),
        "expiration_date": iso(NEVER),
        "shards_limit": UNLIMITED,
        "ram_shards_limit": None,
        "flash_shards_limit": None,
        "ram_shards_in_use": ram_shards,
        "flash_shards_in_use": flash_shards,
        "features": ["bigstore"],
    }
