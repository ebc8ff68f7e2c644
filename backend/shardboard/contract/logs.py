"""Messages about logs."""

from typing import Annotated

from pydantic import Field

from shardboard.contract.base import MAX_SHARDS, Message, Reply, Uid
from shardboard.contract.shards import EngineIds


class ReadLogs(Message):
    """Selects the shards whose logs are requested, in addition to those of the agent and its proxy."""

    uids: list[int]
    engine_ids: EngineIds = Field(default={})


LogText = Annotated[str, Field(max_length=2**20)]
"""Characters of one log, several times as many as an agent sends."""


class NodeLogs(Reply):
    """The last log lines of a machine, oldest first. Empty if nothing was logged."""

    agent: LogText = ""
    proxy: LogText = ""
    shards: dict[Uid, LogText] = Field(default={}, max_length=MAX_SHARDS)
    """By uid, for the requested shards that exist."""
