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
    optional: bool = Field(
        description="Whether the setting only matters for exact measurements. A bad value is then not a problem of the node."
    )
    apply: str = Field(
        description="Shell commands for the distribution of the node that change the setting until the machine restarts. "
        "Run them as root. Empty if there are none."
    )
    persist: str = Field(
        description="Shell commands that change the setting from the next restart on; empty if there are none."
    )


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
    @property
    def optional(self) -> bool: ...
    @property
    def apply(self) -> str: ...
    @property
    def persist(self) -> str: ...


def render(check: HostCheckRow) -> dict[str, Any]:
    return {
        **render_result(check),
        "optional": check.optional,
        "apply": check.apply,
        "persist": check.persist,
    }


def render_result(check: HostCheckRow) -> dict[str, Any]:
    """Render a check without the commands for the distribution."""
    return {
        "name": check.name,
        "value": check.value,
        "good": check.good,
        "costs": check.impact,
        "mends": check.remedy,
    }
