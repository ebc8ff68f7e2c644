"""What a shard says of its cluster: CLUSTER NODES, as far as moving slots needs it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """`<id> <address> <flags> <primary> <ping> <pong> <epoch> <link> [<slots>…]`"""

    flags: frozenset[str]
    slots: frozenset[int]
    open: frozenset[str]
    """Slots between two owners, in the engine's words: `[5->-<target>]`, `[5-<-<source>]`. A shard tells them of itself only."""

    @property
    def leads(self) -> bool:
        """A primary that nobody believes dead."""
        return "master" in self.flags and not self.flags & {"fail", "fail?"}


def parse(text: str) -> Mapping[str, Line]:
    """Lines by engine id."""
    found = {}
    for fields in (line.split(" ") for line in text.splitlines()):
        if len(fields) >= 8:
            ranges = [word.partition("-") for word in fields[8:] if word[:1].isdigit()]
            found[fields[0]] = Line(
                flags=frozenset(fields[2].split(",")),
                slots=frozenset(
                    slot for first, _, last in ranges for slot in range(int(first), int(last or first) + 1)
                ),
                open=frozenset(word for word in fields[8:] if word.startswith("[")),
            )
    return found
