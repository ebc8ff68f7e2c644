"""Parameters that many calls take, in the path and in the query."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Path, Query

Uid = Annotated[int, Path(ge=1, le=2**31 - 1)]
"""A uid that no object can have is not found, like any other unknown one."""
Fields = Annotated[str, Query(description="Comma-separated names of the fields to return; all when left out.")]
DryRun = Annotated[str | None, Query(description="Validate only. `?dry_run` alone means true.", examples=["true"])]


def is_on(flag: str | None) -> bool:
    """Query flags count when they are there, unless they say no."""
    return flag is not None and flag.lower() not in ("false", "0", "no")


def only(shown: Mapping[str, Any], fields: str) -> dict[str, Any]:
    """The fields that `Fields` names; all of them when it names none."""
    names = {name.strip() for name in fields.split(",")} - {""}
    return {name: value for name, value in shown.items() if not names or name in names}
