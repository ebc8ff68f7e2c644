"""Tests that requests which the published schema allows get replies that the schema describes."""

import asyncio
import json
import typing
from collections import abc
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from backend.tests.support.app_factory import app_for
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from shardboard.console import Console
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
TAGS = {"databases", "nodes", "shards", "cluster", "actions", "log"}

load_all_checks()


def operations(console: Console) -> list[Any]:
    schema = schemathesis.openapi.from_dict(app_for(console).openapi())
    all_operations = [result.ok() for result in schema.get_all_operations()]
    return [operation for operation in all_operations if TAGS & set(operation.tags or ())]


@pytest.mark.parametrize("examples", [1, pytest.param(25, marks=pytest.mark.slow)])
async def test_replies_match_the_schema(
    console: Console, client: httpx.AsyncClient, nodes: list[Node], examples: int
) -> None:
    loop = asyncio.get_running_loop()

    async def send(case: Any) -> httpx.Response:
        uid = (case.path_parameters or {}).get("uid")
        if isinstance(uid, int) and uid % 2:
            case.path_parameters["uid"] = 1
        request = case.as_transport_kwargs(base_url="https://console")
        # A request with `fields` returns incomplete objects by design, and no action ends in this test.
        request["params"] = {
            name: value for name, value in (request.get("params") or {}).items() if name not in ("fields", "wait")
        }
        arguments = {
            name: value for name, value in request.items() if name in ("method", "url", "params", "json", "headers")
        }
        return await client.request(**arguments, content=request.get("data"))

    def exercise(operation: Any) -> None:
        @settings(
            max_examples=examples,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def check(case: Any) -> None:
            response = asyncio.run_coroutine_threadsafe(send(case), loop).result(timeout=60)
            case.validate_response(response, checks=CHECKS)

        check()

    body = {"name": "db", "memory_size": 2**30, "replication": True}
    assert (await client.post("/v1/bdbs", json=body)).status_code == 200
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, 1)
        bdb.status, bdb.action_uid = "active", None
    exercised = sorted(operations(console), key=lambda operation: operation.method == "delete")
    assert len(exercised) >= 25
    for operation in exercised:
        await asyncio.to_thread(exercise, operation)


async def test_types_used_by_the_web_ui_are_complete(console: Console) -> None:
    components = app_for(console).openapi()["components"]["schemas"]
    bdb = components["Bdb"]
    assert {"uid", "status", "endpoints", "shards_in_sync", "memory_size"} <= set(bdb["required"])
    assert "action_uid" not in bdb["required"]
    assert bdb["properties"]["action_uid"]["type"] == "string"
    assert bdb["properties"]["status"]["enum"][0] == "pending"
    assert set(components["BdbCreate"]["required"]) == {"name", "memory_size"}
    assert components["Shard"]["properties"]["uid"]["type"] == "string"


def test_names_of_schemas_are_unique_in_generated_clients() -> None:
    """Generators name a nested enum after its schema and field, and import names of `typing` next to the schemas."""
    schemas = json.loads((Path(__file__).parents[4] / "docs/openapi.json").read_text())["components"]["schemas"]
    nested = {
        schema + "".join(part.capitalize() for part in field.split("_"))
        for schema, content in schemas.items()
        for field, description in content.get("properties", {}).items()
        if "enum" in json.dumps(description)
    }
    assert not nested & set(schemas)
    assert not {*typing.__all__, *abc.__all__} & set(schemas)
