"""Endpoint that changes the shape of a database."""

from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import BdbEditor
from shardboard.api.http.dependencies import WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import DryRun, Uid
from shardboard.schemas.databases.bdb_requests import Placement
from shardboard.schemas.placement.plans import BlueprintPair
from shardboard.services.databases import bdbs as service

router = ApiRouter(prefix="/v1", tags=["databases"])


class RevampRequest(BaseModel):
    """Body of a revamp request, as in the Redis Enterprise REST API: only the fields to change."""

    model_config = ConfigDict(strict=True, extra="forbid")

    shards_count: int = Field(default=0, description="Number of primaries, 1-512.")
    memory_size: int = Field(
        default=0, description="Memory limit of the database in bytes, including replicas; 0 = no limit."
    )
    avoid_nodes: list[str] = Field(
        default=[], max_length=1024, description="Uids of nodes that must not get new shards."
    )
    replication: bool = Field(default=False, description="Whether every primary has a replica.")
    shards_placement: Placement = Field(default="dense", description="How shards are spread over nodes.")
    bigstore_ram_size: int = Field(default=0, description="RAM limit of a database on flash in bytes.")


class RevampReply(BaseModel):
    action_uid: str | None = Field(description="Uid of the action; null if nothing differs.")
    description: str


@router.put(
    "/bdbs/{uid}/actions/revamp",
    response_model=RevampReply | list[BlueprintPair],
    responses=error_responses(404, 406, 409),
)
async def revamp_bdb(
    editor: BdbEditor,
    session: WriteSession,
    uid: Uid,
    body: RevampRequest,
    dry_run: DryRun,
    pause_persistence: Annotated[str | None, Query(description="Accepted without effect.")] = None,
) -> JSONResponse:
    """Change the layout of a database, and distribute the slots evenly.

    A dry run returns the blueprint: the nodes and slots of each replication pair after the change. Required role:
    `admin`, `cluster_member`, or `db_member`.
    """
    changes = body.model_dump(exclude_unset=True, exclude={"avoid_nodes"})
    bdb, blueprint = await service.revamp(session, uid, changes, body.avoid_nodes, editor, dry_run=dry_run)
    if dry_run:
        return JSONResponse(blueprint)
    return JSONResponse(_reply(bdb.action_uid, bdb.name))


def _reply(action_uid: str | None, name: str) -> dict[str, Any]:
    message = f"Database {name} is being changed." if action_uid else f"Database {name} already has this layout."
    return RevampReply(action_uid=action_uid, description=message).model_dump()
