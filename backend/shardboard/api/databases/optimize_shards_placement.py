"""Endpoint that returns the placement that a database would get: a dry run of `revamp` in the older format of the API."""

from typing import Annotated, Any, Literal

from fastapi import Query
from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import BdbViewer
from shardboard.api.http.dependencies import WriteSessionWithoutDryRun
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.domain.databases import bdb_rules
from shardboard.schemas.placement.plans import BlueprintPair
from shardboard.services.databases import bdbs as service
from shardboard.store.db import roll_back

router = ApiRouter(prefix="/v1", tags=["databases"])

Bytes = Annotated[int | None, Query(ge=0, le=bdb_rules.MAX_MEMORY)]


@router.get(
    "/bdbs/{uid}/actions/optimize_shards_placement",
    summary="Get optimized placement of shards",
    response_model=list[BlueprintPair],
    responses=error_responses(404, 406, 409),
)
async def get_optimized_placement(
    viewer: BdbViewer,
    session: WriteSessionWithoutDryRun,
    uid: Uid,
    shards_count: Annotated[int | None, Query(ge=1, le=bdb_rules.MAX_SHARDS)] = None,
    memory_size: Bytes = None,
    bigstore_ram_size: Bytes = None,
    shards_placement: Literal["dense", "sparse"] | None = None,
    replication: Literal["enabled", "disabled"] | None = None,
    avoid_nodes: Annotated[
        str, Query(max_length=4096, pattern=r"^(\d+(,\d+)*)?$", description="Uids separated by commas.")
    ] = "",
) -> JSONResponse:
    """Return the nodes and slots of each replication pair after these changes, like a dry run of `revamp`. Nothing is changed."""
    requested: dict[str, Any] = {
        "shards_count": shards_count,
        "memory_size": memory_size,
        "bigstore_ram_size": bigstore_ram_size,
        "shards_placement": shards_placement,
        "replication": None if replication is None else replication == "enabled",
    }
    changes = {name: value for name, value in requested.items() if value is not None}
    avoided = avoid_nodes.split(",") if avoid_nodes else []
    _, blueprint = await service.revamp(session, uid, changes, avoided, viewer, dry_run=True)
    await roll_back(session)
    return JSONResponse(blueprint)
