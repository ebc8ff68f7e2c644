"""Path and query parameters that many endpoints share."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import Depends, Path, Query, Request
from starlette.datastructures import QueryParams

from shardboard.errors import BadRequest

Uid = Annotated[int, Path(ge=1, le=2**31 - 1)]
"""Uid in the path. Values outside the range return 404, like other unknown uids."""

DRY_RUN = "dry_run"

_FLAGS: Mapping[str, bool] = {"": True, "true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def is_flag_set(flag: str | None, name: str) -> bool:
    """Return whether the query flag `name` is set. A flag without a value is set. Raises BadRequest for other values."""
    if flag is None:
        return False
    if flag.lower() not in _FLAGS:
        raise BadRequest("bad_request", f"`{name}` must be true or false.", field=name)
    return _FLAGS[flag.lower()]


def is_dry_run(query: QueryParams) -> bool:
    """Return whether a request is a dry run. The name of the flag is not case-sensitive. Raises BadRequest for invalid values."""
    values = [is_flag_set(value, DRY_RUN) for name, value in query.multi_items() if name.lower() == DRY_RUN]
    return any(values)


async def _dry_run(
    request: Request,
    _described: Annotated[
        str | None,
        Query(
            alias=DRY_RUN,
            description="Validate the request without changing anything. `?dry_run` alone means true.",
            examples=["true"],
        ),
    ] = None,
) -> bool:
    return is_dry_run(request.query_params)


DryRun = Annotated[bool, Depends(_dry_run)]
"""Whether the request is a dry run: validated completely, but not executed."""
