"""Tests that the OpenAPI document suits generators of clients, and that each example is a valid request."""

from typing import Any

import httpx
import pytest
from backend.tests.api.http.test_query_check import ROUTES
from backend.tests.support import active_database
from backend.tests.support.app_factory import app_for
from openapi_spec_validator import OpenAPIV31SpecValidator

from shardboard.api.http.dependants import flatten
from shardboard.api.http.openapi.document import path_examples
from shardboard.api.http.openapi.request_examples import BODIES, PATH_EXAMPLES_OF, QUERY_EXAMPLES
from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
SKIPPED = {"/v1/stream", "/v1/session", "/v1/cluster/debuginfo", "/v1/bdbs/{uid}/uploads/{upload_uid}/content"}
"""Endless or large responses, content that is not JSON, and the end of the session."""
OTHERS = {
    "DELETE /v1/cluster/certificates/{name}": 403,
    "DELETE /v1/users/second_factor": 400,
    "DELETE /v1/users/{uid}/second_factor": 403,
    "GET /v1/bdbs/{uid}/availability": 503,
    "GET /v1/local/bdbs/{uid}/endpoint/availability": 503,
    "GET /v1/session/sso/callback": 303,
    "GET /v1/session/sso/start": 303,
    "PATCH /v1/cluster/change_password_hashing_algorithm": 400,
    "POST /v1/bootstrap/join": 400,
    "POST /v1/bootstrap/join_conflict": 401,
    "POST /v1/cluster/authority/announce": 400,
    "POST /v1/cluster/certificates/rotate": 403,
    "POST /v1/device_logins/confirm": 403,
    "POST /v1/device_logins/find": 403,
    "POST /v1/nodes/{uid}/actions/drill": 403,
    "POST /v1/session/continue": 403,
    "POST /v1/session/second_factor": 401,
    "POST /v1/users/authorize": 401,
    "POST /v1/users/refresh_jwt": 401,
    "PUT /v1/cluster/certificates": 400,
    "PUT /v1/cluster/update_cert": 400,
    "PUT /v1/users/second_factor": 400,
}
"""Statuses of examples that need real credentials, codes, or certificates, or that the policy forbids."""
STATES = (404, 406, 409)
"""Statuses of valid examples whose objects do not exist, or have another state."""


def document(console: Console) -> dict[str, Any]:
    return app_for(console).openapi()


def test_the_document_is_valid(console: Console) -> None:
    assert [str(error.message)[:200] for error in OpenAPIV31SpecValidator(document(console)).iter_errors()] == []


def test_names_of_types_are_unique(console: Console) -> None:
    components = document(console)["components"]["schemas"]
    assert not [name for name in components if "__" in name or name.endswith(("-Input", "-Output"))]
    assert len({name.casefold() for name in components}) == len(components)
    assert "'title':" not in str(document(console)["components"]["schemas"]).replace("'title': {", "")


def test_servers_and_credentials_are_described(console: Console) -> None:
    described = document(console)
    assert described["servers"]
    assert described["components"]["securitySchemes"].keys() == {"basic", "token", "session"}
    paths = described["paths"]
    assert paths["/v1/bootstrap"]["get"]["security"] == []
    assert "security" not in paths["/v1/bdbs"]["get"]


def test_every_operation_has_an_example(console: Console) -> None:
    paths, used = document(console)["paths"], set()
    for path, operations in paths.items():
        for method, operation in operations.items():
            for parameter in operation.get("parameters", ()):
                assert parameter["in"] != "path" or "example" in parameter, path
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if content is not None:
                assert "example" in content, (method, path)
                used.add(f"{method.upper()} {path}")
    assert used == BODIES.keys()
    assert PATH_EXAMPLES_OF.keys() <= paths.keys()


@pytest.mark.slow
@pytest.mark.usefixtures("nodes")
async def test_every_example_is_a_valid_request(
    console: Console, client: httpx.AsyncClient, agents: FakeAgents
) -> None:
    """Each example is sent with `?strict`, to the routes that only read first."""
    await active_database.create_sparse_database(console, agents)
    statuses: dict[str, int] = {}
    operations = [
        (method, route.path, route) for route in ROUTES if route.include_in_schema for method in route.methods
    ]
    for method, path, route in sorted(operations, key=lambda each: METHODS.index(each[0])):
        if path in SKIPPED:
            continue
        body = BODIES.get(f"{method} {path}")
        params = {**QUERY_EXAMPLES.get(path, {}), **({"strict": "true"} if body is not None else {})}
        if any(param.alias == "dry_run" for each in flatten(route.dependant) for param in each.query_params):
            params["dry_run"] = "true"
        reply = await client.request(method, path.format(**path_examples(path)), json=body, params=params)
        statuses[f"{method} {path}"] = reply.status_code
    invalid = {name: status for name, status in statuses.items() if status not in (200, *STATES, OTHERS.get(name))}
    assert not invalid, "\n".join(f"{name}: {status}" for name, status in invalid.items())
    assert sum(status == 200 for status in statuses.values()) > 150
