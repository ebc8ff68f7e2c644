"""Tests of statistics over HTTP: shapes and names of the Redis Enterprise REST API (4.1, 4.2), and columns for charts."""

import re
import time
from array import array
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from backend.tests.support.real_shards import wait_until

from shardboard.api.metrics import intervals as api_intervals
from shardboard.api.metrics import metric_history as api_history
from shardboard.collectors.metrics.metric_history import Archive
from shardboard.console import Console
from shardboard.domain.metrics import endpoint_metrics, intervals
from shardboard.domain.metrics.rollup import TOPICS, TopicFrame, columns_of
from shardboard.errors import Unavailable
from shardboard.queries.metrics import metric_history as metrics_queries
from shardboard.queries.metrics import response_budget
from shardboard.queries.metrics.metric_history import FramesByResolution
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard
from shardboard.state.metrics import metric_history

pytestmark = pytest.mark.store_in_all

NOW = int(time.time())
SAMPLES = {1: 10, 10: 30, 300: 12, 900: 96, 3600: 168}
ENDPOINT = endpoint_metrics.number(1, 2)
UIDS = {"cluster": [0], "nodes": [1, 2, 3], "bdbs": [1], "shards": [11, 12], "endpoints": [ENDPOINT]}


@pytest.fixture
async def stored(console: Console, nodes: list[Node], monkeypatch: pytest.MonkeyPatch) -> Console:
    """A database with two shards, and the newest intervals of all topics. `total_req` is 100 × uid; memory is unknown."""
    for module in (api_intervals, api_history):
        monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: NOW))
    now = datetime.now(UTC)
    common: dict[str, Any] = {"pair": 0, "role": "master", "slots": "0-1", "node_uid": 1}
    async with console.store.begin() as session:
        session.add(
            Bdb(
                uid=1, name="x", status="active", memory_size=1, port=12000, sharding=True, shards_count=2,
                replication=False, config={}, admin_password="", created_at=now, changed_at=now,
            )
        )  # fmt: skip
        session.add_all(
            Shard(uid=uid, bdb_uid=1, port=20000 + uid, bus_port=25000 + uid, engine_id=f"{uid:040x}", **common)
            for uid in UIDS["shards"]
        )
    await Archive(console.store, console.bus, console.live).prepare()
    async with console.store.begin() as session:
        layouts = await metric_history.layouts(session)
        for topic, uids in UIDS.items():
            rows = []
            for step, count in SAMPLES.items():
                names = columns_of(topic, step)
                end = intervals.start(NOW, step)
                one = frame(topic, end, uids, names)  # all frames have the same values, and building one is slow
                rows += [
                    (topic, step, layouts[names], TopicFrame(end - index * step, one.uids, one.columns))
                    for index in range(1, count + 3)
                ]
            await metric_history.write(session, rows)
    console.live.restore("bdbs", frame("bdbs", NOW - 1, [1], TOPICS["bdbs"]))
    return console


def frame(topic: str, t: int, uids: list[int], names: tuple[str, ...]) -> TopicFrame:
    values = {name: array("f", [0.25] * len(uids)) for name in names}
    values["used_memory"] = array("f", [float("nan")] * len(uids))
    if "total_req" in TOPICS[topic]:
        values["total_req"] = array("f", [uid * 100.0 for uid in uids])
    return TopicFrame(t, array("i", uids), values)


async def test_all_resolutions_are_in_one_list(stored: Console, client: httpx.AsyncClient) -> None:
    reply = await client.get("/v1/bdbs/stats")
    assert reply.status_code == 200
    [database] = reply.json()
    assert database["uid"] == "1"
    names = [entry["interval"] for entry in database["intervals"]]
    assert {name: names.count(name) for name in dict.fromkeys(names)} == {
        "1sec": 10, "10sec": 30, "5min": 12, "15min": 96, "1hour": 168,
    }  # fmt: skip
    newest = database["intervals"][9]
    assert newest["total_req"] == 100.0
    assert "used_memory" not in newest, "unknown values are omitted"
    assert newest["write_hits"] == 0, "not counted"
    assert not any(name.startswith("#") for name in newest)
    assert (
        datetime.fromisoformat(newest["etime"]).timestamp() - datetime.fromisoformat(newest["stime"]).timestamp() == 1
    )
    assert newest["stime"].endswith("Z")


@pytest.mark.parametrize(
    ("path", "uid"),
    [("/v1/bdbs/stats/1", "1"), ("/v1/nodes/stats/2", 2), ("/v1/shards/stats/12", "12"), ("/v1/cluster/stats", None)],
)
async def test_statistics_of_one_object(
    stored: Console, client: httpx.AsyncClient, path: str, uid: str | int | None
) -> None:
    stats = (await client.get(path, params={"interval": "10sec", "metrics": "total_req"})).json()
    assert stats.get("uid") == uid
    assert len(stats["intervals"]) == 30
    for entry in stats["intervals"]:
        assert set(entry) == {"interval", "stime", "etime", "total_req"}
        assert entry["total_req"] == 100.0 * int(uid or 0)


