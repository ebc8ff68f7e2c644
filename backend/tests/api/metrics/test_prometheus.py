"""Tests of the metrics endpoint with Prometheus' own parser, and of access to it."""

import time
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from backend.tests.collectors.samples import sample, shard
from backend.tests.conftest import PASSWORD, USER
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from shardboard.api.metrics import scrape_limit
from shardboard.api.metrics.prometheus import create_app
from shardboard.collectors.metrics import live_metrics
from shardboard.collectors.metrics.live_metrics import ShardPlace
from shardboard.console import Console
from shardboard.domain.metrics.histogram import Histogram
from shardboard.schemas.metrics.prometheus import Exposition, render_labels
from shardboard.state.cluster.cluster import load_for_update
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard


@pytest.fixture
async def console_with_data(console: Console, nodes: list[Node], monkeypatch: pytest.MonkeyPatch) -> Console:
    """A console with data of node 1 about a primary and a replica, and no data of node 2 about shard 13."""
    monkeypatch.setattr(
        live_metrics, "MAX_AGE_SECONDS", 3600
    )  # the data must not become stale before the test reads it
    common: dict[str, Any] = {"bdb_uid": 1, "pair": 0, "slots": "0-1"}
    members = {}
    async with console.store.begin() as session:
        for uid, node_uid, role in ((11, 1, "master"), (12, 1, "slave"), (13, 2, "slave")):
            ports = {"port": 20000 + uid, "bus_port": 25000 + uid, "engine_id": f"{uid:040x}"}
            session.add(Shard(uid=uid, node_uid=node_uid, role=role, **ports, **common))
            members[uid] = ShardPlace(1, 0, node_uid)
    console.live.set_members(members)
    primary = shard(read_cmds=7.0, connections=5.0, clients=2.0, used_memory=3e6, ping_ms=2.0, cpu=None)
    now = int(time.time())
    node_sample = sample(now, {11: primary, 12: shard(is_primary=0.0, link_up=0.0)})
    console.live.ingest(1, node_sample)
    console.live._publish(now, console.live._seconds[now])
    return console


def parsed(text: str) -> dict[str, Metric]:
    return {family.name: family for family in text_string_to_metric_families(text)}


def values(families: dict[str, Metric], name: str, **labels: str) -> list[float]:
    # The parser drops the suffix _total from names of counters.
    family = families[name.removesuffix("_total")]
    return [each.value for each in family.samples if labels.items() <= each.labels.items()]


async def scrape(console: Console, host: str = "127.0.0.1", path: str = "/v2", **more: Any) -> httpx.Response:
    transport = httpx.ASGITransport(create_app(console), client=(host, 40000))
    async with httpx.AsyncClient(transport=transport, base_url="https://console") as client:
        return await client.get(path, **{"auth": (USER, PASSWORD), **more})


async def test_names_labels_and_types(console_with_data: Console) -> None:
    reply = await scrape(console_with_data)
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = parsed(reply.text)
    assert all(family.documentation and family.type != "unknown" for family in families.values())
    assert values(families, "shardboard_shard_read_commands", db="1", redis="11") == [7.0]
    assert families["shardboard_shard_read_commands"].type == "counter"
    assert values(families, "redis_server_up", redis="13") == [0]
    assert values(families, "redis_server_up", role="master", node="1", db="1") == [1]
    assert [values(families, "redis_server_master_link_status", redis=uid) for uid in ("11", "12")] == [[3], [2]]
    assert values(families, "redis_server_used_memory", redis="11") == [3e6]
    assert values(families, "shardboard_shard_responsiveness_seconds", redis="11") == [0.002]
    assert [values(families, "node_metrics_up", node=uid) for uid in "123"] == [[1], [0], [0]]
    assert values(families, "node_cpu_seconds_total", node="1", mode="idle") == [0]
    assert values(families, "total_nodes_count") == [3]


async def test_unknown_values_are_absent(console_with_data: Console) -> None:
    families = parsed((await scrape(console_with_data)).text)
    assert values(families, "namedprocess_namegroup_thread_cpu_seconds_total", redis="11") == []
    assert values(families, "redis_server_used_memory", redis="13") == []
    assert "db_status" not in families, "the store has no database"


