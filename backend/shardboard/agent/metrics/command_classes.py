"""Classification of commands as read, write or other, by the command flags of the engine.

The classes are those of the Redis Enterprise REST API (4.2): read = keyed and not mutating, write = mutating, other = all others.
Commands of replication, slot migration and the proxies' canary writes are `internal` and not counted as traffic.
"""

import asyncio
from collections.abc import Mapping

from shardboard.agent.databases.engine_client import Connection
from shardboard.contract import canary

INTERNAL = frozenset({"replconf", "psync", "sync", "restore-asking", "tier.tick", canary.COMMAND})


class CommandClasses:
    """Command tables by engine process, each read once. Modules can add commands, so tables of two processes can differ."""

    def __init__(self) -> None:
        self._tables: dict[str, dict[str, str]] = {}
        self._reading = asyncio.Lock()
        self._known: dict[tuple[str, ...], dict[str, str]] = {}

    def cached(self, run_id: str) -> Mapping[str, str] | None:
        """Return the table of this process if it has been read already."""
        return self._tables.get(run_id)

    async def read(self, connection: Connection, run_id: str) -> Mapping[str, str]:
        """Return the class of each command by lower-case name. Raises EngineError."""
        # Sequential: a reply takes megabytes, and the agent's memory does not shrink afterwards
        async with self._reading:
            if run_id not in self._tables:
                table = classify(await connection.execute("COMMAND"))
                # Equal tables are stored once: hundreds of shards of one version share a table.
                self._tables[run_id] = self._known.setdefault(tuple(sorted(table.items())), table)  # type: ignore[arg-type]
        return self._tables[run_id]


def classify(reply: list[list[object]]) -> dict[str, str]:
    """Classify the rows of a COMMAND reply, each `[name, arity, flags, first key, last key, step, …]`."""
    table = {}
    for row in reply:
        name, flags, first_key = str(row[0]).lower(), {str(flag) for flag in row[2]}, row[3]  # type: ignore[attr-defined]
        if name in INTERNAL:
            table[name] = "internal"
        elif "write" in flags:
            table[name] = "write"
        elif "readonly" in flags and (first_key or "movablekeys" in flags):
            table[name] = "read"
        else:
            table[name] = "other"
    return table
