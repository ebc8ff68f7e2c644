"""Closes connections to shards whose clients send nothing, before they use up `maxclients`.

The engine has no time limit for TLS handshakes and logins, and all of its users share `maxclients`. Clients without a certificate
cannot complete the handshake, so none of their commands is processed. Proxies, agents and replicas send a command at once. The
agent's own connection stays open, so it can act even if the shard accepts no others.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from shardboard.agent.databases.engine_client import EngineError, packed
from shardboard.agent.databases.shard import PROXY_NAME, LocalShard
from shardboard.contract import SHARD_FIELDS

log = logging.getLogger(__name__)

RULES = ((0.25, "1"), (0.1, "5"))
"""Seconds after which such connections are closed, by the share of connections in use. With fewer in use, none are closed."""
CLIENTS, LIMIT = SHARD_FIELDS.index("clients"), SHARD_FIELDS.index("connection_limit")


def rule(clients: float | None, limit: float | None) -> str | None:
    """Return the seconds after which connections are closed; None if the shard has enough free connections."""
    if clients is None or not limit:
        return None
    return next((seconds for share, seconds in RULES if clients >= share * limit), None)


def silent_clients(text: str) -> list[str]:
    """Return the ids of the clients in a reply to CLIENT LIST whose commands the engine has never processed."""
    return [line.removeprefix("id=").partition(" ")[0] for line in text.splitlines() if " cmd=NULL " in line]


class ConnectionGuard:
    """Checks the readings of each second."""

    def __init__(self) -> None:
        self._unsupported: set[str] = set()
        """Run ids of engines that do not support the filters."""

    def check(self, shard: LocalShard, row: Sequence[float | None]) -> None:
        """Close connections to a shard that has few left. `row` contains the values of the last second."""
        seconds = rule(row[CLIENTS], row[LIMIT])
        if seconds is None or shard.record.run_id in self._unsupported:
            return
        # Nothing waits for the replies: a shard that hangs must not delay the samples of others.
        filters = ("TYPE", "normal", "USER", "default", "NOT-NAME", PROXY_NAME, "IDLE", seconds)
        _send(shard, ("CLIENT", "LIST", *filters), partial(self._on_list, shard))

    def _on_list(self, shard: LocalShard, reply: Any) -> None:
        if isinstance(reply, EngineError):
            self._on_error(shard, reply)
        elif ids := silent_clients(reply):
            _send(shard, ("CLIENT", "KILL", "ID", *ids), partial(self._on_kill, shard))

    def _on_kill(self, shard: LocalShard, reply: Any) -> None:
        if isinstance(reply, EngineError):
            self._on_error(shard, reply)
        elif reply:
            uid = shard.record.spec.uid
            log.warning("shard %s: closed %s unauthenticated connections, because few were left", uid, reply)

    def _on_error(self, shard: LocalShard, error: EngineError) -> None:
        if str(error).startswith("ERR"):
            self._unsupported.add(shard.record.run_id)
        log.warning("shard %s: unauthenticated connections cannot be closed: %s", shard.record.spec.uid, error)


def _send(shard: LocalShard, argv: tuple[str, ...], on_reply: Callable[[Any], None]) -> None:
    if shard.connection is not None:
        shard.connection.send_packed(packed(*argv), "client", on_reply)
