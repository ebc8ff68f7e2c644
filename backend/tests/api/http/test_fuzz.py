"""Tests with bodies that no real client sends: every request is answered, and a refused one changes nothing."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from backend.tests.support.app_factory import app_for
from sqlalchemy import delete, insert, select

from shardboard.console import Console
from shardboard.state.cluster import console_certificates
from shardboard.state.cluster.actions import Action
from shardboard.state.databases.bdbs import Bdb
from shardboard.store.db import Base

pytestmark = pytest.mark.usefixtures("nodes")

SEED = 16
CHECK_EVERY = 50
"""Number of refused requests between two checks of the store."""
UNCHECKED_TABLES = {"audit_lines", "audit_chain", "events", "login_failures", "transfers"}
"""Tables in which a refusal, or the failed test of a location, may be recorded."""
ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**400, 0.5, -0.0, 1e308, 5e-324),
    *(
        "",
        " ",
        "\x00",
        "a\x00b",
        "\ud800",
        "𝔘𝔫𝔦",
        "../../etc/passwd",
        "%00",
        "'; DROP TABLE bdbs; --",
        "{{7*7}}",
        "$(id)",
    ),
    *("x" * 300, "9" * 5000, "\u202e", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "NaN", "1e999"),
    *("http://[::1", "file:///etc/passwd", "2026-13-40T99:99:99Z", "127.0.0.1:99999", "\r\nSet-Cookie: a=b"),
    *([], [None], [[]], [[[[[[]]]]]], [0] * 1000, {}, {"": {}}, {"__proto__": {}}, {"$ref": "#"}, {"uid": -1}),
]
RAW = [
    b"",
    b"{",
    b"[",
    b"null",
    b"1",
    b'"a"',
    b"\xff\xfe",
    b"[" * 5000,
    b'{"a":' * 3000,
    b'{"a":1,"a":2}',
    b'{"a":NaN}',
    b"\x00",
]
PATH_VALUES = ["1", "0", "-1", "99999999999999999999", "a", "1%00", "..%2f1", "%F0%9F%94%91", "1e3", "+1"]


def resolved(schema: Any, components: dict[str, Any]) -> dict[str, Any]:
    """Return the schema that a reference, or the first of several alternatives, refers to."""
    while True:
        if "$ref" in schema:
            schema = components[schema["$ref"].rpartition("/")[2]]
        elif alternatives := schema.get("anyOf") or schema.get("allOf") or schema.get("oneOf"):
            schema = alternatives[0]
        else:
            return dict(schema)


def value(schema: Any, components: dict[str, Any], rng: random.Random, depth: int = 0) -> Any:
    """Return a random value, which sometimes matches the schema."""
    if depth > 4 or rng.random() < 0.4:
        return rng.choice(ODD)
    schema = resolved(schema, components)
    if "enum" in schema:
        return rng.choice(schema["enum"])
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {})
            names = [name for name in properties if rng.random() < 0.5] + (["surprise"] if rng.random() < 0.1 else [])
            return {name: value(properties.get(name, {}), components, rng, depth + 1) for name in names}
        case "array":
            return [value(schema.get("items", {}), components, rng, depth + 1) for _ in range(rng.randrange(4))]
        case "integer" | "number":
            return rng.choice([1, 2, 3, 100, 10**9, schema.get("minimum", 0), schema.get("maximum", 10**6)])
        case "boolean":
            return rng.random() < 0.5
        case "string":
            return rng.choice(["a", "db", "1", "127.0.0.1", "admin@example.org", "enabled", "x" * 64])
    return rng.choice(ODD)


def calls(console: Console, count: int) -> Iterator[tuple[str, str, bytes]]:
    """Yield method, path and body of `count` requests."""
    document, rng = app_for(console).openapi(), random.Random(SEED)  # the same requests in every run
    components = document["components"]["schemas"]
    known = [
        (method.upper(), path, found["requestBody"]["content"]["application/json"]["schema"])
        for path, operations in sorted(document["paths"].items())
        for method, found in sorted(operations.items())
        if "application/json" in found.get("requestBody", {}).get("content", {})
    ]
    for number in range(count):
        method, path, schema = known[number % len(known)]
        while "{" in path:
            prefix, _, remainder = path.partition("{")
            path = prefix + (rng.choice(PATH_VALUES) if rng.random() < 0.3 else "1") + remainder.partition("}")[2]
        if rng.random() < 0.1:
            yield method, path, rng.choice(RAW)
            continue
        # Python's json module also writes unpaired surrogates, and numbers that other parsers refuse.
        yield method, path, json.dumps(value(schema, components, rng)).encode("utf-8", "surrogatepass")


Rows = dict[str, list[dict[str, Any]]]


async def content(console: Console) -> Rows:
    async with console.store.read() as session:
        return {
            name: sorted((dict(row._mapping) for row in await session.execute(select(table))), key=repr)
            for name, table in Base.metadata.tables.items()
            if name not in UNCHECKED_TABLES
        }


async def restore(console: Console, rows: Rows) -> None:
    """Restore the state before an accepted request. Otherwise later requests would only be refused because an action is running."""
    tables = [table for table in Base.metadata.sorted_tables if table.name not in UNCHECKED_TABLES]
    async with console.store.begin() as session:
        for table in reversed(tables):
            await session.execute(delete(table))
        for table in tables:
            if rows[table.name]:
                await session.execute(insert(table), rows[table.name])
    async with console.store.read() as session:
        await console_certificates.follow(session, console.ca)


@pytest.mark.parametrize("count", [200, pytest.param(5_000, marks=pytest.mark.slow)])
async def test_unusual_bodies_are_answered_and_refused_ones_change_nothing(
    console: Console, client: httpx.AsyncClient, count: int
) -> None:
    assert (await client.post("/v1/bdbs", json={"name": "db", "memory_size": 2**30})).status_code == 200
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, 1)
        bdb.status, bdb.action_uid = "active", None
        await session.execute(delete(Action))
    statuses: Counter[int] = Counter()
    before, refused = await content(console), []
    for method, path, body in calls(console, count):
        reply = await client.request(method, path, content=body, headers={"Content-Type": "application/json"})
        statuses[reply.status_code] += 1
        exchange = method, path, body[:400], reply.status_code, reply.text[:400]
        assert reply.status_code < 500, exchange
        if reply.status_code < 300:
            await restore(console, before)
            refused = []
            continue
        assert reply.json()["description"], exchange
        refused.append(exchange)
        if len(refused) == CHECK_EVERY:
            assert await content(console) == before, refused
            refused = []
    assert await content(console) == before, refused
    assert statuses[400] > count / 3, statuses
    assert statuses[200] > count / 100, statuses
    assert statuses[401] < count / 40, "otherwise most requests were not examined"
