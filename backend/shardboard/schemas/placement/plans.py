"""Models of planned changes: the nodes of each replication pair, and the addresses that clients have to stop using (extension)."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from pydantic import BaseModel, Field

from shardboard.domain.placement.shard_role import ShardRole


class BlueprintNode(BaseModel):
    """A node with a shard of a pair."""

    node_uid: str
    role: str = Field(json_schema_extra={"enum": list(ShardRole)})


class BlueprintPair(BaseModel):
    """A primary and its replica."""

    nodes: list[BlueprintNode]
    slot_range: str = Field(description='For example "0-99,200-8191".')


class AddressChange(BaseModel):
    bdb_uid: int
    old: list[str] = Field(description="Addresses with ports that clients have to stop using.")
    new: list[str] = Field(description="Addresses with ports after the change.")
    sentence: str = Field(description="Message that states what clients have to do, and until when.")


class AddressChangeRow(Protocol):
    @property
    def bdb_uid(self) -> int: ...
    @property
    def old(self) -> Sequence[str]: ...
    @property
    def new(self) -> Sequence[str]: ...
    @property
    def message(self) -> str: ...


def render_changes(found: Iterable[AddressChangeRow]) -> list[AddressChange]:
    return [
        AddressChange(bdb_uid=each.bdb_uid, old=list(each.old), new=list(each.new), sentence=each.message)
        for each in found
    ]
