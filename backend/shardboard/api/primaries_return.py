"""Returning primaries after an outage over HTTP (ours)."""

from fastapi import APIRouter

from shardboard.api.deps import Editor, Tx
from shardboard.api.parameters import Uid
from shardboard.api.rebalance import RebalanceReply
from shardboard.api.replies import errors
from shardboard.services import primaries_return as service

router = APIRouter(tags=["databases"])


@router.put("/bdbs/{uid}/actions/return_primaries", responses=errors(404, 409))
async def return_primaries(editor: Editor, session: Tx, uid: Uid) -> RebalanceReply:
    """Give primaries that were lost with their node (`lost_lead` of a shard) their lead back: roles are switched, no data moves."""
    action = await service.order(session, uid, editor)
    return RebalanceReply(action_uid=action.uid, description=action.description)
