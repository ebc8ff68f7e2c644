"""Models of the cluster and its policy."""

from dataclasses import asdict
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from shardboard.domain import rules
from shardboard.domain.cluster import cluster_settings, policy
from shardboard.domain.cluster.cipher_suites import cipher_suites
from shardboard.domain.cluster.cluster_settings import SYSTEM_RESERVED_PORTS, ClusterSettings
from shardboard.domain.cluster.policy import Policy as PolicyTable
from shardboard.schemas import json_limits
from shardboard.schemas.row_protocols import ClusterRow
from shardboard.schemas.timestamps import iso

READ_ONLY = frozenset(
    {
        *(
            "created_time",
            "cnm_https_port",
            "cnm_http_port",
            "system_reserved_ports",
            "upgrade_in_progress",
            "upgrade_mode",
        ),
        *("default_shards_placement", "default_sharded_proxy_policy", "default_non_sharded_proxy_policy"),
        *("shards_overbooking", "rack_aware", "proxy_certificate", "syncer_certificate"),
        *cipher_suites(),
    }
)
"""Fields of the cluster object that requests can contain, because clients send back the object that they received."""


class _Settings(BaseModel):
    """Partial update of a table of defaults. Known fields accept only values of their type."""

    model_config = ConfigDict(strict=True, extra="allow")

    @model_validator(mode="before")
    @classmethod
    def _check_plain(cls, body: Any) -> Any:
        for name, value in body.items() if isinstance(body, dict) else ():
            try:
                json_limits.check_json_value(value)
            except ValueError as error:
                raise _field_error(name, str(error)) from None
        return body

    def changes(self) -> dict[str, Any]:
        return {**self.model_dump(exclude_unset=True)}

    def _check(self, table: type) -> None:
        for name, error in rules.field_errors(table, self.model_dump(exclude_unset=True)).items():
            raise _field_error(name, error)


class ClusterUpdate(_Settings):
    """Fields of the cluster to change. Read-only and unknown fields are ignored. In nested objects, only the fields
    that are sent change.
    """

    KNOWN_FIELDS: ClassVar = cluster_settings.NAMES | READ_ONLY

    reserved_ports: list[int] = Field(default=[], max_length=1000, description="Ports that databases cannot use.")

    @model_validator(mode="after")
    def _check_all(self) -> Self:
        self._check(ClusterSettings)
        return self

    def changes(self) -> dict[str, Any]:
        return {name: value for name, value in super().changes().items() if name in cluster_settings.NAMES}


class PolicyUpdate(_Settings):
    """Fields of the policy to change. Unknown fields are ignored."""

    KNOWN_FIELDS: ClassVar = policy.NAMES

    shards_overbooking: bool = Field(
        default=True, description="Whether the memory limits of databases can exceed the memory of the nodes."
    )
    default_shards_placement: str = "dense"
    rack_aware: bool = Field(
        default=False,
        description="Whether databases can be rack-aware. If true, nodes must have a zone (`rack_id`) to join.",
    )

    @model_validator(mode="after")
    def _check_all(self) -> Self:
        self._check(PolicyTable)
        return self

    def changes(self) -> dict[str, Any]:
        return {name: value for name, value in super().changes().items() if name in policy.NAMES}


class Cluster(BaseModel):
    """The most used fields. Responses contain all fields of the Redis Enterprise REST API."""

    model_config = ConfigDict(extra="allow")

    name: str
    created_time: str
    cnm_https_port: int
    cnm_http_port: int
    reserved_ports: list[int]
    rack_aware: bool = Field(description="Same as in the policy.")
    slave_ha: bool
    shards_overbooking: bool = Field(description="Same as in the policy.")


class ClusterOverview(Cluster):
    """The cluster with its nodes, databases, and capacity (extension, expected by some clients)."""

    status: str = Field(json_schema_extra={"enum": ["active"]})
    nodes: list[int] = Field(description="Uids of the nodes.")
    databases: list[int] = Field(description="Uids of the databases.")
    total_shards: int
    total_memory: int = Field(
        description="Memory of all machines in bytes. A machine that several nodes share is counted once."
    )
    used_memory: int = Field(
        description="Memory usage of all shards in the newest second, in bytes; 0 without a sample."
    )


class Policy(BaseModel):
    model_config = ConfigDict(extra="allow")

    shards_overbooking: bool
    rack_aware: bool
    default_shards_placement: str
    default_sharded_proxy_policy: str
    default_non_sharded_proxy_policy: str


def render_policy(cluster: ClusterRow) -> dict[str, Any]:
    """Return all rules of the policy by name."""
    return asdict(cluster.rules)


def reserved_ports(cluster: ClusterRow) -> set[int]:
    """Return the ports that databases cannot use."""
    return {*SYSTEM_RESERVED_PORTS, *cluster.settings.reserved_ports}


def render(cluster: ClusterRow, *, https_port: int, http_port: int) -> dict[str, Any]:
    """Render all fields of the cluster."""
    rules = cluster.rules
    return {
        "name": cluster.name,
        "created_time": iso(cluster.created_at),
        **asdict(cluster.settings),
        "cnm_https_port": https_port,
        "cnm_http_port": http_port,
        "system_reserved_ports": sorted(SYSTEM_RESERVED_PORTS),
        "default_shards_placement": rules.default_shards_placement,
        "default_sharded_proxy_policy": rules.default_sharded_proxy_policy,
        "default_non_sharded_proxy_policy": rules.default_non_sharded_proxy_policy,
        "shards_overbooking": rules.shards_overbooking,
        "rack_aware": rules.rack_aware,
        "upgrade_in_progress": False,
        "upgrade_mode": False,
    }


def _field_error(name: str, what: str) -> PydanticCustomError:
    return PydanticCustomError("field", "{field} {what}", {"field": name, "what": what})
