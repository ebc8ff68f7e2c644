"""Addresses that clients must leave when a plan is carried out (ours)."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from pydantic import BaseModel, Field


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


def render(found: Iterable[ChangeRow]) -> list[AddressChange]:
    return [
        AddressChange(bdb_uid=each.bdb_uid, old=list(each.old), new=list(each.new), sentence=each.sentence)
        for each in found
    ]
