"""Parsing of engine replies, for agents and the console: INFO and CLUSTER NODES."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

Ranges = tuple[tuple[int, int], ...]
"""First and last slot of each range."""


def info_fields(text: str) -> dict[str, str]:
    """Return the values of INFO, or of a section, by name."""
    return {name: value for name, colon, value in (line.partition(":") for line in text.splitlines()) if colon}


def info_number(fields: Mapping[str, str], name: str, default: int = 0) -> int:
    """Return a non-negative integer field; `default` if it is missing or invalid."""
    value = fields.get(name, "")
    return int(value) if value.isascii() and value.isdigit() else default


@dataclass(frozen=True)
class ClusterLine:
    """A line of CLUSTER NODES: a shard as seen by another shard or by the shard that replied."""

    engine_id: str
    flags: frozenset[str]
    primary: str
    """Engine id of the primary of a replica; otherwise empty."""
    epoch: int
    slots: Ranges
    migrating: Mapping[int, str]
    """Engine id of the target by slot that is migrating. Shards only report this about themselves."""
    importing: Mapping[int, str]
    """Engine id of the source by slot that is being imported."""
    address: str
    """`host:port@bus`, as far as known."""
    has_port: bool
    """Whether the client port is known. A shard with TLS meets another node shortly before it learns the port that it reports to
    clients of its Unix socket, which are unencrypted. Until then, redirections to that node would be invalid.
    """

    @property
    def is_primary(self) -> bool:
        return "master" in self.flags

    @property
    def is_healthy(self) -> bool:
        """Whether no shard considers it failed."""
        return not self.flags & {"fail", "fail?"}

    @property
    def is_known(self) -> bool:
        """Whether it is known well enough to be returned to clients."""
        return "handshake" not in self.flags and self.has_port

    def owns(self, slots: Collection[int]) -> bool:
        """Return whether it owns all of the slots."""
        return all(any(first <= slot <= last for first, last in self.slots) for slot in slots)


class ClusterReader:
    """Parser for CLUSTER NODES of many shards, whose lines are mostly equal: each distinct line is parsed once."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, ...], ClusterLine] = {}

    def read(self, text: str) -> dict[str, ClusterLine]:
        """Return the lines by engine id: `<id> <address> <flags> <primary> <ping> <pong> <epoch> <link> [<slots>…]`."""
        by_engine_id = {}
        for line in text.splitlines():
            fields = line.split(" ", 8)
            if len(fields) < 8:
                continue
            key = (*fields[:4], fields[6], *fields[8:])
            parsed_line = self._lines.get(key)
            if parsed_line is None:
                parsed_line = self._lines[key] = _line(*key)
            by_engine_id[fields[0]] = parsed_line
        return by_engine_id


def cluster_lines(text: str) -> dict[str, ClusterLine]:
    """Parse CLUSTER NODES of one shard. Return its lines by engine id."""
    return ClusterReader().read(text)


def _line(engine_id: str, address: str, flags: str, primary: str, epoch: str, slots: str = "") -> ClusterLine:
    words = slots.split(" ")
    ranges = [word.partition("-") for word in words if word[:1].isdigit()]
    markers = [word.strip("[]") for word in words if word.startswith("[")]
    return ClusterLine(
        engine_id=engine_id,
        flags=frozenset(flags.split(",")),
        primary="" if primary == "-" else primary,
        epoch=int(epoch),
        slots=tuple((int(first), int(last or first)) for first, _, last in ranges),
        migrating={int(each.partition("->-")[0]): each.partition("->-")[2] for each in markers if "->-" in each},
        importing={int(each.partition("-<-")[0]): each.partition("-<-")[2] for each in markers if "-<-" in each},
        address=address.partition(",")[0],
        has_port=not address.partition("@")[0].endswith(":0"),
    )
