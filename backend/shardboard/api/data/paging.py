"""Parameters of lists of backups and restores, which are sorted by age and can be long."""

from collections.abc import Collection
from typing import Annotated

from fastapi import Query

from shardboard.api.http.database_scope import AnyViewer

MAX_PAGE = 200

BdbFilter = Annotated[int | None, Query(ge=0, le=2**31 - 1, description="Return only objects of this database.")]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE)]
Offset = Annotated[int, Query(ge=0, le=2**31 - 1)]


def visible_bdbs(viewer: AnyViewer, bdb_uid: int | None) -> Collection[int] | None:
    """Return the uids of the databases whose objects are listed; None: all.

    Raises Forbidden if the user cannot access `bdb_uid`.
    """
    if bdb_uid is None:
        return viewer.bdbs
    viewer.require_database_access(bdb_uid)
    return {bdb_uid}
