"""Bringing shards and leads to where they belong, over HTTP: rebalancing, and the return of primaries after an outage (ours)."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from shardboard.api.deps import Tx
from shardboard.api.parameters import DryRun, Uid, is_on
from shardboard.api.reach import BdbEditor, BdbViewer
from shardboard.api.replies import errors
from shardboard.domain.layout import Layout
from shardboard.schemas import plans
from shardboard.schemas.plans import AddressChange, BlueprintNode, BlueprintPair
from shardboard.services import primaries_return
from shardboard.services import rebalance as service

router = APIRouter(tags=["databases"])

Flag = Annotated[str | None, Query(description="`?only_failovers` alone means true.", examples=["true"])]
Most = Annotated[int | None, Query(ge=0, le=100_000, description="Handovers and moves at most, handovers first.")]


class RebalanceReply(BaseModel):
    action_uid: str | None = Field(description="null when everything is where it should be.")
    description: str


@router.put("/bdbs/{uid}/actions/rebalance", responses=errors(404, 409))
async def rebalance(
    editor: BdbEditor,
    session: Tx,
    uid: Uid,
    body: dict[str, Any] | None = None,
    dry_run: DryRun = None,
    only_failovers: Flag = None,
    max_operations: Most = None,
) -> RebalanceReply | list[BlueprintPair]:
    """Bring shards to where the placement policy wants them, with as few copies as it takes. With `dry_run`: where they
    would be, per pair."""
    handovers = is_on(only_failovers)
    if is_on(dry_run):
        return _blueprint(
            uid, *await service.preview(session, uid, only_failovers=handovers, max_operations=max_operations)
        )
    action = await service.order(session, uid, editor, only_failovers=handovers, max_operations=max_operations)
    if action is None:
        return RebalanceReply(action_uid=None, description="Everything is where it should be.")
    return RebalanceReply(action_uid=action.uid, description=action.description)


@router.get("/bdbs/{uid}/address_changes", responses=errors(404, 409))
async def address_changes(
    _viewer: BdbViewer, session: Tx, uid: Uid, only_failovers: Flag = None, max_operations: Most = None
) -> list[AddressChange]:
    """Addresses that clients must leave when the database is rebalanced; nothing is ordered (ours)."""
    handovers = is_on(only_failovers)
    return plans.render_changes(
        await service.address_changes(session, uid, only_failovers=handovers, max_operations=max_operations)
    )


@router.put("/bdbs/{uid}/actions/return_primaries", responses=errors(404, 409))
async def return_primaries(editor: BdbEditor, session: Tx, uid: Uid) -> RebalanceReply:
    """Give primaries that were lost with their node (`lost_lead` of a shard) their lead back: roles are switched, no data moves."""
    action = await primaries_return.order(session, uid, editor)
    return RebalanceReply(action_uid=action.uid, description=action.description)


def _blueprint(uid: int, board: Layout, ranges: dict[int, str]) -> list[BlueprintPair]:
    return [
        BlueprintPair(
            nodes=[
                BlueprintNode(node_uid=str(copy.node), role="master" if copy.leads else "slave")
                for copy in sorted(board.pair(uid, pair), key=lambda copy: not copy.leads)
            ],
            slot_range=slots,
        )
        for pair, slots in sorted(ranges.items())
    ]
