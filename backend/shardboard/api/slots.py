"""Hash slots over HTTP: which ones take most."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from shardboard.api.deps import TheConsole
from shardboard.api.parameters import Uid
from shardboard.api.reach import BdbViewer
from shardboard.api.replies import errors
from shardboard.domain import hot_slots
from shardboard.domain.hot_slots import Metric
from shardboard.errors import NotFound
from shardboard.schemas import slots as schema

router = APIRouter(tags=["shards"])


@router.get("/bdbs/{uid}/slots/hot", response_model=schema.HotSlots, responses=errors(404))
async def list_hot_slots(
    _viewer: BdbViewer,
    console: TheConsole,
    uid: Uid,
    by: Annotated[Metric, Query(description="what to rank by")] = "cpu_usec",
    limit: Annotated[int, Query(ge=1, le=hot_slots.MOST, description="slots, at most")] = 20,
) -> JSONResponse:
    """The hash slots of a database that take most processor time or bytes, or hold most keys.

    Primaries are asked when this is called, at most once a second. Rates are of the time since the call before; the first call
    has totals only.
    """
    look = await console.slot_looks.look(uid, by)
    if look is None:
        raise NotFound("db_not_found", f"There is no database {uid}.")
    found = hot_slots.hottest(look.now, look.before, by, limit)
    seconds = hot_slots.interval(look.now, look.before)
    return JSONResponse(schema.render(uid, by, found, look.now, seconds, look.detail))
