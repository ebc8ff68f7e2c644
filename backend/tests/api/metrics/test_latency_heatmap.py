"""Tests of the latency heat map over HTTP: selection of requests, binning, and seconds without data."""

import time
from array import array
from datetime import UTC, datetime
from math import nan
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from shardboard.api.metrics import latency_heatmap as api_latency
from shardboard.collectors.metrics.metric_history import Archive
from shardboard.console import Console
from shardboard.domain.metrics import endpoint_metrics, intervals, latency_cells
from shardboard.domain.metrics.latency_cells import cell
from shardboard.domain.metrics.rollup import TOPICS, TopicFrame
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.metrics import latency, metric_history
from shardboard.state.metrics.latency import LatencyMeasurement

pytestmark = pytest.mark.store_in_all

NOW = intervals.start(int(time.time()), 300)
FIRST, SECOND, OTHER = endpoint_metrics.number(1, 1), endpoint_metrics.number(1, 2), endpoint_metrics.number(2, 1)
MEASURED = {
    (FIRST, "read"): {cell(100): 10, cell(5_000): 1},
    (SECOND, "read"): {cell(100): 20},
    (SECOND, "write"): {cell(400): 3},
    (OTHER, "other"): {cell(100): 500},
}
SILENT, UNKNOWN = NOW - 5, NOW - 3
"""A second without requests, and one without data of any proxy. All others have the MEASURED requests."""
SECONDS = range(NOW - 20, NOW)


@pytest.fixture
async def stored(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_latency, "time", SimpleNamespace(time=lambda: NOW))
    now = datetime.now(UTC)
    common: dict[str, Any] = {
        "status": "active",
        "memory_size": 1,
        "sharding": True,
        "shards_count": 1,
        "replication": False,
        "config": {},
        "admin_password": "",
        "created_at": now,
        "changed_at": now,
    }
    await Archive(console.store, console.bus, console.live).prepare()
    async with console.store.begin() as session:
        session.add_all(Bdb(uid=uid, name=f"d{uid}", port=12000 + uid, **common) for uid in (1, 2))
        rates = [t for t in SECONDS if t != UNKNOWN]
        layout = (await metric_history.layouts(session))[TOPICS["endpoints"]]
        await metric_history.write(session, [("endpoints", 1, layout, frame(t)) for t in rates])
        await latency.write(session, 1, [LatencyMeasurement(t, {}, MEASURED) for t in rates if t != SILENT])


def frame(t: int) -> TopicFrame:
    uids = array("i", [FIRST, SECOND, OTHER])
    return TopicFrame(t, uids, {name: array("f", [1.0, 1.0, nan]) for name in TOPICS["endpoints"]})


async def get_latency(client: httpx.AsyncClient, **more: Any) -> dict[str, Any]:
    reply = await client.get("/v1/history/latency", params={"from": SECONDS[0], "to": NOW, "bdb": 1, **more})
    assert reply.status_code == 200, reply.text
    body: dict[str, Any] = reply.json()
    assert body["count"] == len(body["columns"]) == len(body["seconds"])
    return body


def count_requests(body: dict[str, Any]) -> int:
    return sum(sum(counts) for _, *counts in filter(None, body["columns"]))


async def test_requests_are_counted_by_second_and_latency(stored: None, client: httpx.AsyncClient) -> None:
    body = await get_latency(client)
    assert (body["resolution"], body["from"], body["step"], body["count"]) == ("1sec", SECONDS[0], 1, 20)
    assert (body["kind"], body["per_decade"]) == ("all", 20)
    first, *counts = body["columns"][0]
    assert first == 0
    assert (counts[0], counts[-1], sum(counts)) == (30, 1, 34)
    assert body["bounds"][0] <= 100 < body["bounds"][1]
    assert body["bounds"][-2] <= 5_000 < body["bounds"][-1]
    assert body["bounds"][0] == pytest.approx(10 ** (body["lowest"] / 20), rel=1e-3)


async def test_seconds_without_requests_and_without_data_are_distinguished(
    stored: None, client: httpx.AsyncClient
) -> None:
    body = await get_latency(client)
    silent, unknown = SILENT - SECONDS[0], UNKNOWN - SECONDS[0]
    assert (body["seconds"][silent], body["columns"][silent]) == (1, [])
    assert (body["seconds"][unknown], body["columns"][unknown]) == (0, [])
    assert sum(body["seconds"]) == 19


