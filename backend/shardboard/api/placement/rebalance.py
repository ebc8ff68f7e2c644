"""Endpoints that restore the placement and the roles of shards: rebalance, and return of primaries after an outage (extension)."""

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, Field

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import BdbEditor, BdbViewer
from shardboard.api.http.dependencies import WriteSession, WriteSessionWithoutDryRun
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import DryRun, Uid, is_flag_set
from shardboard.domain.placement.layout import Layout
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.schemas.placement import plans
from shardboard.schemas.placement.plans import AddressChange, BlueprintNode, BlueprintPair
from shardboard.schemas.unknown_fields import NoFields
from shardboard.services.placement import rebalance as service
from shardboard.services.placement import switch_back

router = ApiRouter(prefix="/v1", tags=["databases"])

OnlyFailovers = Annotated[
    str | None,
    Query(
        description="Only change roles, and do not move shards. `?only_failovers` alone means true.", examples=["true"]
    ),
]
MaxOperations = Annotated[
    int | None, Query(ge=0, le=100_000, description="Maximum number of failovers and moves. Failovers come first.")
]


class RebalanceReply(BaseModel):
    action_uid: str | None = Field(description="Uid of the action; null if the placement is already correct.")
    description: str


@router.put("/bdbs/{uid}/actions/rebalance", summary="Rebalance database", responses=error_responses(404, 409))
async def rebalance_bdb(
    editor: BdbEditor,
    session: WriteSession,
    uid: Uid,
    dry_run: DryRun,
    body: NoFields | None = None,
    only_failovers: OnlyFailovers = None,
    max_operations: MaxOperations = None,
) -> RebalanceReply | list[BlueprintPair]:
    """Move shards so that they match the placement policy, with as few copies as possible.

    A dry run returns the resulting placement of each replication pair. Required role: `admin`, `cluster_member`, or `db_member`.
    """
    handovers = is_flag_set(only_failovers, "only_failovers")
    if dry_run:
        return _blueprint(
            uid, *await service.preview(session, uid, only_failovers=handovers, max_operations=max_operations)
        )
    action = await service.schedule(session, uid, editor, only_failovers=handovers, max_operations=max_operations)
    if action is None:
        return RebalanceReply(action_uid=None, description="The placement is correct already.")
    return RebalanceReply(action_uid=action.uid, description=action.description)


@router.get("/bdbs/{uid}/address_changes", summary="List address changes", responses=error_responses(404, 409))
async def list_bdb_address_changes(
    _viewer: BdbViewer,
    session: WriteSessionWithoutDryRun,
    uid: Uid,
    only_failovers: OnlyFailovers = None,
    max_operations: MaxOperations = None,
) -> list[AddressChange]:
    """Return the addresses that clients would have to stop using after a rebalance (extension). Nothing is changed."""
    handovers = is_flag_set(only_failovers, "only_failovers")
    return plans.render_changes(
        await service.address_changes(session, uid, only_failovers=handovers, max_operations=max_operations)
    )


@router.put("/bdbs/{uid}/actions/return_primaries", responses=error_responses(404, 409))
async def return_primaries(editor: BdbEditor, session: WriteSession, uid: Uid) -> RebalanceReply:
    """Return primaries to the nodes that they had before an outage (`lost_lead` of a shard). Only roles change; no data moves.

    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    action = await switch_back.schedule(session, uid, editor)
    return RebalanceReply(action_uid=action.uid, description=action.description)


def _blueprint(uid: int, layout: Layout, ranges: dict[int, str]) -> list[BlueprintPair]:
    return [
        BlueprintPair(
            nodes=[
                BlueprintNode(node_uid=str(copy.node), role=ShardRole.PRIMARY if copy.is_primary else ShardRole.REPLICA)
                for copy in sorted(layout.pair(uid, pair), key=lambda copy: not copy.is_primary)
            ],
            slot_range=slots,
        )
        for pair, slots in sorted(ranges.items())
    ]
