"""Tests that fields of a body without effect are reported or refused, on all routes with a body."""

import json
from typing import Any, Literal, get_args, get_origin

import httpx
import pytest
from backend.tests.api.http.test_query_check import BODIES, CHANGES, ROUTES, contents
from pydantic import BaseModel, RootModel

from shardboard.api.http.body_check import STRICT
from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.schemas.cluster.feature_settings import SettingsChange
from shardboard.state.cluster.nodes import Node

BOGUS = "bogus_field"
WITH_BODY = [
    (method, route.path, route.dependant.body_params[0].field_info.annotation)
    for route in ROUTES
    if route.body_field is not None
    for method in sorted(route.methods)
]


def with_bogus_fields(annotation: Any, path: str = "") -> tuple[Any, list[str]]:
    """Return a body with an unknown field in each object, and the paths of these fields."""
    if get_origin(annotation) is Literal:  # selects one of several models
        return get_args(annotation)[0], []
    for member in [annotation, *get_args(annotation)]:
        if isinstance(member, type) and issubclass(member, RootModel):
            return with_bogus_fields(member.model_fields["root"].annotation, path)
        if isinstance(member, type) and issubclass(member, BaseModel):
            body: dict[str, Any] = {BOGUS: 1}
            paths = [f"{path}{BOGUS}"]
            for name, field in member.model_fields.items():
                body[name], inner = with_bogus_fields(field.annotation, f"{path}{name}.")
                paths += inner
            return body, paths
        if get_origin(member) is list and (inner := with_bogus_fields(get_args(member)[0], f"{path}0."))[1]:
            return [inner[0]], inner[1]
        if get_origin(member) is dict and (inner := with_bogus_fields(get_args(member)[1], f"{path}key."))[1]:
            return {"key": inner[0]}, inner[1]
    return None, []


async def test_unknown_fields_of_any_route_are_reported_and_refused(
    console: Console, client: httpx.AsyncClient
) -> None:
    for method, path, annotation in WITH_BODY:
        if annotation is SettingsChange:
            continue  # its unknown settings are always refused
        body, unknown = with_bogus_fields(annotation)
        assert unknown
        address = path.replace("{uid}", "1").replace("{action}", "flush")
        reply = await client.request(method, address, json=body)
        warnings = reply.json().get("warnings", [])
        reported = [each["field"] for each in warnings if each["message"].startswith("unknown field")]
        assert sorted(reported) == sorted(unknown), (method, path)
        refused = await client.request(method, f"{address}?strict", json=body)
        assert refused.status_code == 400
        assert refused.json()["field"] in unknown
        assert refused.json()["warnings"] == reply.json()["warnings"]


def test_every_route_with_a_body_has_the_parameter_strict() -> None:
    assert len(WITH_BODY) > 50
    strict = {
        (method, route.path)
        for route in ROUTES
        for method in route.methods
        if any(param.alias == STRICT for each in route.dependant.dependencies for param in each.query_params)
    }
    assert strict == {(method, path) for method, path, _ in WITH_BODY}
    assert strict <= set(CHANGES)


@pytest.mark.parametrize("dry_run", ["", "?dry_run"])
async def test_a_misspelled_field_is_reported_with_the_nearest_field(
    client: httpx.AsyncClient, nodes: list[Node], dry_run: str
) -> None:
    body = {
        "name": "carts",
        "memory_size": 10**8,
        "replicaton": True,
        "tags": [{"key": "a", "value": "b", "vlaue": ""}],
    }
    reply = await client.post(f"/v1/bdbs{dry_run}", json=body)
    assert reply.status_code == 200
    assert reply.json()["name"] == "carts"
    assert reply.json()["warnings"] == [
        {"field": "replicaton", "message": 'unknown field "replicaton"; did you mean "replication"?'},
        {"field": "tags.0.vlaue", "message": 'unknown field "vlaue"; did you mean "value"?'},
    ]


