"""Models of the bootstrap endpoints of the Redis Enterprise REST API."""

import re
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from shardboard.domain.cluster.node_status import BootstrapPhase
from shardboard.schemas.optional_fields import OptionalStr
from shardboard.schemas.row_protocols import ClusterRow
from shardboard.schemas.timestamps import iso

_HOST_NAME = re.compile(
    r"(?=.{1,64}$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*"
)


class _Wire(BaseModel):
    """Fields that only concern nodes of Redis Enterprise are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore")


class ClusterName(_Wire):
    KNOWN_FIELDS: ClassVar = ("nodes", "wait_command")

    name: str = Field(description="Host name of the cluster (RFC 1123), at most 64 characters.")


class AdminCredentials(_Wire):
    username: str = Field(min_length=1, max_length=256)
    password: str = Field(min_length=1, max_length=256)


class CreateCluster(_Wire):
    KNOWN_FIELDS: ClassVar = (
        *("action", "node", "license", "dns_suffixes", "policy", "recovery_filename", "max_retries", "retry_time"),
        "cnm_https_port",
    )

    cluster: ClusterName
    credentials: AdminCredentials


class Bootstrap(CreateCluster):
    """Body of the request without the action in the path."""

    action: str


class BootstrapStatus(BaseModel):
    state: str = Field(json_schema_extra={"enum": list(BootstrapPhase)})
    start_time: str
    end_time: OptionalStr


class BootstrapState(BaseModel):
    bootstrap_status: BootstrapStatus
    local_node_info: dict[str, Any]


def is_host_name(name: str) -> bool:
    """Return whether this is a host name according to RFC 1123 with at most 64 characters."""
    return _HOST_NAME.fullmatch(name) is not None


def render(cluster: ClusterRow, machine: dict[str, Any]) -> dict[str, Any]:
    """Render the state. `machine` describes the console's machine; it is empty for clients without credentials."""
    status = {"state": cluster.bootstrap_state, "start_time": iso(cluster.created_at)}
    if cluster.bootstrap_state == BootstrapPhase.COMPLETED:
        status["end_time"] = iso(cluster.created_at)
    return {"bootstrap_status": status, "local_node_info": machine}
