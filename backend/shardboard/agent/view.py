"""What a shard says of its cluster: CLUSTER NODES, as far as moving slots needs it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ClusterNodesLine:
    """`<id> <address> <flags> <primary> <ping> <pong> <epoch> <link> [<slots>…]`"""

    flags: frozenset[str]
    ranges: tuple[tuple[int, int], ...]
    """First and last of its slots."""
    open: frozenset[str]
    """Slots between two owners, in the engine's words: `[5->-<target>]`, `[5-<-<source>]`. A shard tells them of itself only."""

    @property
    def slots(self) -> frozenset[int]:
        return frozenset(slot for first, last in self.ranges for slot in range(first, last + 1))

    def owns(self, slots: Iterable[int]) -> bool:
        """All of them."""
        return all(any(first <= slot <= last for first, last in self.ranges) for slot in slots)

    @property
    def leads(self) -> bool:
        """A primary that nobody believes dead."""
        return "master" in self.flags and not self.flags & {"fail", "fail?"}


def parse(text: str) -> Mapping[str, ClusterNodesLine]:
    """Lines by engine id."""
    found = {}
    for fields in (line.split(" ") for line in text.splitlines()):
        if len(fields) >= 8:
            ranges = [word.partition("-") for word in fields[8:] if word[:1].isdigit()]
            found[fields[0]] = ClusterNodesLine(
                flags=frozenset(fields[2].split(",")),
                ranges=tuple((int(first), int(last or first)) for first, _, last in ranges),
                open=frozenset(word for word in fields[8:] if word.startswith("[")),
            )
    return found
