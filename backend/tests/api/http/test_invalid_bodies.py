"""Tests that bad input is answered with the status and code of the Redis Enterprise REST API, and stores nothing."""

import json
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select

from shardboard.console import Console
from shardboard.state.alerting.events import Event
from shardboard.state.cluster.actions import Action
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

pytestmark = pytest.mark.store_in_all

GOOD: dict[str, Any] = {"name": "db", "memory_size": 100_000_000}
REMOVED = object()


def case(status: int, code: str, **changes: Any) -> Any:
    body = {name: value for name, value in {**GOOD, **changes}.items() if value is not REMOVED}
    return pytest.param(json.dumps(body), status, code, id=",".join(f"{k}={str(v)[:30]}" for k, v in changes.items()))


def raw(body: str, status: int, code: str, name: str) -> Any:
    return pytest.param(body, status, code, id=name)


BODIES = [
    raw("", 400, "bad_request", "empty"),
    raw("{", 400, "bad_request", "broken JSON"),
    raw('{"name": "db", "memory_size": 1e', 400, "bad_request", "truncated"),
    raw("[]", 400, "bad_request", "list"),
    raw('"db"', 400, "bad_request", "text"),
    raw("null", 400, "bad_request", "null"),
    raw("17", 400, "bad_request", "number"),
    raw("[" * 900 + "]" * 900, 400, "bad_request", "deep list"),
    raw('{"name": "db", "memory_size": ' + "9" * 5000 + "}", 400, "bad_request", "5000 digits"),
    raw('{"name": "db", "memory_size": NaN}', 400, "bad_request", "NaN"),
    raw('{"name": "db", "memory_size": 100000000, "x": ' + "[" * 60 + "]" * 60 + "}", 400, "bad_request", "deep field"),
    raw('{"name": "db", "memory_size": 100000000, "x": "\\ud800"}', 400, "bad_request", "unpaired surrogate"),
    raw(
        '{"name": "db", "memory_size": 100000000, "tags": [{"key": "\\u0000", "value": ""}]}', 400, "bad_request", "NUL"
    ),
    raw('{"name": "db", "memory_size": 100000000, "x": Infinity}', 400, "bad_request", "Infinity"),
    case(406, "missing_db_name", name=REMOVED),
    case(406, "missing_db_name", name=""),
    case(406, "missing_memory_size", memory_size=REMOVED),
    case(400, "bad_request", name=17),
    case(400, "bad_request", name=None),
    case(400, "bad_request", memory_size="100"),
    case(400, "bad_request", memory_size=1.5),
    case(400, "bad_request", memory_size=True),
    case(400, "bad_request", sharding="true"),
    case(400, "bad_request", sharding=1),
    case(400, "bad_request", shards_count="6"),
    case(400, "bad_request", port="12000"),
    case(400, "bad_request", tags={"a": "b"}),
    case(400, "bad_request", tags=["a"]),
    case(400, "bad_request", tags=[{"key": "a"}]),
    case(400, "bad_request", shard_key_regex="x"),
    case(400, "bad_request", shard_key_regex=[{}]),
    case(400, "bad_request", snapshot_policy=[{"secs": "1", "writes": 1}]),
    case(400, "bad_request", max_pipelined="many"),
    case(400, "bad_request", slave_buffer=5),
    case(400, "bad_request", memory_size=-1),
    case(400, "bad_request", uid=-3),
    case(400, "bad_request", **{"a b": 1}),
    case(406, "name_violation", name="a" * 64),
    case(406, "name_violation", name="two words"),
    case(406, "name_violation", name="-db"),
    case(406, "name_violation", name="dätabase"),
    case(406, "port_unavailable", port=9999),
    case(406, "port_unavailable", port=20000),
    case(406, "port_unavailable", port=10050),
    case(406, "port_unavailable", port=12345),
    case(409, "uid_exists", uid=7),
    case(409, "name_exists", name="occupied"),
    case(406, "invalid_sharding", sharding=True, shards_count=0),
    case(406, "invalid_sharding", sharding=True, shards_count=513),
    case(406, "invalid_sharding", shards_count=2),
    case(406, "invalid_sharding", sharding=True, shard_key_regex=[{"regex": "(a+)+$"}]),
    case(406, "invalid_oss_cluster_configuration", sharding=True, oss_cluster=True, proxy_policy="single"),
    case(406, "invalid_proxy_policy", proxy_policy="every"),
    case(406, "eviction_policy_violation", eviction_policy="oldest"),
    case(406, "invalid_data_persistence", data_persistence="snapshot"),
    case(406, "invalid_bdb_tags", tags=[{"key": "a", "value": "1"}, {"key": "a", "value": "2"}]),
    case(406, "invalid_version", version="new"),
    case(406, "replication_size_violation", memory_size=1000),
    case(406, "not_supported", type="memcached"),
    case(406, "insufficient_resources", bigstore=True),
    case(406, "not_supported", bigstore_ram_size=2**29),
    case(406, "bad_request", bigstore=True, bigstore_ram_size=2**50),
    case(406, "not_supported", crdt=True),
    case(406, "missing_module", module_list=[{"module_name": "search", "module_args": ""}]),
    case(406, "not_supported", replica_sources=[{"uri": "redis://:p@host:1"}]),
    case(406, "missing_backup_interval", backup=True),
    case(406, "bad_request", use_nodes=["99"]),
]


