"""Tests of the JSON Schemas of objects."""

from dataclasses import asdict

import httpx
import pytest

from shardboard.api.cluster.json_schemas import OBJECTS
from shardboard.domain.cluster.policy import Policy


async def schema(client: httpx.AsyncClient, name: str) -> dict[str, dict[str, object]]:
    reply = await client.get("/v1/jsonschema", params={"object": name})
    assert reply.status_code == 200
    document = reply.json()
    assert document["type"] == "object"
    properties: dict[str, dict[str, object]] = document["properties"]
    return properties


async def test_policy_schema_has_ranges_and_current_defaults(client: httpx.AsyncClient) -> None:
    properties = await schema(client, "policy")
    assert properties["events_keep_days"] == {"type": "integer", "minimum": 0, "maximum": 36_500, "default": 90}
    assert properties["drills_enabled"] == {"type": "boolean", "default": False}
    assert properties["resharding_pace"] == {"type": "string", "enum": ["gentle", "fast"], "default": "gentle"}
    assert {name: each["default"] for name, each in properties.items()} == asdict(Policy())
    assert properties.keys() == (await client.get("/v1/cluster/policy")).json().keys()


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("bdb", "memory_size"),
        ("benchmark", "bdb_uid"),
        ("cluster", "logrotate_settings"),
        ("node", "accept_servers"),
        ("policy", "slave_ha"),
    ],
)
async def test_schemas_contain_the_fields(client: httpx.AsyncClient, name: str, field: str) -> None:
    assert field in await schema(client, name)


async def test_error_for_an_unknown_object_lists_known_ones(client: httpx.AsyncClient) -> None:
    reply = await client.get("/v1/jsonschema?object=x")
    assert (reply.status_code, reply.json()["field"]) == (400, "object")
    assert all(name in reply.json()["description"] for name in OBJECTS)
    assert (await client.get("/v1/jsonschema")).status_code == 400
