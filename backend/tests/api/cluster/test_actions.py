"""Tests of actions over HTTP: v1 uses strings, v2 uses proper types."""

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from shardboard.console import Console
from shardboard.schemas.cluster.actions import Action as ActionShape
from shardboard.schemas.cluster.actions import Actions
from shardboard.state.cluster.actions import Action

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


@pytest.fixture
async def uid(client: httpx.AsyncClient) -> str:
    reply = await client.post("/v1/bdbs", json={"name": "db", "memory_size": 2**30})
    body: dict[str, Any] = reply.json()
    return str(body["action_uid"])


async def test_v1_returns_strings(client: httpx.AsyncClient, uid: str) -> None:
    body = (await client.get("/v1/actions")).json()
    Actions.model_validate(body, strict=True)
    assert set(body) == {"actions", "state-machines"}
    (machine,) = body["state-machines"]
    assert (machine["name"], machine["object_name"], machine["status"]) == ("SMCreateBDB", "bdb:1", "pending")
    assert isinstance(machine["heartbeat"], int)
    assert machine["progress"] == "0"
    assert machine["creation_time"].isdigit()
    assert (await client.get("/v1/actions/bdb/1")).json().keys() == body.keys()
    assert (await client.get(f"/v1/actions/{uid}")).json()["action_uid"] == uid


async def test_v2_returns_typed_values(client: httpx.AsyncClient, console: Console, uid: str) -> None:
    async with console.store.begin() as session:
        action = await session.get_one(Action, uid)
        action.status, action.progress, action.error = "failed", 40.0, "Node 1 did not answer."
        action.steps = [{"name": "Start the shards", "status": "failed"}]
        action.finished_at = datetime.now(UTC)
    (body,) = (await client.get("/v2/actions")).json()
    ActionShape.model_validate(body, strict=True)
    assert (body["action_type"], body["status"], body["progress"]) == ("state-machine", "failed", 40.0)
    assert isinstance(body["creation_time"], int)
    info = body["additional_info"]
    assert (info["object_type"], info["object_uid"], info["error"]) == ("bdb", 1, "Node 1 did not answer.")
    assert info["steps"] == [{"name": "Start the shards", "status": "failed"}]
    assert (await client.get(f"/v2/actions/{uid}")).json() == body
    assert (await client.get(f"/v1/actions/{uid}")).json()["error"] == "Node 1 did not answer."


@pytest.mark.parametrize("path", ["/v1/actions/nope", "/v2/actions/nope", "/v2/actions/%00", "/v1/actions/bdb/9"])
async def test_unknown_actions_are_not_found(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(path)).status_code == 404
