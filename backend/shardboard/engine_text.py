"""What engines answer as text, for agents and the console: INFO and CLUSTER NODES."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

Ranges = tuple[tuple[int, int], ...]
"""First and last slot of each run of slots."""


def info_fields(text: str) -> dict[str, str]:
    """Values of INFO, or of a section of it, by name."""
    return {name: value for name, colon, value in (line.partition(":") for line in text.splitlines()) if colon}


def info_number(fields: Mapping[str, str], name: str, default: int = 0) -> int:
    """A value that is no whole number above zero counts as missing."""
    value = fields.get(name, "")
    return int(value) if value.isascii() and value.isdigit() else default


@dataclass(frozen=True)
class ClusterLine:
    """A shard as another one, or itself, sees it."""

    engine_id: str
    flags: frozenset[str]
    primary: str
    """Engine id of the one that a replica follows, else empty."""
    epoch: int
    slots: Ranges
    leaving: Mapping[int, str]
    """Engine id of the target, by slot that is being moved. A shard tells these of itself only."""
    coming: Mapping[int, str]
    """Engine id of the source, by slot."""
    address: str
    """`host:port@bus`, as far as it is known."""
    has_port: bool
    """Whether it is known where clients reach it. A shard that speaks TLS has met another one a moment before it hears of the port
    that it names to those who ask it in clear, over its Unix socket; redirections to that shard lead nowhere until then."""

    @property
    def leads(self) -> bool:
        return "master" in self.flags

    @property
    def is_well(self) -> bool:
        """Whether nobody believes it dead."""
        return not self.flags & {"fail", "fail?"}

    @property
    def met(self) -> bool:
        """Known well enough to be named to clients."""
        return "handshake" not in self.flags and self.has_port

    def owns(self, slots: Collection[int]) -> bool:
        """All of them."""
        return all(any(first <= slot <= last for first, last in self.slots) for slot in slots)


class ClusterReader:
    """Reads CLUSTER NODES of many shards, which say the same of nearly everybody: each line is understood once."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, ...], ClusterLine] = {}

    def read(self, text: str) -> dict[str, ClusterLine]:
        """The lines by engine id: `<id> <address> <flags> <primary> <ping> <pong> <epoch> <link> [<slots>…]`."""
        found = {}
        for line in text.splitlines():
            fields = line.split(" ", 8)
            if len(fields) < 8:
                continue
            key = (*fields[:4], fields[6], *fields[8:])
            known = self._lines.get(key)
            if known is None:
                known = self._lines[key] = _line(*key)
            found[fields[0]] = known
        return found


def cluster_lines(text: str) -> dict[str, ClusterLine]:
    """CLUSTER NODES of one shard, by engine id."""
    return ClusterReader().read(text)


def _line(engine_id: str, address: str, flags: str, primary: str, epoch: str, slots: str = "") -> ClusterLine:
    words = slots.split(" ")
    ranges = [word.partition("-") for word in words if word[:1].isdigit()]
    moving = [word.strip("[]") for word in words if word.startswith("[")]
    return ClusterLine(
        engine_id=engine_id,
        flags=frozenset(flags.split(",")),
        primary="" if primary == "-" else primary,
        epoch=int(epoch),
        slots=tuple((int(first), int(last or first)) for first, _, last in ranges),
        leaving={int(each.partition("->-")[0]): each.partition("->-")[2] for each in moving if "->-" in each},
        coming={int(each.partition("-<-")[0]): each.partition("-<-")[2] for each in moving if "-<-" in each},
        address=address.partition(",")[0],
        has_port=not address.partition("@")[0].endswith(":0"),
    )