async def test_latency_is_a_histogram_once_it_is_measured(console_with_data: Console) -> None:
    name = "endpoint_read_requests_latency_histogram"
    assert name not in parsed((await scrape(console_with_data)).text)
    now = datetime.now(UTC)
    async with console_with_data.store.begin() as session:
        session.add(
            Bdb(
                uid=1, name="x", status="active", memory_size=1, port=12000, sharding=False, shards_count=1,
                replication=True, config={}, admin_password="", created_at=now, changed_at=now,
            )
        )  # fmt: skip
    for value in (90, 400):
        measured = Histogram()
        measured.record(value, 5)
        console_with_data.live.endpoints.latencies.ingest(
            console_with_data.live.newest, value, {(1, "read"): measured, (2, "read"): measured}
        )
    families = parsed((await scrape(console_with_data)).text)
    assert families[name].type == "histogram"
    samples = {
        (sample.name.removeprefix(name), sample.labels.get("le")): sample.value
        for sample in families[name].samples
        if sample.labels["db"] == "1"
    }
    assert (samples["_bucket", "80"], samples["_bucket", "100"], samples["_bucket", "+Inf"]) == (0, 5, 10)
    assert (samples["_count", None], samples["_sum", None]) == (10, 5 * 490)
    assert len(families[name].samples) == len(samples), "database 2 does not exist"


async def test_stale_seconds_are_not_exported(console_with_data: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_metrics, "MAX_AGE_SECONDS", -60)
    families = parsed((await scrape(console_with_data)).text)
    assert values(families, "node_metrics_up") == [0, 0, 0]
    assert "redis_server_used_memory" not in families


async def test_paths_of_the_metrics_port(console_with_data: Console, client: httpx.AsyncClient) -> None:
    version_1, version_2 = {"node_up", "redis_up"}, {"node_metrics_up", "redis_server_up"}
    for path, names in {"/": version_1, "/metrics": version_1, "/v2": version_2, "/v2/node?uid=2": version_2}.items():
        reply = await scrape(console_with_data, path=path)
        assert (version_1 | version_2) & parsed(reply.text).keys() == names, path
        assert (await scrape(console_with_data, path=path, auth=None)).status_code == 401, path
    assert (await scrape(console_with_data, path="/v1/bdbs")).status_code == 404
    assert parsed((await client.get("/metrics")).text).keys() >= version_2, "the console's port"


@pytest.mark.parametrize("source", ["192.0.2.7", "127.0.0.1", "::1"])
async def test_metrics_require_credentials_from_every_address(
    console_with_data: Console, client: httpx.AsyncClient, source: str
) -> None:
    assert (await scrape(console_with_data, source, auth=None)).status_code == 401
    assert (await scrape(console_with_data, source)).status_code == 200
    created = await client.post("/v1/service_tokens", json={"name": "prometheus", "role": "cluster_viewer"})
    token = {"Authorization": f"Bearer {created.json()['token']}"}
    assert (await scrape(console_with_data, source, auth=None, headers=token)).status_code == 200
    async with console_with_data.store.begin() as session:
        (await load_for_update(session)).policy = {"metrics_auth": False}
    assert (await scrape(console_with_data, source, auth=None)).status_code == 200


def test_histograms_and_escaping() -> None:
    page = Exposition()
    page.family("latency", "histogram", "A \\ and\na line.")
    page.add_histogram("latency", {"db": 'a"b\\c\nd'}, [(1.0, 2), (10.0, 4)], 5, 12.5)
    [family] = text_string_to_metric_families(page.render())
    samples = {(name, labels.get("le")): value for name, labels, value, *_ in family.samples}
    assert samples == {
        ("latency_bucket", "1"): 2, ("latency_bucket", "10"): 4, ("latency_bucket", "+Inf"): 5,
        ("latency_sum", None): 12.5, ("latency_count", None): 5,
    }  # fmt: skip
    assert family.samples[0].labels["db"] == 'a"b\\c\nd'
    assert family.documentation == "A \\ and\na line."


def test_labels_are_rendered() -> None:
    assert render_labels({"db": 1, "role": "master"}) == '{db="1",role="master"}'


async def test_cores_of_pinned_shards(console_with_data: Console) -> None:
    assert "shardboard_shard_cores" not in parsed((await scrape(console_with_data)).text)
    async with console_with_data.store.begin() as session:
        place = {"cores": "0-3", "numa_nodes": "0"}
        (await session.get_one(Node, 1)).pinning = {"state": "active", "shards": {"11": place}}
    families = parsed((await scrape(console_with_data)).text)
    assert values(families, "shardboard_shard_cores", redis="11", node="1", cores="0-3", numa_node="0") == [1]


async def test_concurrent_requests_are_limited(
    console_with_data: Console, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await client.put("/v1/metrics_config", json={"max_requests_in_flight": 1})).status_code == 200
    assert (await scrape(console_with_data)).status_code == 200
    monkeypatch.setitem(scrape_limit._running, console_with_data.store, 1)
    busy = await scrape(console_with_data)
    assert (busy.status_code, busy.json()["error_code"], busy.headers["retry-after"]) == (503, "busy", "1")
