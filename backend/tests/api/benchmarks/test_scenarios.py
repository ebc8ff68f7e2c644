"""Tests of the endpoints of scenarios and their runs."""

from typing import Any

import httpx
import pytest

from shardboard.console import Console
from shardboard.state.cluster import actions

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
    assert {(each["code"], each["blocks"]) for each in too_large["problems"]} == {("memory", True)}
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
    other = await client.get(f"/v1/scenario_runs/{run['uid']}", params={"baseline": 99})
    assert other.json()["error_code"] == "scenario_run_not_found"


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
