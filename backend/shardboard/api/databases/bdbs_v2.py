"""Creation of databases with the body of version 2 of the API: the database, and a plan for its recovery."""

from typing import Any

from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.databases.bdbs import AllowDuplicateName, create_bdb
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import Editor, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import DryRun
from shardboard.errors import NotAcceptable
from shardboard.schemas.databases import bdbs as schema
from shardboard.schemas.databases.bdb_requests import BdbCreate

router = ApiRouter(prefix="/v2", tags=["databases"])


class BdbCreateV2(BaseModel):
    """The database to create."""

    model_config = ConfigDict(strict=True)

    bdb: BdbCreate
    recovery_plan: dict[str, Any] | None = Field(
        default=None, description="Must be empty: a new database cannot use files of the shards of another one."
    )


@router.post(
    "/bdbs",
    summary="Create database (version 2)",
    response_model=schema.Bdb,
    responses=error_responses(406, 409),
)
async def create_bdb_v2(
    principal: Editor,
    session: WriteSession,
    body: BdbCreateV2,
    dry_run: DryRun,
    allow_duplicate_name: AllowDuplicateName,
) -> JSONResponse:
    """Create a database like `POST /v1/bdbs`, whose body is the field `bdb`. Required role: `admin`, `cluster_member`, or
    `db_member`, not limited to some databases.
    """
    if body.recovery_plan:
        message = "A new database cannot use files of shards. Create it without `recovery_plan`, and restore a backup into it."
        raise NotAcceptable("not_supported", message, field="recovery_plan")
    return await create_bdb(principal, session, body.bdb, dry_run, allow_duplicate_name)
