"""What an engine's INFO says, as the values that a sample holds."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

SECTIONS = ("clients", "memory", "persistence", "stats", "replication", "cpu", "keyspace", "commandstats")


class Own(NamedTuple):
    """What to subtract: the agent's commands by name, and the bytes it sent and received before the reply at hand."""

    commands: Mapping[str, int]
    bytes_sent: int
    bytes_received: int


class Info(NamedTuple):
    """The parts of a reply that are wanted."""

    fields: Mapping[str, str]
    commands: Iterable[str]
    """`cmdstat_get:calls=N,usec=…`"""
    databases: Iterable[str]
    """`db0:keys=N,expires=M,…`"""


_FIELDS = (
    "connected_clients",
    "used_memory",
    "used_memory_rss",
    "mem_fragmentation_ratio",
    "loading",
    "total_connections_received",
    "total_net_input_bytes",
    "total_net_output_bytes",
    "keyspace_hits",
    "keyspace_misses",
    "evicted_keys",
    "expired_keys",
    "role",
    "master_link_status",
    "slave_repl_offset",
    "master_repl_offset",
    "used_cpu_user_main_thread",
    "used_cpu_sys_main_thread",
)
_COMMANDS, _DATABASES = "# Commandstats", "# Keyspace"


class InfoReader:
    """Reads the replies of one shard. The wanted lines stand where they stood a second ago, which saves looking at the rest:
    of some 200 lines each of hundreds of shards has every second, 20 are wanted."""

    def __init__(self) -> None:
        self._places: list[tuple[str, str, int]] = []

    def read(self, text: str) -> Info:
        lines = text.split("\r\n")
        fields = self._fields(lines)
        if fields is None:
            self._find(lines)
            fields = self._fields(lines) or {}
        return Info(fields, _section(lines, _COMMANDS), _section(lines, _DATABASES))

    def _fields(self, lines: list[str]) -> dict[str, str] | None:
        """By name; None when a line is not in its place."""
        if not self._places or self._places[-1][2] >= len(lines):
            return None
        found = {}
        for name, prefix, place in self._places:
            line = lines[place]
            if not line.startswith(prefix):
                return None
            found[name] = line[len(prefix) :]
        return found

    def _find(self, lines: list[str]) -> None:
        places = {line.partition(":")[0]: index for index, line in enumerate(lines) if line}
        # The title behind all fields is looked for, too: when it stands in its place, no line came or went before it.
        self._places = [(name, f"{name}:", places[name]) for name in _FIELDS if name in places]
        self._places += [(title, title, places[title]) for title in (_COMMANDS,) if title in places]
        self._places.sort(key=lambda place: place[2])


def _section(lines: list[str], title: str) -> list[str]:
    try:
        start = lines.index(title) + 1
        return lines[start : lines.index("", start)]
    except ValueError:
        return []


def shard_values(
    info: Info, classes: Mapping[str, str], own: Own, pid: int | None, ping_seconds: float, started_at: float
) -> list[float | None]:
    """In the order of SHARD_FIELDS; None for what this engine does not tell."""
    fields = info.fields

    def number(name: str) -> float | None:
        value = fields.get(name)
        return float(value) if value is not None else None

    counts = _calls(info.commands, classes, own)
    keys, expires = _keys(info.databases)
    primary = fields.get("role") == "master"
    cpu_user, cpu_system = number("used_cpu_user_main_thread"), number("used_cpu_sys_main_thread")
    net_in, net_out = number("total_net_input_bytes"), number("total_net_output_bytes")
    clients = number("connected_clients")
    return [
        float(pid) if pid is not None else None,
        started_at,
        float(primary),
        number("loading"),
        1.0 if primary or fields.get("master_link_status") == "up" else 0.0,
        counts["read"],
        counts["write"],
        counts["other"],
        number("used_memory"),
        number("used_memory_rss"),
        keys,
        expires,
        number("keyspace_hits"),
        number("keyspace_misses"),
        None if clients is None else max(0.0, clients - 1),  # this connection
        number("total_connections_received"),
        None if net_in is None else net_in - own.bytes_sent,
        None if net_out is None else net_out - own.bytes_received,
        number("evicted_keys"),
        number("expired_keys"),
        number("mem_fragmentation_ratio"),
        None if cpu_user is None or cpu_system is None else cpu_user + cpu_system,
        ping_seconds * 1000,
        number("master_repl_offset" if primary else "slave_repl_offset"),
    ]


def _calls(lines: Iterable[str], classes: Mapping[str, str], own: Own) -> dict[str, float]:
    """Calls by class, without the agent's own."""
    counts = {"read": 0.0, "write": 0.0, "other": 0.0, "internal": 0.0}
    for line in lines:
        name, _, rest = line.partition(":calls=")
        counts[classes.get(name[8:].partition("|")[0], "other")] += int(rest[: rest.index(",")])
    for name, count in own.commands.items():
        counts[classes.get(name, "other")] -= count
    return counts


def _keys(lines: Iterable[str]) -> tuple[float, float]:
    """Keys, and those that expire, in all numbered databases."""
    keys = expires = 0
    for line in lines:
        fields = dict(part.split("=") for part in line.partition(":")[2].split(","))
        keys += int(fields["keys"])
        expires += int(fields["expires"])
    return float(keys), float(expires)
