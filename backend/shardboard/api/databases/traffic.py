"""Endpoints that stop and resume the traffic of a database."""

from pydantic import BaseModel, Field

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import BdbEditor
from shardboard.api.http.dependencies import WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.services.databases import traffic as service
from shardboard.state.cluster.actions import Action

router = ApiRouter(prefix="/v1", tags=["databases"])


class TrafficReply(BaseModel):
    action_uid: str | None = Field(description="Uid of the action; null if nothing changes.")
    description: str


@router.post("/bdbs/{uid}/actions/stop_traffic", responses=error_responses(404, 409))
async def stop_traffic(editor: BdbEditor, session: WriteSession, uid: Uid) -> TrafficReply:
    """Close the endpoints of a database and disconnect all clients until traffic is resumed.

    Shards and data are kept, and failovers still happen. Required role: `admin`, `cluster_member`, or `db_member`.
    """
    return _reply(await service.schedule(session, uid, editor, stop=True), "The traffic is already stopped.")


@router.post("/bdbs/{uid}/actions/resume_traffic", responses=error_responses(404, 409))
async def resume_traffic(editor: BdbEditor, session: WriteSession, uid: Uid) -> TrafficReply:
    """Open the endpoints of a database again. Required role: `admin`, `cluster_member`, or `db_member`."""
    return _reply(await service.schedule(session, uid, editor, stop=False), "The traffic is not stopped.")


def _reply(action: Action | None, otherwise: str) -> TrafficReply:
    if action is None:
        return TrafficReply(action_uid=None, description=otherwise)
    return TrafficReply(action_uid=action.uid, description=action.description)
