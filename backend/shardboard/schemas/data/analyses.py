"""Models of the analysis of the contents of a backup."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Protocol

from pydantic import BaseModel, Field

from shardboard.domain.data.growth import Growth
from shardboard.schemas.timestamps import iso


class AnalysisTotal(BaseModel):
    keys: int
    bytes: int = Field(description="Serialized size without compression, not memory.")


class AnalysisPrefix(AnalysisTotal):
    prefix: str = Field(description="Key up to the first colon; empty: keys without a colon.")


class LargeKey(BaseModel):
    key: str = Field(description="At most 256 bytes.")
    type: str
    bytes: int
    elements: int


class BackupAnalysis(BaseModel):
    """Contents of a backup by size. Empty if the backup was not analyzed."""

    types: dict[str, AnalysisTotal] = Field(description="By type.")
    prefixes: list[AnalysisPrefix] = Field(description="By prefix of the key, largest first, at most 100.")
    other_prefixes: AnalysisTotal = Field(description="Keys with other prefixes.")
    lifetimes: dict[str, AnalysisTotal] = Field(
        description="By time to live at the time of the backup: upper limit, `longer`, `expired`, or `none`."
    )
    largest: list[LargeKey] = Field(description="Largest keys, at most 20.")


class GrowthRow(AnalysisTotal):
    name: str = Field(description="Type, or prefix; empty: keys without a colon.")
    previous_keys: int | None = Field(
        description="Null: unknown, because the analysis of the previous backup lists the largest prefixes only."
    )
    previous_bytes: int | None


class BackupGrowth(AnalysisTotal):
    """Changes since the previous successful backup of the same database. Sizes are serialized and without compression."""

    previous_uid: int | None = Field(description="Null if there is no previous backup. All lists are then empty.")
    previous_at: str | None
    previous_keys: int
    previous_bytes: int
    types: list[GrowthRow] = Field(description="Largest change of bytes first; empty if one of them was not analyzed.")
    prefixes: list[GrowthRow] = Field(description="Like `types`.")


class SizedBackup(Protocol):
    @property
    def uid(self) -> int: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def keys(self) -> int: ...
    @property
    def raw_bytes(self) -> int: ...


def render_growth(
    backup: SizedBackup, previous: SizedBackup | None, types: Sequence[Growth], prefixes: Sequence[Growth]
) -> dict[str, Any]:
    return {
        "keys": backup.keys,
        "bytes": backup.raw_bytes,
        "previous_uid": previous.uid if previous is not None else None,
        "previous_at": iso(previous.created_at) if previous is not None else None,
        "previous_keys": previous.keys if previous is not None else 0,
        "previous_bytes": previous.raw_bytes if previous is not None else 0,
        "types": [asdict(each) for each in types],
        "prefixes": [asdict(each) for each in prefixes],
    }


def render(analysis: Mapping[str, Any]) -> dict[str, Any]:
    """Render the analysis of a manifest; an empty one if the backup was not analyzed."""
    return {
        "types": analysis.get("types", {}),
        "prefixes": analysis.get("prefixes", []),
        "other_prefixes": {"keys": 0, "bytes": 0, **analysis.get("other_prefixes", {})},
        "lifetimes": analysis.get("lifetimes", {}),
        "largest": analysis.get("largest", []),
    }
