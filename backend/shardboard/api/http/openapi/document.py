"""The OpenAPI document: FastAPI's description of the routes, completed for generators of clients and for readers."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from shardboard.api.http.credentials import COOKIE
from shardboard.api.http.openapi.request_examples import BODIES, PATH_EXAMPLES, PATH_EXAMPLES_OF, QUERY_EXAMPLES
from shardboard.api.http.query_check import needs_login

SECURITY_SCHEMES = {
    "basic": {"type": "http", "scheme": "basic", "description": "Username and password of a user."},
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "Token of `POST /v1/users/authorize`, or a service token (`sbt_…`).",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": "Session of the web UI. Requests that change something also need the header X-Requested-With: shardboard.",
    },
}
SERVERS = [
    {"url": "/", "description": "The console that serves this document"},
    {
        "url": "https://{host}:{port}",
        "description": "Any console",
        "variables": {"host": {"default": "localhost"}, "port": {"default": "9443"}},
    },
]


def install_openapi(app: FastAPI, routes: Iterable[BaseRoute]) -> None:
    """Make the application serve the completed document of these routes. It is created at the first request."""
    generate: Callable[[], dict[str, Any]] = app.openapi

    @cache
    def openapi() -> dict[str, Any]:
        document = generate()
        _complete(document, [route for route in routes if isinstance(route, APIRoute)])
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def path_examples(path: str) -> dict[str, Any]:
    """Return the examples of the parameters of a path, and of others."""
    return {**PATH_EXAMPLES, **PATH_EXAMPLES_OF.get(path, {})}


def _complete(document: dict[str, Any], routes: Iterable[APIRoute]) -> None:
    document["servers"] = SERVERS
    document["components"]["securitySchemes"] = SECURITY_SCHEMES
    document["security"] = [{name: []} for name in SECURITY_SCHEMES]
    for route in routes:
        for method in route.methods or ():
            operation = document["paths"].get(route.path, {}).get(method.lower())
            if operation is not None:
                _complete_operation(operation, method, route)
    for path in document["paths"].values():
        _remove_titles(path)
    for schema in document["components"]["schemas"].values():
        _remove_titles(schema)


def _complete_operation(operation: dict[str, Any], method: str, route: APIRoute) -> None:
    if not needs_login(route):
        operation["security"] = []
    examples = path_examples(route.path)
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path":
            parameter["example"] = examples[parameter["name"]]
        elif parameter["in"] == "query" and parameter["required"]:
            parameter["example"] = QUERY_EXAMPLES[route.path][parameter["name"]]
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is not None:
        content["example"] = BODIES[f"{method} {route.path}"]


def _remove_titles(node: Any) -> None:
    """Remove the titles that are derived from names of fields: generators take them for names of types, which then collide."""
    if isinstance(node, list):
        for each in node:
            _remove_titles(each)
    elif isinstance(node, dict):
        if isinstance(node.get("title"), str):
            del node["title"]
        for name, each in node.items():
            if name not in ("example", "examples", "default", "enum", "const"):
                _remove_titles(each)
