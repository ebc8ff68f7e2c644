"""Which commands read, write, or do neither: as the engine itself says by its command flags.

The classes are those of the REST reference (4.2): read = keyed and not mutating, write = mutating, other = the rest.
What replication, the movement of slots and the proxies' canaries send is `internal` and not counted as traffic.
"""

import asyncio
from collections.abc import Mapping

from shardboard.agent.contract import canary
from shardboard.agent.resp import Connection

INTERNAL = frozenset({"replconf", "psync", "sync", "restore-asking", "tier.tick", canary.COMMAND})


class CommandClasses:
    """One table per engine process, read once: modules may add commands, so another process may know others."""

    def __init__(self) -> None:
        self._tables: dict[str, dict[str, str]] = {}
        self._reading = asyncio.Lock()
        self._known: dict[tuple[str, ...], dict[str, str]] = {}

    def known(self, run_id: str) -> Mapping[str, str] | None:
        """The table of this process when it was read already."""
        return self._tables.get(run_id)

    async def of(self, connection: Connection, run_id: str) -> Mapping[str, str]:
        """Class by lower-case command name. Raises EngineError."""
        async with self._reading:  # one after the other: a reply takes megabytes, and what an agent once took it keeps
            if run_id not in self._tables:
                table = classify(await connection.execute("COMMAND"))
                # Equal tables are kept once: hundreds of shards of one version share it.
                self._tables[run_id] = self._known.setdefault(tuple(sorted(table.items())), table)  # type: ignore[arg-type]
        return self._tables[run_id]


def classify(reply: list[list[object]]) -> dict[str, str]:
    """From a COMMAND reply: `[name, arity, flags, first key, last key, step, …]` each."""
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
