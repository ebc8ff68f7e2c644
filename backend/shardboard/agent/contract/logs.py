"""Messages about what was logged."""

from pydantic import Field

from shardboard.agent.contract.base import Message, Reply
from shardboard.agent.contract.shards import EngineIds


class LogsOf(Message):
    """Of which shards the logs are wanted, besides those of the agent and its proxy."""

    uids: list[int]
    engine_ids: EngineIds = Field(default={})


class NodeLogs(Reply):
    """The ends of the logs of a machine, oldest line first. Empty: nothing was logged."""

    agent: str = ""
    proxy: str = ""
    shards: dict[int, str] = Field(default={})
    """By uid, of those that were wanted and are there."""
