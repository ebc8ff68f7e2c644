"""Models of the most used commands of a database."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from shardboard.domain.metrics import command_stats as commands
from shardboard.domain.metrics.command_stats import CommandStats, ProxyCommandCounts
from shardboard.schemas.optional_fields import without_default, without_none

OptionalFloat = Annotated[float | SkipJsonSchema[None], Field(default=None, json_schema_extra=without_default)]


class CommandRow(BaseModel):
    name: str = Field(description="Name in lowercase; `unknown`: all commands that the engine does not support.")
    calls_per_second: float = Field(description="Replies to clients, including errors.")
    errors_per_second: float = Field(description="Error replies of shards and of the endpoint.")
    avg_latency: OptionalFloat = Field(
        description="Milliseconds from the arrival of a request until its reply is sent; missing if no shard replied."
    )
    p50_latency: OptionalFloat = Field(description="Milliseconds, at most 3% too high; missing if no shard replied.")
    p99_latency: OptionalFloat = Field(description="Milliseconds, at most 3% too high; missing if no shard replied.")


class CommandNode(BaseModel):
    """A node with an endpoint of the database."""

    node_uid: str
    detail: str = Field(description="Reason why its proxy returned no data; otherwise empty.")


class EndpointCommands(BaseModel):
    bdb_uid: int
    interval: OptionalFloat = Field(
        description="Duration in seconds that the rates cover, up to 60; missing if no proxy returned data."
    )
    commands: list[CommandRow] = Field(description="Most used commands, those with the highest rate first.")
    nodes: list[CommandNode]
    detail: str = Field(description="Message if some proxies returned no data; otherwise empty.")


def render(bdb_uid: int, counts: Sequence[ProxyCommandCounts]) -> dict[str, Any]:
    """Render the commands, summed over all proxies of a database."""
    seconds = commands.interval(counts)
    return {
        "bdb_uid": bdb_uid,
        "commands": [_row(each) for each in commands.most_used(counts)],
        "nodes": [{"node_uid": str(each.node_uid), "detail": each.reason} for each in counts],
        "detail": _missing_data(counts),
        **without_none(interval=None if seconds is None else round(seconds, 3)),
    }


def _row(command: CommandStats) -> dict[str, Any]:
    return {
        "name": command.name,
        "calls_per_second": round(command.calls, 3),
        "errors_per_second": round(command.errors, 3),
        **without_none(
            avg_latency=_millis(command.avg), p50_latency=_millis(command.p50), p99_latency=_millis(command.p99)
        ),
    }


def _millis(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _missing_data(counts: Sequence[ProxyCommandCounts]) -> str:
    """Return a message about proxies that returned no data, with the first reason; empty if all did."""
    if not counts:
        return "The database has no endpoint."
    missing = [each for each in counts if each.reason]
    if not missing:
        return ""
    summary = f"{len(counts) - len(missing)} of {len(counts)} proxies return data"
    if len(missing) == len(counts):
        summary = f"None of the {len(counts)} proxies returns data"
    return f"{summary} about commands. Node {missing[0].node_uid}: {missing[0].reason}."
