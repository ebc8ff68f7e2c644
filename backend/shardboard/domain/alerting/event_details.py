"""Names in the details of events."""

from collections.abc import Mapping
from typing import Any

PREVIOUS_NAMES: Mapping[str, str] = {
    "heir": "promoted",
    "tries": "attempts",
    "again_in": "retry_in",
    "left_alone": "kept_reason",
    "taken_back": "reclaimed",
    "rises": "increases",
}
"""Names in events of earlier releases, with the current names. Events can be kept without limit, so none is ever removed."""


def with_current_names(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return details with the current names."""
    return {PREVIOUS_NAMES.get(name, name): value for name, value in details.items()}
