"""Requests that send a settings object of the reference: which of its settings they change."""

from collections.abc import Mapping
from typing import Any


def changed_settings(current: Mapping[str, Any], requested: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the settings that would change, by path such as `rotate_ccs_job_settings.enabled`. Raises KeyError with the path of an
    unknown setting."""
    changed: dict[str, Any] = {}
    for name, value in requested.items():
        path = f"{prefix}{name}"
        if name not in current:
            raise KeyError(path)
        if isinstance(current[name], dict) and isinstance(value, dict):
            changed |= changed_settings(current[name], value, f"{path}.")
        elif value != current[name] or isinstance(value, bool) != isinstance(current[name], bool):
            changed[path] = value
    return changed
