"""What would be if an order were carried out: where the shards of a database are, pair by pair, and addresses that clients must
leave (ours)."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from pydantic import BaseModel, Field


class BlueprintNode(BaseModel):
    """A node that holds a shard of a pair."""

    node_uid: str
    role: str = Field(json_schema_extra={"enum": ["master", "slave"]})


class BlueprintPair(BaseModel):
    """A primary and its replica."""

    nodes: list[BlueprintNode]
    slot_range: str = Field(description='For example "0-99,200-8191".')


class AddressChange(BaseModel):
    bdb_uid: int
    old: list[str] = Field(description="Addresses with ports that clients must leave.")
    new: list[str] = Field(description="Those that serve in the end.")
    sentence: str = Field(description="What clients have to do, and how long they have.")


class ChangeRow(Protocol):
    @property
    def bdb_uid(self) -> int: ...
    @property
    def old(self) -> Sequence[str]: ...
    @property
    def new(self) -> Sequence[str]: ...
    @property
    def sentence(self) -> str: ...


def render_changes(found: Iterable[ChangeRow]) -> list[AddressChange]:
    return [
        AddressChange(bdb_uid=each.bdb_uid, old=list(each.old), new=list(each.new), sentence=each.sentence)
        for each in found
    ]
