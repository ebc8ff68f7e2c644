"""Upgrading the engine of a database, or of all that have shards on a node, over HTTP."""

from typing import Any, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.bdbs import shown
from shardboard.api.deps import Editor, Tx
from shardboard.api.parameters import DryRun, Uid, is_on
from shardboard.api.reach import BdbEditor
from shardboard.api.replies import errors
from shardboard.schemas import bdbs as schema
from shardboard.services import upgrades as service

router = APIRouter()


class UpgradeOrder(BaseModel):
    """The reference's body."""

    model_config = ConfigDict(strict=True)

    redis_version: str = Field(
        default="", max_length=40, description="The engine that must run in the end; the installed one when left out."
    )
    force_restart: bool = Field(default=False, description="Replace also shards that run that engine already.")
    parallel_shards_upgrade: int | Literal["all"] = Field(
        default="all", description="Shards at a time; `all`: as many as the policy lets copy at once."
    )
    preserve_roles: bool = Field(default=False, description="Roles are always kept.")
    may_discard_data: bool = Field(default=False, description="Kept without effect: nothing is ever discarded.")
    force_discard: bool = Field(default=False, description="Kept without effect.")
    modules: list[dict[str, Any]] = Field(default=[], max_length=0, description="There are no modules to upgrade.")


class NodeUpgrade(BaseModel):
    """What becomes of one database."""

    bdb_uid: int
    name: str
    description: str = Field(description="What is, or would be, ordered; empty when nothing can be.")
    steps: list[str]
    refused: str = Field(description="Why it is left as it is; empty when it is not.")
    action_uid: str = Field(description="Empty after a dry run, and where nothing was ordered.")


class NodeUpgrades(BaseModel):
    """Databases whose shards all run the engine of their nodes are left out."""

    databases: list[NodeUpgrade]


class UpgradePlan(BaseModel):
    """Reply to a dry run."""

    description: str
    steps: list[str] = Field(description="In their order within each pair; pairs go side by side.")


@router.post(
    "/bdbs/{uid}/upgrade", response_model=schema.Bdb | UpgradePlan, responses=errors(404, 406, 409), tags=["databases"]
)
async def upgrade_bdb(
    editor: BdbEditor, session: Tx, uid: Uid, body: UpgradeOrder | None = None, dry_run: DryRun = None
) -> JSONResponse:
    """Have the database's shards run the engine that their nodes have now. Replicas go first; clients of the cluster see
    redirections, those of the endpoint nothing. The reply is the database; `action_uid` is empty when there was nothing to do."""
    asked = body or UpgradeOrder()
    at_once = 0 if asked.parallel_shards_upgrade == "all" else max(1, asked.parallel_shards_upgrade)
    wish = service.Wish(asked.redis_version, asked.force_restart, at_once)
    if is_on(dry_run):
        plan = await service.preview(session, uid, wish)
        told = UpgradePlan(description=plan.description, steps=[move.title for move in plan.moves])
        return JSONResponse(told.model_dump())
    bdb, action = await service.order(session, uid, editor, wish)
    reply = await shown(session, bdb, editor)
    return JSONResponse({**reply, "action_uid": action.uid if action is not None else ""})


@router.post("/nodes/{uid}/upgrade", responses=errors(404), tags=["nodes"])
async def upgrade_node(editor: Editor, session: Tx, uid: Uid, dry_run: DryRun = None) -> NodeUpgrades:
    """The same for every database with a shard on the node (ours). Those that cannot be upgraded now are told with the reason."""
    outlooks = (
        await service.preview_of_node(session, uid)
        if is_on(dry_run)
        else await service.order_for_node(session, uid, editor)
    )
    return NodeUpgrades(databases=[_outlook(each) for each in outlooks])


def _outlook(of: service.Outlook) -> NodeUpgrade:
    return NodeUpgrade(
        bdb_uid=of.bdb.uid,
        name=of.bdb.name,
        description=of.plan.description if of.plan else "",
        steps=[move.title for move in of.plan.moves] if of.plan else [],
        refused=of.refused,
        action_uid=of.action.uid if of.action else "",
    )