async def test_strict_requests_with_unknown_fields_change_nothing(
    console: Console, client: httpx.AsyncClient, nodes: list[Node]
) -> None:
    before = await contents(console)
    body = {**BODIES["POST", "/v1/bdbs"], "replicaton": True}
    for flag in ("strict", "strict=true", "strict=1"):
        reply = await client.post(f"/v1/bdbs?{flag}", json=body)
        assert reply.status_code == 400
        assert reply.json() == {
            "error_code": "bad_request",
            "description": 'Unknown field "replicaton"; did you mean "replication"?',
            "message": 'Unknown field "replicaton"; did you mean "replication"?',
            "field": "replicaton",
            "warnings": [{"field": "replicaton", "message": 'unknown field "replicaton"; did you mean "replication"?'}],
        }
    assert await contents(console) == before
    assert (await client.post("/v1/bdbs?strict=maybe", json=body)).json()["field"] == "strict"
    assert (await client.post("/v1/bdbs?strict=false", json=body)).status_code == 200


async def test_correct_bodies_have_no_warnings_and_pass_in_strict_mode(
    client: httpx.AsyncClient, nodes: list[Node]
) -> None:
    for (method, path), body in BODIES.items():
        if "{uid}" not in path:
            reply = await client.request(method, f"{path}?strict", json=body)
            assert reply.status_code == 200, reply.text
            assert "warnings" not in reply.json()


@pytest.mark.parametrize(
    "path", ["/v1/bdbs/1", "/v1/nodes/1", "/v1/cluster", "/v1/cluster/policy", "/v1/users/1", "/v1/proxies/1"]
)
async def test_an_object_that_is_sent_back_has_no_warnings(
    client: httpx.AsyncClient, agents: FakeAgents, nodes: list[Node], path: str
) -> None:
    await client.post("/v1/bdbs", json={"name": "carts", "memory_size": 10**8})
    received = (await client.get(path)).json()
    reply = await client.put(f"{path}?strict", json=received)
    assert "warnings" not in reply.json(), reply.text


async def test_fields_of_the_reference_without_effect_are_reported_but_not_refused(
    client: httpx.AsyncClient, nodes: list[Node]
) -> None:
    body = {"name": "carts", "memory_size": 10**8, "mkms": False, "resp3": True}
    reply = await client.post("/v1/bdbs?strict", json=body)
    assert reply.status_code == 200
    assert reply.json()["warnings"] == [{"field": "mkms", "message": 'field "mkms" is accepted without effect'}]


async def test_replies_that_are_lists_have_warning_headers(client: httpx.AsyncClient, nodes: list[Node]) -> None:
    reply = await client.put("/v1/proxies", json={"proxy": {"threads": 2}, "threds": 3})
    assert isinstance(reply.json(), list)
    assert reply.headers["warning"] == '299 - "unknown field \\"threds\\"; did you mean \\"threads\\"?"'


@pytest.mark.parametrize("query", ["", "?strict"])
async def test_credentials_are_checked_before_fields(browser: httpx.AsyncClient, query: str) -> None:
    reply = await browser.post(f"/v1/bdbs{query}", json={BOGUS: 1})
    assert reply.status_code == 401
    assert "warnings" not in reply.json()


async def test_errors_for_other_reasons_have_the_warnings(client: httpx.AsyncClient, nodes: list[Node]) -> None:
    reply = await client.post("/v1/bdbs", json={"name": "carts", "memory_siz": 10**8})
    assert (reply.status_code, reply.json()["error_code"]) == (406, "missing_memory_size")
    assert reply.json()["warnings"][0]["message"] == 'unknown field "memory_siz"; did you mean "memory_size"?'


async def test_models_that_refuse_unknown_fields_suggest_the_nearest_field(client: httpx.AsyncClient) -> None:
    reply = await client.post("/v1/webhooks", json={"name": "chat", "url": "https://chat.example.org", "sekret": "x"})
    assert (reply.status_code, reply.json()["field"]) == (400, "sekret")
    assert reply.json()["description"] == 'Unknown field "sekret"; did you mean "secret"?'


@pytest.mark.parametrize("name", ["\ud800", "\0", "a\nb", "x" * 100_000])
async def test_unusual_names_are_reported(client: httpx.AsyncClient, name: str) -> None:
    body = json.dumps({"name": "team", "management": "none", name: 1})
    for address in ("/v1/roles", "/v1/roles?strict"):
        reply = await client.post(address, content=body, headers={"Content-Type": "application/json"})
        assert reply.status_code in (200, 400)
        assert len(reply.json()["warnings"][0]["message"]) < 100
