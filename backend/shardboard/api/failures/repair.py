"""Endpoint that repairs a database whose stored shards differ from those that agents report."""

from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import Admin, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.services.failures import repair as service

router = ApiRouter(prefix="/v1", tags=["bdbs"])


class RepairRequest(BaseModel):
    """Body of a repair request, for a database with a `mismatch`."""

    model_config = ConfigDict(strict=True)

    confirm: str = Field(
        default="", description='Confirmation if shards are started without data: the words "database <uid>".'
    )
    dry_run: bool = Field(default=False, description="Only return the changes.")


class RepairReply(BaseModel):
    action_uid: str | None
    changes: list[str] = Field(description="One sentence per change.")
    loses_data: bool = Field(description="Whether shards are started without data.")


@router.post(
    "/bdbs/{uid}/actions/repair", summary="Repair database", responses=error_responses(400, 403, 404, 406, 409)
)
async def repair_database(admin: Admin, session: WriteSession, uid: Uid, body: RepairRequest) -> RepairReply:
    """Update the store with the shards and slots that serve the database, and start its missing shards. Shards of which
    no copy exists are started without data, which requires `confirm`.

    Required role: `admin`.
    """
    found = await service.schedule(session, uid, admin, confirm=body.confirm, dry_run=body.dry_run)
    return RepairReply(
        action_uid=found.action.uid if found.action is not None else None,
        changes=found.changes,
        loses_data=found.loses_data,
    )
