"""Moves a slot from one shard to another while a client follows redirections."""

from collections.abc import Iterator, Sequence
from typing import Any

from commands import Command, comparable
from wire import Failure, Connection

Address = tuple[str, int]
KEYS_PER_STEP = 4
"""Number of keys moved at a time, and number of commands between two moves."""


class Mover:
    """The source and target of a slot, and all other primaries."""

    def __init__(self, slot: int, source: Address, target: Address, others: Sequence[Address]) -> None:
        self.slot = slot
        self.to, self.others = target, others
        self.is_finished = False
        self.source, self.target = Connection(source), Connection(target)
        self.ids = [wire.execute("CLUSTER", "MYID") for wire in (self.source, self.target)]
        for wire, state, other in ((self.target, "IMPORTING", self.ids[0]), (self.source, "MIGRATING", self.ids[1])):
            require_reply(wire.execute("CLUSTER", "SETSLOT", slot, state, other), b"OK")

    def move(self, most: int) -> None:
        """Move up to `most` keys. If none is left, assign the slot to the target."""
        names = self.source.execute("CLUSTER", "GETKEYSINSLOT", self.slot, most)
        if names:
            require_reply(self.source.execute("MIGRATE", *self.to, "", 0, 5000, "KEYS", *names), b"OK")
            return
        for wire in (self.target, self.source, *map(Connection, self.others)):
            require_reply(wire.execute("CLUSTER", "SETSLOT", self.slot, "NODE", self.ids[1]), b"OK")
        self.is_finished = True

    def execute(self, command: Command) -> Any:
        """Send the command to the server that has its keys. Return the reply."""
        reply = self.source.execute(*command)
        if isinstance(reply, Failure) and reply.startswith("ASK "):
            reply = self.target.batch([("ASKING",), command])[1]
        if isinstance(reply, Failure) and reply.startswith("TRYAGAIN"):
            # The keys are on different servers, or one does not exist. Only after the move can the command be answered.
            while not self.is_finished:
                self.move(100)
            reply = self.target.execute(*command)
        return reply


def move_slot(
    slot: int, source: Address, target: Address, others: Sequence[Address], commands: Iterator[tuple[Command, Any]]
) -> list[str]:
    """Execute commands during the move. Each comes with its expected reply. Return the differences."""
    mover = Mover(slot, source, target, others)
    wrong = []
    while True:
        for _ in range(KEYS_PER_STEP):
            command, expected = next(commands)
            found = mover.execute(command)
            if comparable(command, found) != comparable(command, expected):
                told = f"expected {str(expected)[:300]}, got {str(found)[:300]}"
                wrong.append(f"while the slot moves, {str(command)[:200]}: {told}")
            if mover.is_finished:
                return wrong
        mover.move(KEYS_PER_STEP)


def require_reply(reply: Any, expected: Any) -> None:
    """Raise an error if a command that must succeed gave another reply."""
    if reply != expected:
        raise RuntimeError(str(reply))
