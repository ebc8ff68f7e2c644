"""Models of proxies in the format of the Redis Enterprise REST API, with their state, and of the proxies of an endpoint."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict, Field, model_validator

from shardboard.domain.cluster.node_status import NodeHealth
from shardboard.schemas.row_protocols import BdbRow, NodeRow

MAX_THREADS = 256
CONSTANT_FIELDS: dict[str, Any] = {
    "backlog": 1024,
    "client_eviction": False,
    "client_keepcnt": 6,
    "client_keepidle": 180,
    "client_keepintvl": 30,
    "conns": 500000,
    "corefile": False,
    "duration_usage_threshold": 30,
    "dynamic_threads_scaling": False,
    "ignore_bdb_cconn_limit": False,
    "ignore_bdb_cconn_output_buff_limits": False,
    "incoming_connections": {"capacity": 0, "min_capacity": 10, "rate_limit": 0},
    "log_level": "info",
    "max_listeners": 1024,
    "max_servers": 4096,
    "max_worker_client_conns": 16384,
    "max_worker_server_conns": 16384,
    "max_worker_txns": 65536,
    "maxmemory_clients": 4294967296,
    "threads_usage_threshold": 80,
}
"""Constant fields of the Redis Enterprise REST API. Requests can contain them with the same value, without effect."""

READ_ONLY = frozenset({"uid", "version", "status", "detail", "pid", "connections"})
"""Ignored in requests, because clients send back the object that they received."""

Threads = Annotated[int, Field(ge=1, le=MAX_THREADS)]


class ProxyStatus(StrEnum):
    ACTIVE = "active"
    DOWN = "down"
    IDLE = "idle"
    UNKNOWN = "unknown"


class EndpointProxyStatus(StrEnum):
    """Status of one endpoint on one proxy."""

    ACTIVE = "active"
    CLOSED = "closed"
    DOWN = "down"
    PENDING = "pending"


class Proxy(BaseModel):
    """The proxy of a node. Responses contain all fields of the Redis Enterprise REST API."""

    model_config = ConfigDict(extra="allow")

    uid: int = Field(description="Uid of the node.")
    threads: int
    max_threads: int
    version: str
    status: str = Field(json_schema_extra={"enum": list(ProxyStatus)})
    detail: str = Field(description="Message if the proxy is down; otherwise empty.")
    pid: int | None
    connections: int | None = Field(description="Open connections; null without a recent sample.")


class ProxyFields(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)

    KNOWN_FIELDS: ClassVar = (*CONSTANT_FIELDS, *READ_ONLY)

    threads: Threads | None = None
    max_threads: Threads | None = None


class ProxyChange(BaseModel):
    model_config = ConfigDict(strict=True)

    KNOWN_FIELDS: ClassVar = (*ProxyFields.model_fields, *ProxyFields.KNOWN_FIELDS)
    WITHOUT_EFFECT: ClassVar = {"allow_restart": False}

    allow_restart: bool = Field(default=False, description="Accepted without effect: threads change without a restart.")
    proxy: ProxyFields = Field(description="Fields to change. They can also be sent at the top level.")

    @model_validator(mode="before")
    @classmethod
    def _wrap_fields(cls, body: Any) -> Any:
        """Wrap fields that a client sent at the top level."""
        if not isinstance(body, dict) or "proxy" in body or not body.keys() - {"allow_restart"}:
            return body
        other_fields = {name: value for name, value in body.items() if name == "allow_restart"}
        return {**other_fields, "proxy": {name: value for name, value in body.items() if name not in other_fields}}


class EndpointProxy(BaseModel):
    uid: int = Field(description="Uid of the node.")
    address: str
    status: str = Field(json_schema_extra={"enum": list(EndpointProxyStatus)})
    detail: str
    threads: int | None
    connections: int | None


class EndpointState(BaseModel):
    uid: str = Field(description='"<bdb>:<endpoint>"')
    port: int
    proxy_policy: str
    mode: str = Field(json_schema_extra={"enum": ["oss_cluster", "hidden"]})
    tls: bool
    authentication: bool
    proxies: list[EndpointProxy]


class ConnectionCount(Protocol):
    @property
    def connections(self) -> int: ...


class ProxyReadingRow(Protocol):
    """Report of a proxy for its newest second."""

    @property
    def databases(self) -> Mapping[int, ConnectionCount]: ...

    @property
    def pid(self) -> int: ...
    @property
    def threads(self) -> int: ...


class ProxyNode(NodeRow, Protocol):
    @property
    def proxy(self) -> Mapping[str, Any]: ...
    @property
    def proxy_threads(self) -> int: ...
    @property
    def proxy_max_threads(self) -> int: ...


def render(node: ProxyNode, reading: ProxyReadingRow | None) -> dict[str, Any]:
    """Render a proxy. `reading` is the report of the newest second, if there is one."""
    report = node.proxy
    connections = sum(each.connections for each in reading.databases.values()) if reading is not None else None
    return {
        "uid": node.uid,
        **CONSTANT_FIELDS,
        "threads": node.proxy_threads,
        "max_threads": node.proxy_max_threads,
        "version": report.get("version", ""),
        "status": _status(node, reading),
        "detail": report.get("detail", "") if reading is None else "",
        "pid": reading.pid if reading is not None else report.get("pid"),
        "connections": connections,
    }


def render_endpoint(
    bdb: BdbRow,
    machines: Sequence[ProxyNode],
    readings: Mapping[int, ProxyReadingRow],
) -> dict[str, Any]:
    """Render the endpoint of a database. `readings` are the known reports by node uid."""
    return {
        "uid": f"{bdb.uid}:1",
        "port": bdb.port,
        "proxy_policy": bdb.config["proxy_policy"],
        "mode": "oss_cluster" if bdb.config["oss_cluster"] else "hidden",
        "tls": bdb.config["tls_mode"] == "enabled",
        "authentication": bool(bdb.config["authentication_redis_pass"]),
        "proxies": [
            _endpoint_proxy(bdb, node, readings.get(node.uid)) for node in machines if node.uid in bdb.endpoint_nodes
        ],
    }


def _endpoint_proxy(bdb: BdbRow, node: ProxyNode, reading: ProxyReadingRow | None) -> dict[str, Any]:
    endpoint_reading = reading.databases.get(bdb.uid) if reading is not None else None
    failure = node.proxy.get("failures", {}).get(str(bdb.uid), "")
    if node.health == NodeHealth.DOWN:
        status, detail = EndpointProxyStatus.DOWN, f"Node {node.uid} is down."
    elif bdb.config.get("traffic_manually_disabled") and not (
        endpoint_reading is not None and endpoint_reading.connections
    ):
        status, detail = EndpointProxyStatus.CLOSED, "The traffic of the database is stopped."
    elif failure:
        status, detail = EndpointProxyStatus.DOWN, failure
    elif endpoint_reading is not None:
        status, detail = EndpointProxyStatus.ACTIVE, ""
    elif _status(node, reading) in (ProxyStatus.ACTIVE, ProxyStatus.IDLE) and node.proxy.get("state") == "running":
        status, detail = EndpointProxyStatus.PENDING, "The proxy has not reported this database yet."
    else:
        status, detail = EndpointProxyStatus.DOWN, node.proxy.get("detail") or f"Node {node.uid} does not report."
    return {
        "uid": node.uid,
        "address": node.addr,
        "status": status,
        "detail": detail,
        "threads": reading.threads if reading is not None else None,
        "connections": endpoint_reading.connections if endpoint_reading is not None else None,
    }


def _status(node: ProxyNode, reading: ProxyReadingRow | None) -> ProxyStatus:
    if node.health == NodeHealth.DOWN or node.proxy.get("state") == "died":
        return ProxyStatus.DOWN
    if reading is not None:
        return ProxyStatus.ACTIVE
    return ProxyStatus.IDLE if node.proxy.get("state") == "absent" else ProxyStatus.UNKNOWN
