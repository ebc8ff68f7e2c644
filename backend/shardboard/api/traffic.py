"""Stopping and resuming a database's traffic over HTTP."""

from fastapi import APIRouter
from pydantic import BaseModel, Field

from shardboard.api.deps import Tx
from shardboard.api.parameters import Uid
from shardboard.api.reach import BdbEditor
from shardboard.api.replies import errors
from shardboard.services import traffic as service
from shardboard.state.actions import Action

router = APIRouter(tags=["databases"])


class TrafficReply(BaseModel):
    action_uid: str | None = Field(description="null when it is so already.")
    description: str


@router.post("/bdbs/{uid}/actions/stop_traffic", responses=errors(404, 409))
async def stop_traffic(editor: BdbEditor, session: Tx, uid: Uid) -> TrafficReply:
    """Disconnect all clients and let nobody connect, until traffic is resumed. Shards and data stay, failovers go on."""
    return _reply(await service.order(session, uid, editor, stop=True), "Traffic is stopped already.")


@router.post("/bdbs/{uid}/actions/resume_traffic", responses=errors(404, 409))
async def resume_traffic(editor: BdbEditor, session: Tx, uid: Uid) -> TrafficReply:
    """Let clients connect again."""
    return _reply(await service.order(session, uid, editor, stop=False), "Traffic is not stopped.")


def _reply(action: Action | None, otherwise: str) -> TrafficReply:
    if action is None:
        return TrafficReply(action_uid=None, description=otherwise)
    return TrafficReply(action_uid=action.uid, description=action.description)
