"""Path and query parameters that many endpoints share."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Path, Query

Uid = Annotated[int, Path(ge=1, le=2**31 - 1)]
"""Uid in the path. Values outside the range return 404, like other unknown uids."""
Fields = Annotated[str, Query(description="Comma-separated names of the fields to return. Default: all fields.")]
DryRun = Annotated[
    str | None,
    Query(
        description="Validate the request without changing anything. `?dry_run` alone means true.", examples=["true"]
    ),
]


def is_flag_set(flag: str | None) -> bool:
    """Return whether a query flag is set. A flag without a value is set."""
    return flag is not None and flag.lower() not in ("false", "0", "no")


def select_fields(shown: Mapping[str, Any], fields: str) -> dict[str, Any]:
    """Return only the fields that are named in `fields`; all fields if it is empty."""
    names = {name.strip() for name in fields.split(",")} - {""}
    return {name: value for name, value in shown.items() if not names or name in names}
