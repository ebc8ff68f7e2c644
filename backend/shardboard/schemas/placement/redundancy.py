"""Response models about the loss of nodes and zones."""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from shardboard.domain.placement.redundancy import Loss, LossEffect, largest_node


class LossOutcome(BaseModel):
    rack_id: str = Field(description="Zone that is lost, in lower case; empty for the loss of one node.")
    nodes: list[int] = Field(description="Uids of the lost nodes.")
    is_largest: bool = Field(description="Whether it is the loss of the node with the highest sum of memory limits.")
    effect: LossEffect = Field(
        description=(
            "`none`: all data stays available, and all lost shards can be rebuilt. `overbooked`: the rebuilt shards would exceed "
            "the memory of the other nodes. `fewer_copies`: shards cannot be rebuilt until the nodes return. `unavailable`: data "
            "has no other complete copy, or fewer than half of the nodes remain."
        )
    )
    description: str = Field(description="The effect as a message.")
    shards: int = Field(description="Number of lost shards.")
    memory: int = Field(description="Sum of their memory limits in bytes.")
    unavailable_pairs: int = Field(description="Number of replication pairs without another complete copy.")
    unavailable_databases: list[str] = Field(description="Names of their databases.")
    not_rebuilt: int = Field(description="Number of lost shards that fit on no remaining node.")
    overbooked: int = Field(description="Number of lost shards that fit only because memory may be overbooked.")


class Redundancy(BaseModel):
    survives_node: bool = Field(description="Whether all data stays available if any one node is lost.")
    survives_zone: bool | None = Field(description="The same for any one zone; null without zones.")
    losses: list[LossOutcome] = Field(description="The loss of each node, and then of each zone.")


def render(found: Sequence[Loss]) -> Redundancy:
    largest = largest_node(found)
    nodes, zones = [each for each in found if not each.rack_id], [each for each in found if each.rack_id]
    return Redundancy(
        survives_node=_all_available(nodes),
        survives_zone=_all_available(zones) if zones else None,
        losses=[
            LossOutcome(
                rack_id=each.rack_id,
                nodes=list(each.nodes),
                is_largest=each is largest,
                effect=each.effect,
                description=each.text,
                shards=each.shards,
                memory=each.memory,
                unavailable_pairs=sum(each.unavailable.values()),
                unavailable_databases=sorted(each.unavailable),
                not_rebuilt=each.not_rebuilt,
                overbooked=each.overbooked,
            )
            for each in found
        ],
    )


def _all_available(found: Sequence[Loss]) -> bool:
    return all(each.effect != LossEffect.UNAVAILABLE for each in found)
