"""Endpoint that restarts a shard that is down."""

from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import Admin, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.services.failures import shard_restart as service

router = ApiRouter(prefix="/v1", tags=["shards"])


class RestartRequest(BaseModel):
    """Body of a restart request, for a shard that is down and has no replica that could be promoted."""

    model_config = ConfigDict(strict=True)

    confirm: str = Field(default="", description='Confirmation: the words "shard <uid>".')
    discard_data: bool = Field(
        default=False,
        description="Start without data, even if there is data on disk. All keys are lost. Required without persistence.",
    )
    dry_run: bool = Field(default=False, description="Only return what would be lost.")


class RestartReply(BaseModel):
    action_uid: str | None
    description: str


@router.post(
    "/shards/{uid}/actions/restart", summary="Restart shard", responses=error_responses(400, 403, 404, 406, 409)
)
async def restart_shard(admin: Admin, session: WriteSession, uid: Uid, body: RestartRequest) -> RestartReply:
    """Restart a shard that is down, from its persistence files or without data. `description` is the data loss.

    Required role: `admin`.
    """
    action, loss = await service.schedule(
        session, uid, admin, confirm=body.confirm, discard_data=body.discard_data, dry_run=body.dry_run
    )
    return RestartReply(action_uid=action.uid if action is not None else None, description=loss)
