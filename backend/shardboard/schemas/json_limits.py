"""Requirements for JSON values that are stored: valid text, numbers that JSON can represent, and limited depth."""

import math
from typing import Any

MAX_DEPTH = 16


def check_json_value(value: Any, depth: int = 0) -> None:
    """Raise ValueError, with a message for users, if `value` contains anything that cannot be stored and returned."""
    if depth > MAX_DEPTH:
        raise ValueError("is nested too deeply")
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("contains a number that JSON cannot represent")
    elif isinstance(value, int) and abs(value) >= 2**63:
        raise ValueError("contains a number that is too large")
    elif isinstance(value, list):
        for item in value:
            check_json_value(item, depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_text(key)
            check_json_value(item, depth + 1)


def _check_text(text: str) -> None:
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("contains characters that are not allowed in text")
