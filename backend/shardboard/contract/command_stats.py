"""Messages about single commands: what the proxy of a node counted in the last minute."""

from typing import Annotated

from pydantic import Field

from shardboard.contract.base import MAX_DATABASES, Message, Reply, Text, Uid

MAX_COMMANDS = 128
"""Maximum per database: the most used commands."""
Count = Annotated[int, Field(ge=0, le=2**53)]


class ReadCommands(Message):
    """Selects the databases to report."""

    uids: list[int] = Field(max_length=4096)


class CommandCount(Reply):
    """One command of one database."""

    name: str = Field(max_length=128)
    """Lower case; `unknown` for commands that the engine does not know."""
    calls: Count
    """Replies, including errors."""
    errors: Count
    micros: Count
    """Total duration of all shard replies in microseconds, from the arrival of a request until its reply was sent."""
    latency: list[tuple[Count, Count]] = Field(max_length=2_048)
    """[highest microseconds, count] of these replies, in steps of 3%. Replies that the proxy generates itself are not included."""


class CommandCounts(Reply):
    """Counts of one proxy."""

    reason: Text = ""
    """Why there are no counts; empty if there are."""
    seconds: float = Field(default=0.0, ge=0, le=3_600)
    """Seconds counted, up to 60."""
    databases: dict[Uid, Annotated[list[CommandCount], Field(max_length=MAX_COMMANDS)]] = Field(
        default={}, max_length=MAX_DATABASES
    )
