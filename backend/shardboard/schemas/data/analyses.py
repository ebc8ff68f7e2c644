"""Models of the analysis of the contents of a backup."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field


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
    """Where the bytes of a backup are. Without data if the backup was not analyzed."""

    types: dict[str, AnalysisTotal] = Field(description="By type.")
    prefixes: list[AnalysisPrefix] = Field(description="By prefix of the key, largest first, at most 100.")
    other_prefixes: AnalysisTotal = Field(description="Keys with other prefixes.")
    lifetimes: dict[str, AnalysisTotal] = Field(
        description="By time to live at the time of the backup: upper limit, `longer`, `expired` or `none`."
    )
    largest: list[LargeKey] = Field(description="Largest keys, at most 20.")


def render(analysis: Mapping[str, Any]) -> dict[str, Any]:
    """Render the analysis of a manifest; an empty one if the backup was not analyzed."""
    return {
        "types": analysis.get("types", {}),
        "prefixes": analysis.get("prefixes", []),
        "other_prefixes": {"keys": 0, "bytes": 0, **analysis.get("other_prefixes", {})},
        "lifetimes": analysis.get("lifetimes", {}),
        "largest": analysis.get("largest", []),
    }