async def test_statistics_of_all_nodes_shards_and_endpoints(stored: Console, client: httpx.AsyncClient) -> None:
    async def uids(path: str, **params: Any) -> list[Any]:
        return [each["uid"] for each in (await client.get(path, params={"interval": "1sec", **params})).json()]

    assert await uids("/v1/nodes/stats") == [1, 2, 3]
    params = {"interval": "10sec", "metrics": "ephemeral_storage_free"}
    for entry in (await client.get("/v1/nodes/stats/2", params=params)).json()["intervals"]:
        assert (entry.keys() - {"interval", "stime", "etime"}, entry["ephemeral_storage_free"]) == (
            {"ephemeral_storage_free"},
            0.25,
        )
    assert await uids("/v1/shards/stats") == ["11", "12"]
    assert await uids("/v1/shards/stats", parent_uid=1) == ["11", "12"]
    assert await uids("/v1/shards/stats", parent_uid=2) == []
    assert await uids("/v1/endpoints/stats") == ["1:1:2"]
    [endpoint] = (await client.get("/v1/endpoints/stats", params={"interval": "1sec"})).json()
    assert "mem_frag_ratio" not in endpoint["intervals"][0]
    assert endpoint["intervals"][0]["avg_latency"] == 1.0, "total microseconds divided by the number of responses"


async def test_cluster_counts_each_machine_once(stored: Console, client: httpx.AsyncClient) -> None:
    """All three nodes of the fixture report the same machine."""
    stats = (await client.get("/v1/cluster/stats", params={"interval": "1sec"})).json()
    assert stats["intervals"][0]["cpu_user"] == 0.25
    assert stats["intervals"][0]["free_memory"] == 0.25


async def test_stime_is_inclusive_and_etime_exclusive(stored: Console, client: httpx.AsyncClient) -> None:
    end = intervals.start(NOW, 10) - 50
    window = {"interval": "10sec", "stime": iso_time(end - 100), "etime": iso_time(end)}
    entries = (await client.get("/v1/bdbs/stats/1", params=window)).json()["intervals"]
    assert [entry["stime"] for entry in entries] == [iso_time(end - 100 + 10 * index) for index in range(10)]
    assert entries[-1]["etime"] == iso_time(end)


async def test_newest_second_is_keyed_by_uid(stored: Console, client: httpx.AsyncClient) -> None:
    for path in ("/v1/bdbs/stats/last", "/v1/bdbs/stats/last/1"):
        newest = (await client.get(path)).json()
        assert list(newest) == ["1"]
        assert newest["1"]["total_req"] == 100.0
        assert (newest["1"]["stime"], newest["1"]["etime"]) == (iso_time(NOW - 1), iso_time(NOW))
    stored.live.restore("nodes", frame("nodes", NOW - 1, [2], TOPICS["nodes"]))
    cluster = (await client.get("/v1/cluster/stats/last")).json()
    assert (cluster["stime"], cluster["free_memory"]) == (iso_time(NOW - 1), 0.25), "nodes 1 and 3 do not report"
    assert (await client.get("/v1/shards/stats/last")).json() == {}
    assert set((await client.get("/v1/nodes/stats/last", params={"metrics": "cpu_user"})).json()) <= {"1", "2", "3"}


@pytest.mark.parametrize(
    "path",
    [
        *(f"/v1/{object_type}/stats{last}/99" for object_type in ("bdbs", "nodes", "shards") for last in ("", "/last")),
        "/v1/history?topic=shards:99&metrics=total_req&from=0",
    ],
)
async def test_unknown_uids_are_not_found(stored: Console, client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(path)).status_code == 404


async def test_unknown_intervals_mean_all_and_abbreviations_are_accepted(
    stored: Console, client: httpx.AsyncClient
) -> None:
    async def kinds(interval: str) -> set[str]:
        interval_list = (await client.get("/v1/bdbs/stats/1", params={"interval": interval})).json()["intervals"]
        return {entry["interval"] for entry in interval_list}

    assert await kinds("1h") == {"1hour"}
    assert len(await kinds("sometimes")) == 5


async def test_history_returns_columns(stored: Console, client: httpx.AsyncClient) -> None:
    query = {
        "topic": "shards:1",
        "metrics": "total_req,used_memory,total_req_max",
        "from": NOW - 3000,
        "max_points": 400,
    }
    history = (await client.get("/v1/history", params=query)).json()
    assert (history["resolution"], history["step"]) == ("10sec", 10)
    assert history["metrics"] == ["total_req", "used_memory", "total_req_max"]
    assert history["from"] == intervals.start(NOW - 3000, 10)
    assert set(history["series"]) == {"11", "12"}
    requests, memory, _ = history["series"]["12"]
    assert len(requests) == len(memory) == history["count"]
    assert set(requests) == {None, 1200.0}
    assert set(memory) == {None}
    assert (await client.get("/v1/history", params={**query, "uids": "12,13"})).json()["series"].keys() == {"12"}


