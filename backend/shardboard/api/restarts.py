"""Starting a dead shard again, over HTTP."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.deps import Admin, Tx
from shardboard.api.parameters import Uid
from shardboard.api.replies import errors
from shardboard.services import restarts as service

router = APIRouter(tags=["shards"])


class RestartOrder(BaseModel):
    """For a shard that is down while nobody is left to take over from it."""

    model_config = ConfigDict(strict=True)

    confirm: str = Field(default="", description='The words "shard <uid>", typed by who orders it.')
    discard_data: bool = Field(
        default=False,
        description="Start empty, whatever is on disk: all its keys are lost. Needed without persistence.",
    )
    dry_run: bool = Field(default=False, description="Only tell what would be lost.")


class RestartReply(BaseModel):
    action_uid: str | None
    description: str


@router.post("/shards/{uid}/actions/restart", responses=errors(400, 403, 404, 406, 409))
async def restart(admin: Admin, session: Tx, uid: Uid, body: RestartOrder) -> RestartReply:
    """Start a dead shard again from its persistence, or empty; the description says what is lost."""
    action, loss = await service.order(
        session, uid, admin, confirm=body.confirm, discard_data=body.discard_data, dry_run=body.dry_run
    )
    return RestartReply(action_uid=action.uid if action is not None else None, description=loss)
