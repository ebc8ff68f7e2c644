"""Moves a slot from one shard to another while a client follows redirections."""

from collections.abc import Iterator, Sequence
from typing import Any

from commands import Command, comparable
from wire import Failure, Wire

Address = tuple[str, int]
AT_ONCE = 4
"""Number of keys moved at a time, and number of commands between two moves."""


class Mover:
    """The source and target of a slot, and all other primaries."""

    def __init__(self, slot: int, source: Address, target: Address, others: Sequence[Address]) -> None:
        self.slot = slot
        self.to, self.others = target, others
        self.is_finished = False
        self.source, self.target = Wire(source), Wire(target)
        self.ids = [wire.say("CLUSTER", "MYID") for wire in (self.source, self.target)]
        for wire, state, other in ((self.target, "IMPORTING", self.ids[0]), (self.source, "MIGRATING", self.ids[1])):
            expect(wire.say("CLUSTER", "SETSLOT", slot, state, other), b"OK")

    def move(self, most: int) -> None:
        """Move up to `most` keys. If none is left, assign the slot to the target."""
        names = self.source.say("CLUSTER", "GETKEYSINSLOT", self.slot, most)
        if names:
            expect(self.source.say("MIGRATE", *self.to, "", 0, 5000, "KEYS", *names), b"OK")
            return
        for wire in (self.target, self.source, *map(Wire, self.others)):
            expect(wire.say("CLUSTER", "SETSLOT", self.slot, "NODE", self.ids[1]), b"OK")
        self.is_finished = True

    def ask(self, command: Command) -> Any:
        """Send the command to the server that has its keys. Return the reply."""
        reply = self.source.say(*command)
        if isinstance(reply, Failure) and reply.startswith("ASK "):
            reply = self.target.batch([("ASKING",), command])[1]
        if isinstance(reply, Failure) and reply.startswith("TRYAGAIN"):
            # The keys are on different servers, or one does not exist. Only after the move can the command be answered.
            while not self.is_finished:
                self.move(100)
            reply = self.target.say(*command)
        return reply


def move_slot(
    slot: int, source: Address, target: Address, others: Sequence[Address], commands: Iterator[tuple[Command, Any]]
) -> list[str]:
    """Execute commands during the move. Each comes with its expected reply. Return the differences."""
    mover = Mover(slot, source, target, others)
    wrong = []
    while True:
        for _ in range(AT_ONCE):
            command, expected = next(commands)
            found = mover.ask(command)
            if comparable(command, found) != comparable(command, expected):
                told = f"expected {str(expected)[:300]}, got {str(found)[:300]}"
                wrong.append(f"while the slot moves, {str(command)[:200]}: {told}")
            if mover.is_finished:
                return wrong
        mover.move(AT_ONCE)


def expect(reply: Any, expected: Any) -> None:
    """Raise an error if a command that must succeed gave another reply."""
    if reply != expected:
        raise RuntimeError(str(reply))
