"""Copies of the console's objects that agents keep, so that a lost store can be rebuilt. Agents do not interpret their content."""

from typing import Annotated

from pydantic import Field

from shardboard.contract.base import MAX_DATABASES, Count, Message, Reply

CLUSTER = "cluster"
"""Name of the copy of the cluster and its nodes. Copies of databases are named `bdb-<uid>`."""
MAX_COPY_BYTES = 4 << 20
MAX_COPIES = MAX_DATABASES + 1
MAX_TOTAL_BYTES = 256 << 20
"""Limits of one copy, and of all copies that an agent keeps."""

CopyName = Annotated[str, Field(pattern=r"^(cluster|bdb-[1-9][0-9]{0,9})$")]


class CopyVersion(Reply):
    """Versions are compared by term of leadership first, then by the number of the copy in that term."""

    name: CopyName
    term: Count
    counter: Count

    @property
    def order(self) -> tuple[int, int]:
        return self.term, self.counter


class RecoveryCopy(CopyVersion):
    """A copy that only a console can read."""

    content: Annotated[str, Field(max_length=MAX_COPY_BYTES)]

    @property
    def version(self) -> CopyVersion:
        return CopyVersion(name=self.name, term=self.term, counter=self.counter)


class KeepCopies(Message):
    """Copies to store, unless the agent has the same or newer ones."""

    copies: list[RecoveryCopy] = Field(default=[], max_length=MAX_COPIES)
    names: list[CopyName] | None = Field(default=None, max_length=MAX_COPIES)
    """All copies that the agent must have; others are deleted. None: nothing is deleted."""


class ReadCopy(Message):
    """Request for one copy."""

    name: CopyName


def bdb_copy_name(uid: int) -> str:
    return f"bdb-{uid}"
