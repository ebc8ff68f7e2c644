"""Messages about logs."""

from pydantic import Field

from shardboard.contract.base import Message, Reply
from shardboard.contract.shards import EngineIds


class ReadLogs(Message):
    """Selects the shards whose logs are requested, in addition to those of the agent and its proxy."""

    uids: list[int]
    engine_ids: EngineIds = Field(default={})


class NodeLogs(Reply):
    """The last log lines of a machine, oldest first. Empty if nothing was logged."""

    agent: str = ""
    proxy: str = ""
    shards: dict[int, str] = Field(default={})
    """By uid, for the requested shards that exist."""
