"""What objects look like, as JSON Schema."""

from dataclasses import asdict

import httpx
import pytest

from shardboard.api.jsonschemas import OBJECTS
from shardboard.domain.policy import Policy


async def schema(client: httpx.AsyncClient, name: str) -> dict[str, dict[str, object]]:
    reply = await client.get("/v1/jsonschema", params={"object": name})
    assert reply.status_code == 200
    told = reply.json()
    assert told["type"] == "object"
    properties: dict[str, dict[str, object]] = told["properties"]
    return properties


async def test_rules_have_ranges_and_the_defaults_that_hold(client: httpx.AsyncClient) -> None:
    told = await schema(client, "policy")
    assert told["events_keep_days"] == {"type": "integer", "minimum": 0, "maximum": 36_500, "default": 90}
    assert told["drills_enabled"] == {"type": "boolean", "default": False}
    assert told["resharding_pace"] == {"type": "string", "enum": ["gentle", "fast"], "default": "gentle"}
    assert {name: each["default"] for name, each in told.items()} == asdict(Policy())
    assert told.keys() == (await client.get("/v1/cluster/policy")).json().keys()


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
async def test_objects(client: httpx.AsyncClient, name: str, field: str) -> None:
    assert field in await schema(client, name)


async def test_an_unknown_object_is_told_which_there_are(client: httpx.AsyncClient) -> None:
    reply = await client.get("/v1/jsonschema?object=x")
    assert (reply.status_code, reply.json()["field"]) == (400, "object")
    assert all(name in reply.json()["description"] for name in OBJECTS)
    assert (await client.get("/v1/jsonschema")).status_code == 400
