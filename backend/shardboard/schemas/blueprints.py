"""Where the shards of a database would be, pair by pair, if an order were carried out."""

from pydantic import BaseModel, Field


class BlueprintNode(BaseModel):
    """A node that holds a shard of a pair."""

    node_uid: str
    role: str = Field(json_schema_extra={"enum": ["master", "slave"]})


class BlueprintPair(BaseModel):
    """A primary and its replica."""

    nodes: list[BlueprintNode]
    slot_range: str = Field(description='For example "0-99,200-8191".')
