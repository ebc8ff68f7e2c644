"""Messages about single commands: what the proxy of a node counted of them in the last minute."""

from typing import Annotated

from pydantic import Field

from shardboard.agent.contract.base import Message, Reply

MOST_COMMANDS = 128
"""Of one database; the most used ones."""
Count = Annotated[int, Field(ge=0, le=2**53)]


class ReadCommands(Message):
    """Which databases to tell of."""

    uids: list[int] = Field(max_length=4096)


class CommandCount(Reply):
    """One command of one database."""

    name: str = Field(max_length=128)
    """Lower case; `unknown`: what the engine does not know."""
    calls: Count
    """Replies, errors included."""
    errors: Count
    micros: Count
    """That all replies of shards took together, from a request's arrival until its reply left."""
    latency: list[tuple[Count, Count]]
    """[highest microseconds, count] of these replies, in steps of 3 %; what the proxy answers by itself is not among them."""


class CommandCounts(Reply):
    """What one proxy counted."""

    reason: str = ""
    """Why it told nothing; empty when it did."""
    seconds: float = Field(default=0.0, ge=0)
    """How long was counted, up to 60."""
    databases: dict[int, Annotated[list[CommandCount], Field(max_length=MOST_COMMANDS)]] = Field(default={})
