"""Tests of proxies over HTTP: shape of the Redis Enterprise REST API (3.11), threads, and the proxies of a database."""

import time
from datetime import UTC, datetime

import httpx
import pytest

from shardboard.collectors.metrics import endpoint_samples
from shardboard.console import Console
from shardboard.contract import ENDPOINT_FIELDS, NODE_FIELDS, EndpointReading, ProxyReading, Sample
from shardboard.schemas.databases import bdb_fields
from shardboard.state.alerting import events
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


def endpoint_reading(conns: float) -> EndpointReading:
    values = dict.fromkeys(ENDPOINT_FIELDS, 0.0) | {"conns": conns}
    return EndpointReading(values=list(values.values()), errors={}, latency={"read": [], "write": [], "other": []})


@pytest.fixture
async def console_with_data(console: Console, nodes: list[Node], monkeypatch: pytest.MonkeyPatch) -> Console:
    """Database 1 has endpoints on nodes 1 and 2. Only the proxy of node 1 reports data about it."""
    monkeypatch.setattr(
        endpoint_samples, "MAX_AGE_SECONDS", 3600
    )  # the data must not become stale before the test reads it
    now = datetime.now(UTC)
    async with console.store.begin() as session:
        session.add(
            Bdb(
                uid=1, name="x", status="active", memory_size=1, port=12000, sharding=False, shards_count=1,
                replication=True, config=dict(bdb_fields.CONFIG_DEFAULTS), admin_password="", endpoint_nodes=[1, 2],
                created_at=now, changed_at=now,
            )
        )  # fmt: skip
        for uid, report in (
            (1, {"state": "running", "version": "0.1.0"}),
            (2, {"state": "died", "detail": "no binary"}),
        ):
            (await session.get_one(Node, uid)).proxy = report
    proxy = ProxyReading(seconds=1.0, pid=77, threads=2, cpu=1.0, rss=10**7, databases={1: endpoint_reading(3)})
    console.live.ingest(
        1,
        Sample(
            seq=1,
            boot="0" * 32,
            t=int(time.time()),
            at=time.time(),
            node=[0.0] * len(NODE_FIELDS),
            shards={},
            missing={},
            died={},
            proxy=proxy,
        ),
    )
    return console


async def test_every_node_has_a_proxy(console_with_data: Console, client: httpx.AsyncClient) -> None:
    proxies = (await client.get("/v1/proxies")).json()
    assert [proxy["uid"] for proxy in proxies] == [1, 2, 3]
    assert [proxy["status"] for proxy in proxies] == ["active", "down", "unknown"]
    assert (proxies[0]["pid"], proxies[0]["connections"], proxies[0]["version"]) == (77, 3, "0.1.0")
    assert (proxies[0]["threads"], proxies[0]["max_threads"], proxies[0]["maxmemory_clients"]) == (1, 8, 4294967296)
    assert (await client.get("/v1/proxies/2")).json()["detail"] == "no binary"
    assert (await client.get("/v1/proxies/9")).json()["error_code"] == "proxy_not_found"


async def test_threads_are_changed_and_recorded(console_with_data: Console, client: httpx.AsyncClient) -> None:
    reply = await client.put("/v1/proxies/1", json={"allow_restart": True, "proxy": {"threads": 4}})
    assert (reply.status_code, reply.json()["threads"]) == (200, 4)
    all_proxies = await client.put("/v1/proxies", json={"proxy": {"threads": 12, "max_threads": 16}})
    assert [(proxy["threads"], proxy["max_threads"]) for proxy in all_proxies.json()] == [(12, 16)] * 3
    async with console_with_data.store.read() as session:
        page = await events.page(session, newest_first=False)
        descriptions = [event.description for event in page if event.type == "proxy_updated"]
    assert descriptions[0] == "The threads of the proxy of node 1 were changed from 1 to 4."
    assert len(descriptions) == 4


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"threads": 9}, 406, "invalid_input"),
        ({"threads": 0}, 400, "bad_request"),
        ({"threads": 257, "max_threads": 256}, 400, "bad_request"),
        ({"threads": "4"}, 400, "bad_request"),
        ({"dynamic_threads_scaling": True}, 406, "not_supported"),
        ({"colour": "red"}, 406, "not_supported"),
    ],
)
async def test_invalid_changes_are_refused(
    client: httpx.AsyncClient, change: dict[str, object], status: int, code: str
) -> None:
    before = (await client.get("/v1/proxies")).json()
    reply = await client.put("/v1/proxies", json={"proxy": change})
    assert (reply.status_code, reply.json()["error_code"]) == (status, code)
    assert (await client.get("/v1/proxies")).json() == before


async def test_fields_can_be_sent_without_the_proxy_object(client: httpx.AsyncClient) -> None:
    reply = await client.put("/v1/proxies/1", json={"threads": 4, "allow_restart": True})
    assert (reply.status_code, reply.json()["threads"]) == (200, 4)
    assert (await client.put("/v1/proxies/1", json={})).status_code == 400


async def test_complete_object_can_be_sent_back(client: httpx.AsyncClient) -> None:
    proxy = (await client.get("/v1/proxies/1")).json()
    assert (await client.put("/v1/proxies/1", json={"proxy": proxy})).status_code == 200


async def test_endpoint_lists_its_proxies(console_with_data: Console, client: httpx.AsyncClient) -> None:
    endpoint = (await client.get("/v1/bdbs/1/endpoint")).json()
    assert (endpoint["uid"], endpoint["port"], endpoint["mode"], endpoint["tls"]) == ("1:1", 12000, "hidden", False)
    first, second = endpoint["proxies"]
    assert (first["status"], first["threads"], first["connections"]) == ("active", 2, 3)
    assert (second["status"], second["detail"], second["connections"]) == ("down", "no binary", None)
    assert (await client.get("/v1/bdbs/2/endpoint")).status_code == 404


async def test_proxy_with_clients_is_active_while_traffic_is_stopped(
    console_with_data: Console, client: httpx.AsyncClient
) -> None:
    """A proxy that still has clients is not reported as closed."""
    async with console_with_data.store.begin() as session:
        bdb = await session.get_one(Bdb, 1)
        bdb.config = {**bdb.config, "traffic_manually_disabled": True}
    proxies = (await client.get("/v1/bdbs/1/endpoint")).json()["proxies"]
    assert [(proxy["status"], proxy["connections"]) for proxy in proxies] == [("active", 3), ("closed", None)]
