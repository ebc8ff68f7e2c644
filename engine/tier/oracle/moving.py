"""A slot on its way from one shard to another, for a client that goes where it is sent."""

from collections.abc import Iterator, Sequence
from typing import Any

from commands import Command, comparable
from wire import Failure, Wire

Address = tuple[str, int]
AT_ONCE = 4
"""Keys that go at a time, and commands between."""


class Mover:
    """Source and target of a slot, and all other primaries."""

    def __init__(self, slot: int, source: Address, target: Address, others: Sequence[Address]) -> None:
        self.slot = slot
        self.to, self.others = target, others
        self.is_finished = False
        self.source, self.target = Wire(source), Wire(target)
        self.ids = [wire.say("CLUSTER", "MYID") for wire in (self.source, self.target)]
        for wire, state, other in ((self.target, "IMPORTING", self.ids[0]), (self.source, "MIGRATING", self.ids[1])):
            expect(wire.say("CLUSTER", "SETSLOT", slot, state, other), b"OK")

    def move(self, most: int) -> None:
        """So many keys; once none is left, the target owns the slot."""
        names = self.source.say("CLUSTER", "GETKEYSINSLOT", self.slot, most)
        if names:
            expect(self.source.say("MIGRATE", *self.to, "", 0, 5000, "KEYS", *names), b"OK")
            return
        for wire in (self.target, self.source, *map(Wire, self.others)):
            expect(wire.say("CLUSTER", "SETSLOT", self.slot, "NODE", self.ids[1]), b"OK")
        self.is_finished = True

    def ask(self, command: Command) -> Any:
        """The reply, from where the keys are."""
        reply = self.source.say(*command)
        if isinstance(reply, Failure) and reply.startswith("ASK "):
            reply = self.target.batch([("ASKING",), command])[1]
        if isinstance(reply, Failure) and reply.startswith("TRYAGAIN"):
            # Its keys are in both, or one is in neither: that is known once the slot has moved.
            while not self.is_finished:
                self.move(100)
            reply = self.target.say(*command)
        return reply


def move_slot(
    slot: int, source: Address, target: Address, others: Sequence[Address], commands: Iterator[tuple[Command, Any]]
) -> list[str]:
    """Commands come with the reply that is expected; those that were answered otherwise."""
    mover = Mover(slot, source, target, others)
    wrong = []
    while True:
        for _ in range(AT_ONCE):
            command, expected = next(commands)
            found = mover.ask(command)
            if comparable(command, found) != comparable(command, expected):
                told = f"expected {str(expected)[:300]}, got {str(found)[:300]}"
                wrong.append(f"while its slot moves, {str(command)[:200]}: {told}")
            if mover.is_finished:
                return wrong
        mover.move(AT_ONCE)


def expect(reply: Any, expected: Any) -> None:
    """Of what must work."""
    if reply != expected:
        raise RuntimeError(str(reply))
