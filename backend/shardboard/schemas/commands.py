"""The most used commands of a database, on the wire."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from shardboard.domain import commands
from shardboard.domain.commands import Command, Told
from shardboard.schemas.absent import present, without_default

OptionalFloat = Annotated[float | SkipJsonSchema[None], Field(default=None, json_schema_extra=without_default)]


class CommandRow(BaseModel):
    name: str = Field(description="Lower case; `unknown`: all that the engine does not know.")
    calls_per_second: float = Field(description="Replies to clients, errors included.")
    errors_per_second: float = Field(description="Replies that were errors, of a shard's making or of the endpoint's.")
    avg_latency: OptionalFloat = Field(
        description="Milliseconds from a request's arrival until its reply left; absent where no shard answered."
    )
    p50_latency: OptionalFloat = Field(description="Milliseconds, at most 3 % too high; absent as the average is.")
    p99_latency: OptionalFloat = Field(description="Milliseconds, at most 3 % too high; absent as the average is.")


class CommandNode(BaseModel):
    """A node with an endpoint of the database."""

    node_uid: str
    detail: str = Field(description="Why its proxy told nothing; else empty.")


class EndpointCommands(BaseModel):
    bdb_uid: int
    interval: OptionalFloat = Field(
        description="Seconds that the figures are of, up to 60; absent where no proxy told."
    )
    commands: list[CommandRow] = Field(description="The most used ones, the highest rate first.")
    nodes: list[CommandNode]
    detail: str = Field(description="One sentence when not all proxies told; else empty.")


def render(bdb_uid: int, told: Sequence[Told]) -> dict[str, Any]:
    """All proxies of a database together."""
    seconds = commands.interval(told)
    return {
        "bdb_uid": bdb_uid,
        "commands": [_row(each) for each in commands.most_used(told)],
        "nodes": [{"node_uid": str(each.node_uid), "detail": each.reason} for each in told],
        "detail": _silence(told),
        **present(interval=None if seconds is None else round(seconds, 3)),
    }


def _row(command: Command) -> dict[str, Any]:
    return {
        "name": command.name,
        "calls_per_second": round(command.calls, 3),
        "errors_per_second": round(command.errors, 3),
        **present(avg_latency=_millis(command.avg), p50_latency=_millis(command.p50), p99_latency=_millis(command.p99)),
    }


def _millis(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _silence(told: Sequence[Told]) -> str:
    """Who did not tell, and the first reason."""
    if not told:
        return "The database has no endpoint."
    silent = [each for each in told if each.reason]
    if not silent:
        return ""
    who = f"{len(told) - len(silent)} of {len(told)} proxies tell"
    if len(silent) == len(told):
        who = f"None of its {len(told)} proxies tells"
    return f"{who} what clients ask for. Node {silent[0].node_uid}: {silent[0].reason}."
