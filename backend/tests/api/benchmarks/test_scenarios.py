"""Tests of the endpoints of scenarios and their runs."""

from typing import Any

import httpx
import pytest

from shardboard.console import Console
from shardboard.state.cluster import actions, nodes

pytestmark = [pytest.mark.usefixtures("nodes")]


async def start(client: httpx.AsyncClient, **more: Any) -> httpx.Response:
    return await client.post("/v1/scenario_runs", json={"scenario": "load-test", "scale": 1e-5, **more})


async def test_the_library_states_what_fits_the_cluster(client: httpx.AsyncClient) -> None:
    scenarios = {each["name"]: each for each in (await client.get("/v1/scenarios")).json()}
    load_test = scenarios["load-test"]
    assert (await client.get("/v1/scenarios/load-test")).json() == load_test
    assert 0 < load_test["fit"]["scale"] < 1
    assert load_test["fit"]["limited_by"] == "memory"
    assert load_test["fit"]["deviations"]
    assert load_test["published"]["tables"][0]["rows"][0]["published"] == [4_520_000, 0.97, None]
    assert scenarios["dram-vs-extended"]["fit"]["limited_by"] == "flash"
    assert scenarios["one-node-down"]["fit"]["limited_by"] == "policy"
    assert (await client.get("/v1/scenarios/none")).json()["error_code"] == "scenario_not_found"


async def test_preflight_returns_the_parts_and_the_problems(client: httpx.AsyncClient) -> None:
    path = "/v1/scenarios/load-test/preflight"
    reply = (await client.post(path, json={"scale": 1e-5})).json()
    assert (reply["problems"], [part["name"] for part in reply["parts"]]) == ([], ["average latency", "P99 latency"])
    assert reply["load_nodes"] == [3], "the node without shards of the scenario"
    assert reply["keys"] == 18_000
    too_large = (await client.post(path, json={"scale": 1})).json()
    assert [each["code"] for each in too_large["problems"]] == ["memory"]
    assert (await client.post(path, json={"scale": 0})).status_code == 400
    assert (await client.post(path, json={"scale": 1e-5, "load_nodes": [9]})).json()["field"] == "load_nodes"


async def test_a_run_is_queued_with_its_plan(client: httpx.AsyncClient, console: Console) -> None:
    reply = await start(client, keep=True)
    assert reply.status_code == 200, reply.text
    run = reply.json()
    assert (run["status"], run["keep"], run["progress"]) == ("queued", True, 0)
    assert [part["status"] for part in run["parts"]] == ["waiting", "waiting"]
    assert run["result"]["deviations"]
    assert (await client.get(f"/v1/scenario_runs/{run['uid']}")).json() == run
    assert (await client.get("/v1/scenario_runs")).json() == [run]
    assert (await start(client)).json()["error_code"] == "scenario_running"
    assert (await client.delete(f"/v1/scenario_runs/{run['uid']}")).json()["error_code"] == "scenario_running"
    stopped = await client.post(f"/v1/scenario_runs/{run['uid']}/stop")
    assert stopped.status_code == 200
    async with console.store.read() as session:
        action = await actions.by_uid(session, run["action_uid"])
    assert action is not None
    assert (action.name, action.cancelled_by != "") == ("SMRunScenario", True)


async def test_a_deleted_baseline_is_reported_with_the_run(client: httpx.AsyncClient) -> None:
    run = (await start(client)).json()
    path = f"/v1/scenario_runs/{run['uid']}"
    detail = "Scenario run 99 no longer exists. This run is not compared."
    assert (await client.get(path, params={"baseline": 99})).json() == {**run, "baseline_detail": detail}
    assert detail in (await client.get(f"{path}/report", params={"baseline": 99})).text
    assert (await client.get("/v1/scenario_runs/99")).status_code == 404


async def test_costs_use_the_current_prices(client: httpx.AsyncClient, console: Console) -> None:
    async with console.store.begin() as session:
        for node in await nodes.list_all(session):
            node.facts = {**node.facts, "flash_size": 2**40}
    uid = (await start(client, scenario="memory-drive", scale=1e-6)).json()["uid"]
    table = (await client.get(f"/v1/scenario_runs/{uid}")).json()["result"]["tables"][-1]
    assert table["rows"][0]["measured"][3] == "no prices"
    prices = {"currency": "EUR", "ram_gb": 3.0, "flash_gb": 1.0, "node": 1000.0}
    assert (await client.put("/v1/benchmarks/cost_model", json=prices)).status_code == 200
    result = (await client.get(f"/v1/scenario_runs/{uid}")).json()["result"]
    assert (result["tables"][-1]["columns"][3], result["figures"][-1]["published"]) == (
        {"name": "Cost", "unit": "EUR"},
        40,
    )
    assert result["tables"][-1]["rows"][0]["measured"][3] > 1000


@pytest.mark.parametrize("format_", ["markdown", "html", "csv", "json"])
async def test_reports_of_a_run_can_be_downloaded(client: httpx.AsyncClient, format_: str) -> None:
    uid = (await start(client)).json()["uid"]
    reply = await client.get(f"/v1/scenario_runs/{uid}/report", params={"format": format_})
    assert reply.status_code == 200
    assert f'filename="scenario-{uid}.' in reply.headers["content-disposition"]
    assert "4520000" in reply.text.replace(",", "")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"scenario": "none"}, 404, "scenario_not_found"),
        ({"scale": 1}, 406, "insufficient_resources"),
        ({"scale": 11}, 400, "bad_request"),
        ({"scale": -1}, 400, "bad_request"),
        ({"load_nodes": [7]}, 406, "node_not_connected"),
        ({"scenario": "one-node-down"}, 406, "insufficient_resources"),
    ],
)
async def test_impossible_runs_are_rejected(
    client: httpx.AsyncClient, body: dict[str, Any], status: int, code: str
) -> None:
    reply = await start(client, **body)
    assert (reply.status_code, reply.json()["error_code"]) == (status, code)
