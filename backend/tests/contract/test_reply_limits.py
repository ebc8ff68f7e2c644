"""Limits of replies: whatever an agent sends, a valid message is small."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import TypeAdapter

from shardboard.api.cluster.join import JoinRequest
from shardboard.contract import NODE_FIELDS, SHARD_FIELDS, Sample, max_line_bytes
from shardboard.driver import replies


def unlimited(schema: Any, definitions: dict[str, Any], path: str) -> Iterator[str]:
    """Yield the paths of values without a limit."""
    if reference := schema.get("$ref"):
        yield from unlimited(definitions[reference.rpartition("/")[2]], definitions, path)
    for option in schema.get("anyOf", ()):
        yield from unlimited(option, definitions, path)
    limits = {
        "string": ("maxLength", "pattern", "enum", "const", "format"),
        "integer": ("maximum",),
        "number": ("maximum",),
        "array": ("maxItems",),
        "object": ("properties", "maxProperties"),
    }
    kind = schema.get("type")
    if kind in limits and not any(name in schema for name in limits[kind]):
        yield f"{path}: {kind}"
    for name, each in schema.get("properties", {}).items():
        yield from unlimited(each, definitions, f"{path}.{name}")
    for each in (*schema.get("prefixItems", ()), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(each, dict):
            yield from unlimited(each, definitions, f"{path}[]")


@pytest.mark.parametrize(
    "type_", [*(shape.type for shape in replies.ALL), JoinRequest], ids=lambda type_: str(type_).rpartition(".")[2]
)
def test_each_value_of_a_reply_has_a_limit(type_: Any) -> None:
    schema = TypeAdapter(type_).json_schema()
    assert list(unlimited(schema, schema.get("$defs", {}), "reply")) == []


def test_all_replies_of_the_driver_are_checked() -> None:
    shapes = [value for value in vars(replies).values() if isinstance(value, replies.ReplyShape)]
    assert len(shapes) == len(replies.ALL)
    assert all(shape in replies.ALL for shape in shapes)


@pytest.mark.parametrize("shards", [0, 1, 20, 512])
def test_a_sample_with_long_values_is_shorter_than_the_limit(shards: int) -> None:
    row: list[float | None] = [-12345678901.12345] * len(SHARD_FIELDS)
    reason = "x" * 500
    uids = range(10**8, 10**8 + shards)
    sample = Sample(
        seq=10**9,
        boot="ab" * 16,
        t=1_700_000_000,
        at=1_700_000_000.123456,
        node=[1234567890123.5] * len(NODE_FIELDS),
        shards=dict.fromkeys(uids, row),
        tiers=dict.fromkeys(uids, row),
        missing=dict.fromkeys(uids, reason),
        died=dict.fromkeys(uids, reason),
        pings={uid: [2**31 - 1] * 100 for uid in uids},
    )
    assert len(sample.model_dump_json()) < max_line_bytes(shards, 0)