async def test_history_does_not_depend_on_how_it_is_read(
    stored: Console, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = {"topic": "shards:1", "metrics": "total_req,used_memory", "from": NOW - 3000, "max_points": 400}
    history = (await client.get("/v1/history", params=query)).json()
    monkeypatch.setattr(metrics_queries, "FRAMES_PER_READ", 7)
    for columns in (2, 2 * 11, 2 * history["count"]):
        monkeypatch.setattr(metrics_queries, "COLUMNS_CHUNK", columns)
        assert (await client.get("/v1/history", params=query)).json() == history


async def test_history_of_the_cluster_and_empty_history(stored: Console, client: httpx.AsyncClient) -> None:
    query = {"topic": "cluster", "metrics": "total_req", "from": NOW - 5}
    assert (await client.get("/v1/history", params=query)).json()["series"].keys() == {"cluster"}
    for moment in (0, NOW + 1000):
        history = (await client.get("/v1/history", params={**query, "from": moment, "to": moment})).json()
        assert (history["count"], history["series"]) == (0, {})


@pytest.mark.parametrize(
    "wrong",
    [{"metrics": "nonsense"}, {"metrics": ""}, {"topic": "else"}, {"uids": "a"}, {"max_points": 0}, {"from": -1}],
)
async def test_invalid_queries_are_refused(stored: Console, client: httpx.AsyncClient, wrong: dict[str, Any]) -> None:
    query = {"topic": "bdbs", "metrics": "total_req", "from": NOW - 5}
    reply = await client.get("/v1/history", params={**query, **wrong})
    assert reply.status_code == 400
    assert reply.json()["error_code"] == "bad_request"


@pytest.mark.parametrize(("limit", "allowed"), [("MAX_VALUES", 2_000), ("MAX_INTERVALS", 40), ("MAX_STORED", 20_000)])
async def test_too_large_queries_are_refused_with_a_suggestion_that_fits(
    stored: Console, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, limit: str, allowed: int
) -> None:
    monkeypatch.setattr(response_budget, limit, allowed)
    for interval in ("", "15min", "1hour"):
        query = {"stime": "2020-01-01T00:00:00Z", "interval": interval}
        reply = await client.get("/v1/shards/stats", params=query)
        assert (reply.status_code, reply.json()["error_code"]) == (400, "too_much")
        message = reply.json()["description"]
        suggestion = dict(re.findall(r"(interval|stime)=([^ ,.]+)", message))
        assert (await client.get("/v1/shards/stats", params={**query, "stime": suggestion["stime"]})).status_code == 200
        if "interval" in suggestion:
            reply = await client.get("/v1/shards/stats", params={**query, "interval": suggestion["interval"]})
            assert reply.status_code == 200, message
    await wait_until(
        lambda: response_budget.response_memory._values == 0
    )  # freed with the last reply, which a thread may still hold


async def test_size_depends_on_selected_objects_and_metrics(
    stored: Console, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(response_budget, "MAX_VALUES", 200)
    query = {"stime": "2020-01-01T00:00:00Z", "interval": "15min"}
    assert (await client.get("/v1/shards/stats/12", params=query)).status_code == 400
    reply = await client.get("/v1/shards/stats/12", params={**query, "metrics": "total_req"})
    assert len(reply.json()["intervals"]) == 98


async def test_too_large_history_is_refused_with_a_suggestion_that_fits(
    stored: Console, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(response_budget, "MAX_VALUES", 300)
    query: dict[str, Any] = {"topic": "shards:1", "metrics": "total_req,used_memory", "from": NOW - 3000}
    reply = await client.get("/v1/history", params={**query, "max_points": 400})
    assert (reply.status_code, reply.json()["field"]) == (400, "max_points")
    [suggestion] = re.findall(r"max_points=(\d+)", reply.json()["description"])
    assert (await client.get("/v1/history", params={**query, "max_points": suggestion})).status_code == 200
    monkeypatch.setattr(response_budget, "MAX_VALUES", 3)
    assert "fewer metrics" in (await client.get("/v1/history", params=query)).json()["description"]


def test_concurrent_replies_share_one_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_budget, "MAX_VALUES_IN_MEMORY", 100)
    reserved, first = response_budget.ResponseMemory(), FramesByResolution()
    reserved.count(80, first)
    with pytest.raises(Unavailable):
        reserved.count(21, FramesByResolution())
    reserved.count(20, FramesByResolution())
    del first
    reserved.count(100, FramesByResolution())


async def test_retention_is_returned(stored: Console, client: httpx.AsyncClient) -> None:
    retention = (await client.get("/v1/history/retention", params={"topic": "bdbs"})).json()
    assert retention["store_bytes"] > retention["storage_bytes"] > 1000
    assert (retention["events"], retention["actions"]) == (1, 0)
    assert [each["step"] for each in retention["ranges"]] == list(SAMPLES)
    assert retention["ranges"][0]["to"] == NOW


async def test_statistics_require_authentication(stored: Console, client: httpx.AsyncClient) -> None:
    for path in ("/v1/bdbs/stats", "/v1/history?topic=bdbs&metrics=conns&from=0", "/v1/history/retention"):
        assert (await client.get(path, auth=httpx.BasicAuth("a", "b"))).status_code == 401


def iso_time(t: int) -> str:
    return datetime.fromtimestamp(t, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
