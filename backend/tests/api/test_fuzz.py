"""Bodies that no client would send: each has an answer, and one that is refused has changed nothing."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from backend.tests.application import app_of
from sqlalchemy import delete, insert, select

from shardboard.console import Console
from shardboard.db import Base
from shardboard.state.actions import Action
from shardboard.state.bdbs import Bdb

pytestmark = pytest.mark.usefixtures("nodes")

SEED = 16
LOOK_EVERY = 50
"""Refused requests between two looks at the store."""
KEEP = {"audit_lines", "audit_chain", "events", "login_failures"}
"""Tables that may tell of a refusal."""
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
PLACES = ["1", "0", "-1", "99999999999999999999", "a", "1%00", "..%2f1", "%F0%9F%94%91", "1e3", "+1"]


def resolved(schema: Any, components: dict[str, Any]) -> dict[str, Any]:
    """The schema that a reference, or the first of several, stands for."""
    while True:
        if "$ref" in schema:
            schema = components[schema["$ref"].rpartition("/")[2]]
        elif several := schema.get("anyOf") or schema.get("allOf") or schema.get("oneOf"):
            schema = several[0]
        else:
            return dict(schema)


def value(schema: Any, components: dict[str, Any], dice: random.Random, depth: int = 0) -> Any:
    """Sometimes what it asks for, more often not."""
    if depth > 4 or dice.random() < 0.4:
        return dice.choice(ODD)
    schema = resolved(schema, components)
    if "enum" in schema:
        return dice.choice(schema["enum"])
    match schema.get("type"):
        case "object":
            known = schema.get("properties", {})
            chosen = [name for name in known if dice.random() < 0.5] + (["surprise"] if dice.random() < 0.1 else [])
            return {name: value(known.get(name, {}), components, dice, depth + 1) for name in chosen}
        case "array":
            return [value(schema.get("items", {}), components, dice, depth + 1) for _ in range(dice.randrange(4))]
        case "integer" | "number":
            return dice.choice([1, 2, 3, 100, 10**9, schema.get("minimum", 0), schema.get("maximum", 10**6)])
        case "boolean":
            return dice.random() < 0.5
        case "string":
            return dice.choice(["a", "db", "1", "127.0.0.1", "admin@example.org", "enabled", "x" * 64])
    return dice.choice(ODD)


def calls(console: Console, count: int) -> Iterator[tuple[str, str, bytes]]:
    """Method, path, body."""
    document, dice = app_of(console).openapi(), random.Random(SEED)  # the same ones each time
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
            before, _, rest = path.partition("{")
            path = before + (dice.choice(PLACES) if dice.random() < 0.3 else "1") + rest.partition("}")[2]
        if dice.random() < 0.1:
            yield method, path, dice.choice(RAW)
            continue
        # Python's own JSON also writes half of a surrogate pair, and numbers that no other reader takes.
        yield method, path, json.dumps(value(schema, components, dice)).encode("utf-8", "surrogatepass")


Rows = dict[str, list[dict[str, Any]]]


async def content(console: Console) -> Rows:
    async with console.store.read() as session:
        return {
            name: sorted((dict(row._mapping) for row in await session.execute(select(table))), key=repr)
            for name, table in Base.metadata.tables.items()
            if name not in KEEP
        }


async def restore(console: Console, rows: Rows) -> None:
    """Back to what it was before something was ordered: else all that follows is told that something is under way."""
    tables = [table for table in Base.metadata.sorted_tables if table.name not in KEEP]
    async with console.store.begin() as session:
        for table in reversed(tables):
            await session.execute(delete(table))
        for table in tables:
            if rows[table.name]:
                await session.execute(insert(table), rows[table.name])
    while console.authority.following is not None or console.authority.requested is not None:
        console.authority.withdraw()
    console.authority.forget()


@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=pytest.mark.slow)])
async def test_odd_bodies_are_answered_and_change_nothing_when_they_are_refused(
    console: Console, client: httpx.AsyncClient, count: int
) -> None:
    assert (await client.post("/v1/bdbs", json={"name": "db", "memory_size": 2**30})).status_code == 200
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, 1)
        bdb.status, bdb.action_uid = "active", None
        await session.execute(delete(Action))
    statuses: Counter[int] = Counter()
    before, since = await content(console), []
    for method, path, body in calls(console, count):
        reply = await client.request(method, path, content=body, headers={"Content-Type": "application/json"})
        statuses[reply.status_code] += 1
        told = method, path, body[:400], reply.status_code, reply.text[:400]
        assert reply.status_code < 500, told
        if reply.status_code < 300:
            await restore(console, before)
            since = []
            continue
        assert reply.json()["description"], told
        since.append(told)
        if len(since) == LOOK_EVERY:
            assert await content(console) == before, since
            since = []
    assert await content(console) == before, since
    assert statuses[400] > count / 3, statuses
    assert statuses[200] > count / 100, statuses
    assert statuses[401] < count / 50, "else nothing was looked at"
