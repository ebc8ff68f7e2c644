"""Python client of the REST API of Shardboard. `rest` contains a generated function for each request."""

from shardboard_client.console import Collection, Item, Shardboard
from shardboard_client.errors import (
    ActionFailed,
    Conflict,
    ConsoleUnreachable,
    Denied,
    NotFound,
    RequestRejected,
    ShardboardError,
    WaitTimedOut,
)

__all__ = [
    "ActionFailed",
    "Collection",
    "Conflict",
    "ConsoleUnreachable",
    "Denied",
    "Item",
    "NotFound",
    "RequestRejected",
    "Shardboard",
    "ShardboardError",
    "WaitTimedOut",
]