@pytest.mark.parametrize(
    ("selection", "per_second"),
    [
        ({"kind": "read"}, 31),
        ({"kind": "write"}, 3),
        ({"kind": "other"}, 0),
        ({"endpoint": "1:1:2"}, 23),
        ({"endpoint": "1:1:2", "kind": "read"}, 20),
        ({"endpoint": "1:1:9"}, 0),
        ({"bdb": 2}, 500),
        ({"bdb": ""}, 534),
    ],
)
async def test_requests_are_selected_by_database_endpoint_and_kind(
    stored: None, client: httpx.AsyncClient, selection: dict[str, Any], per_second: int
) -> None:
    query = {name: value for name, value in {"bdb": 1, **selection}.items() if value != ""}
    reply = await client.get("/v1/history/latency", params={"from": SECONDS[0], "to": NOW, **query})
    assert count_requests(reply.json()) == per_second * 18


async def test_columns_are_aggregated_and_new_ones_can_be_appended(stored: None, client: httpx.AsyncClient) -> None:
    complete = await get_latency(client, points=5)
    assert (complete["step"], complete["count"]) == (4, 5)
    assert complete["seconds"] == [4, 4, 4, 4, 3]
    assert count_requests(complete) == 34 * 18
    newest = await get_latency(client, **{"from": NOW - 4}, step=4, per_decade=complete["per_decade"])
    assert newest["from"] == complete["from"] + 16
    assert newest["columns"] == complete["columns"][-1:]
    assert (await get_latency(client, per_decade=5))["per_decade"] == 5


async def test_future_time_range_is_empty(stored: None, client: httpx.AsyncClient) -> None:
    body = await get_latency(client, **{"from": NOW + 100, "to": NOW + 200})
    assert (body["count"], body["bounds"], body["columns"]) == (0, [], [])


@pytest.mark.parametrize(
    "wrong",
    [
        {"from": -1},
        {"kind": "both"},
        {"points": 0},
        {"step": 7, "from": NOW - 7_200},
        {"per_decade": 7},
        {"endpoint": "1"},
        {"bdb": 2, "endpoint": "1:1:2"},
        {"step": 1, "from": NOW - 3_000},
    ],
)
async def test_invalid_queries_are_refused(stored: None, client: httpx.AsyncClient, wrong: dict[str, Any]) -> None:
    reply = await client.get("/v1/history/latency", params={"from": SECONDS[0], **wrong})
    assert reply.status_code == 400
    assert reply.json()["error_code"] == "bad_request"


async def test_unknown_databases_and_users_are_refused(stored: None, client: httpx.AsyncClient) -> None:
    for query in ({"bdb": 9}, {"endpoint": "9:1:1"}):
        reply = await client.get("/v1/history/latency", params={"from": NOW - 9, **query})
        assert (reply.status_code, reply.json()["error_code"]) == (404, "db_not_found")
    anonymous = await client.get("/v1/history/latency", params={"from": NOW - 9}, auth=httpx.BasicAuth("a", "b"))
    assert anonymous.status_code == 401


async def test_storage_size_includes_latency(stored: None, console: Console, client: httpx.AsyncClient) -> None:
    async with console.store.read() as session:
        metrics_only = await metric_history.size(session)
        assert await latency.size(session) > 18 * len(latency_cells.encode(MEASURED))
    assert (await client.get("/v1/history/retention")).json()["storage_bytes"] > metrics_only


async def test_percentiles_of_one_endpoint(stored: None, client: httpx.AsyncClient) -> None:
    query = {"topic": "endpoints", "metrics": "p50_latency,p999_read_latency,p99_write_latency", "from": NOW - 10}
    series = (await client.get("/v1/history", params=query)).json()["series"]
    median, tail, writes = (column[0] for column in series["1:1:1"])
    assert (median, tail) == (pytest.approx(100, rel=0.02), pytest.approx(5_000, rel=0.02))
    assert writes is None
    assert series["1:1:2"][2][0] == pytest.approx(400, rel=0.02)
