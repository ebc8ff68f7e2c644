"""Checks of the settings of a node's machine."""

from typing import Any, Protocol

from pydantic import BaseModel, Field


class MachineCheck(BaseModel):
    """A setting of the machine, and whether it is suitable."""

    name: str
    value: str
    good: bool
    costs: str = Field(description="Effect of a wrong value.")
    mends: str = Field(description="Command that fixes the setting.")


class HostCheckRow(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> str: ...
    @property
    def good(self) -> bool: ...
    @property
    def impact(self) -> str: ...
    @property
    def remedy(self) -> str: ...


def render(check: HostCheckRow) -> dict[str, Any]:
    return {
        "name": check.name,
        "value": check.value,
        "good": check.good,
        "costs": check.impact,
        "mends": check.remedy,
    }