async def rows(console: Console) -> dict[str, int]:
    async with console.store.read() as session:
        return {
            table.__tablename__: (await session.execute(select(func.count()).select_from(table))).scalar_one()
            for table in (Bdb, Shard, Action, Event)
        }


async def post(client: httpx.AsyncClient, body: str | bytes) -> httpx.Response:
    return await client.post("/v1/bdbs", content=body, headers={"Content-Type": "application/json"})


@pytest.fixture
async def occupied(client: httpx.AsyncClient, nodes: list[Node]) -> None:
    """A database that uses uid 7 and port 12345."""
    reply = await client.post("/v1/bdbs", json={**GOOD, "name": "occupied", "uid": 7, "port": 12345})
    assert reply.status_code == 200


@pytest.mark.usefixtures("occupied")
async def test_bad_bodies_are_refused_without_changes(client: httpx.AsyncClient, console: Console) -> None:
    assert len(BODIES) >= 50
    before = await rows(console)
    for parameters in BODIES:
        body, status, code = parameters.values
        reply = await post(client, body)
        error = reply.json()
        assert (reply.status_code, error["error_code"]) == (status, code), (parameters.id, error)
        assert error["description"] == error["message"]
        assert error["description"].endswith("."), error
        assert "Input should" not in error["description"]
        assert reply.headers["cluster-state-id"]
    assert await rows(console) == before


@pytest.mark.usefixtures("occupied")
async def test_dry_run_refuses_bad_bodies(client: httpx.AsyncClient) -> None:
    reply = await client.post("/v1/bdbs?dry_run", json={**GOOD, "port": 12345})
    assert (reply.status_code, reply.json()["error_code"]) == (406, "port_unavailable")


async def test_body_over_the_limit_is_refused(client: httpx.AsyncClient, console: Console, nodes: list[Node]) -> None:
    before = await rows(console)
    large = json.dumps({**GOOD, "note": "x" * 1_100_000}).encode()
    with_length = await post(client, large)

    async def streamed() -> Any:
        for start in range(0, len(large), 65536):
            yield large[start : start + 65536]

    without_length = await client.post("/v1/bdbs", content=streamed(), headers={"Content-Type": "application/json"})
    for reply in (with_length, without_length):
        assert (reply.status_code, reply.json()["error_code"]) == (413, "body_too_large")
        assert reply.headers["cluster-state-id"]
    assert await rows(console) == before


@pytest.mark.parametrize(
    "auth", [None, ("admin@example.org", "wrong"), ("nobody@example.org", "correct horse battery")]
)
async def test_missing_or_wrong_credentials_are_refused(
    client: httpx.AsyncClient, console: Console, nodes: list[Node], auth: tuple[str, str] | None
) -> None:
    client.auth = httpx.BasicAuth(*auth) if auth else None
    reply = await client.post("/v1/bdbs", json=GOOD)
    assert reply.status_code == 401
    assert reply.json()["error_code"]
    counts = await rows(console)
    assert (counts["bdbs"], counts["shards"], counts["actions"]) == (0, 0, 0)


async def test_replication_needs_two_nodes(client: httpx.AsyncClient, console: Console, nodes: list[Node]) -> None:
    async with console.store.begin() as session:
        for node in nodes[1:]:
            await session.delete(await session.merge(node))
    reply = await client.post("/v1/bdbs", json={**GOOD, "replication": True})
    assert (reply.status_code, reply.json()["error_code"]) == (406, "replication_node_violation")
    assert reply.json()["field"] == "replication"


async def test_creation_without_nodes_is_refused(client: httpx.AsyncClient, console: Console) -> None:
    reply = await client.post("/v1/bdbs", json=GOOD)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "insufficient_resources")
    assert (await rows(console))["bdbs"] == 0
