"""Tests of list, get, create, update, and delete, and of the formats of their output."""

import asyncio
import json
from pathlib import Path

import httpx
import pytest
import yaml
from backend.tests.cli.client.conftest import Cli
from backend.tests.support.active_database import create_active_database

from shardboard.console import Console
from shardboard.domain.cluster.actions import ActionStatus
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.cluster import actions
from shardboard.state.cluster.nodes import Node

pytestmark = pytest.mark.usefixtures("nodes")


async def test_objects_are_created_changed_and_deleted(signed_in: Cli, client: httpx.AsyncClient) -> None:
    created = await signed_in("role", "create", "reporting", "--set", "management=db_viewer", "-o", "json")
    assert created.status == 0, created.err
    role = json.loads(created.out)
    assert (role["name"], role["management"]) == ("reporting", "db_viewer")
    changed = await signed_in("role", "update", "reporting", "--set", "management=cluster_viewer")
    assert changed.status == 0, changed.err
    assert (await client.get(f"/v1/roles/{role['uid']}")).json()["management"] == "cluster_viewer"
    refused = await signed_in("role", "delete", "reporting")
    assert (refused.status, "add --yes" in refused.err) == (1, True)
    assert (await signed_in("role", "delete", "reporting", "--yes")).status == 0
    assert (await client.get(f"/v1/roles/{role['uid']}")).status_code == 404


async def test_formats_of_a_list(signed_in: Cli, console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    await create_active_database(console, agents)
    table = (await signed_in("db", "list")).out.splitlines()
    assert table[0].split() == ["UID", "NAME", "STATUS", "SHARDS", "REPLICAS", "MEMORY", "PORT"]
    assert table[1].split()[:5] == ["1", "shop", "active", "3", "yes"]
    assert [each["name"] for each in json.loads((await signed_in("db", "list", "-o", "json")).out)] == ["shop"]
    assert [each["uid"] for each in yaml.safe_load((await signed_in("db", "list", "-o", "yaml")).out)] == [1]
    assert (await signed_in("db", "list", "-o", "name")).out == "shop\n"
    assert (await signed_in("db", "list", "-o", "jsonpath=$[*].shards_count")).out == "3\n"
    invalid = await signed_in("db", "list", "-o", "jsonpath=$[")
    assert (invalid.status, "is not valid" in invalid.err) == (1, True)
    assert len((await signed_in("node", "list")).out.splitlines()) == 1 + len(nodes)


async def test_exit_statuses_name_the_kind_of_failure(signed_in: Cli) -> None:
    assert (await signed_in("db", "get", "nonsense")).status == 3
    assert (await signed_in("db", "list", "-o", "nonsense")).status == 2
    assert (await signed_in("db", "update", "nonsense")).status == 1
    assert (await signed_in("role", "create", "r", "--set", "management")).status == 1
    rejected = await signed_in("role", "create", "r", "--set", "management=nonsense")
    assert (rejected.status, "management" in rejected.err) == (1, True)


async def test_database_is_created_from_options_and_a_file(signed_in: Cli, tmp_path: Path) -> None:
    file = tmp_path / "fields.yaml"
    file.write_text("memory_size: 1GiB\nreplication: true\nshards_count: 1\n")
    result = await signed_in(
        "db",
        "create",
        "orders",
        "-f",
        str(file),
        "--memory",
        "2GiB",
        "--replication",
        "false",
        "--no-wait",
        "-o",
        "json",
    )
    assert result.status == 0, result.err
    database = json.loads(result.out)
    assert (database["memory_size"], database["replication"]) == (2 * 2**30, False)
    assert database["action_uid"] in result.err


async def test_wait_ends_with_the_action(signed_in: Cli, client: httpx.AsyncClient, console: Console) -> None:
    created = (await client.post("/v1/bdbs", json={"name": "orders", "memory_size": 2**28})).json()
    action_uid = created["action_uid"]
    timed_out = await signed_in("wait", "action", action_uid, "--timeout", "0")
    assert (timed_out.status, "it continues" in timed_out.err) == (7, True)
    waiting = asyncio.create_task(signed_in("wait", "action", action_uid))
    async with console.store.begin() as session:
        action = await actions.by_uid(session, action_uid)
        assert action is not None
        action.status, action.error = ActionStatus.FAILED, "No node has enough memory."
    result = await waiting
    assert result.status == 1
    assert f"the action {action_uid} is failed: No node has enough memory." in result.err


async def test_request_of_the_rest_api_is_sent_as_it_is(signed_in: Cli) -> None:
    result = await signed_in("api", "GET", "/v1/cluster")
    assert json.loads(result.out)["name"]
    assert (await signed_in("api", "GET", "v1/cluster")).status == 1
    assert (await signed_in("api", "POST", "/v1/roles", "--set", "name=x", "--set", "management=none")).status == 0


async def test_figures_and_events_are_printed(signed_in: Cli, console: Console, agents: FakeAgents) -> None:
    await create_active_database(console, agents)
    top = await signed_in("top", "--once")
    assert top.status == 0, top.err
    assert "shop" in top.out
    events = await signed_in("logs", "-n", "5", "-o", "json")
    assert events.status == 0, events.err
    assert all(json.loads(line)["severity"] for line in events.out.splitlines())
