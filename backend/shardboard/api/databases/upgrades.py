"""Endpoints that upgrade the engine of a database, or of all databases with shards on a node."""

from typing import Any, ClassVar, Literal

from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.databases.bdbs import render_bdb
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import BdbEditor
from shardboard.api.http.dependencies import Editor, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import DryRun, Uid
from shardboard.schemas.databases import bdbs as schema
from shardboard.services.databases import upgrades as service

router = ApiRouter(prefix="/v1")


class UpgradeRequest(BaseModel):
    """Body of an upgrade request, as in the Redis Enterprise REST API."""

    model_config = ConfigDict(strict=True)

    WITHOUT_EFFECT: ClassVar = {"preserve_roles": False, "may_discard_data": False, "force_discard": False}

    redis_version: str = Field(
        default="",
        max_length=40,
        description="Engine version that must run after the upgrade. Default: the version installed on the nodes.",
    )
    force_restart: bool = Field(default=False, description="Also replace shards that already run this version.")
    parallel_shards_upgrade: int | Literal["all"] = Field(
        default="all",
        description="Maximum number of shards to upgrade at the same time; `all`: as many as the policy allows.",
    )
    preserve_roles: bool = Field(default=False, description="Accepted without effect: roles are always kept.")
    may_discard_data: bool = Field(default=False, description="Accepted without effect: no data is discarded.")
    force_discard: bool = Field(default=False, description="Accepted without effect.")
    modules: list[dict[str, Any]] = Field(
        default=[], max_length=0, description="Must be empty: modules are not supported."
    )


class NodeUpgrade(BaseModel):
    """Upgrade of one database."""

    bdb_uid: int
    name: str
    description: str = Field(description="Description of the upgrade; empty if it is not possible.")
    steps: list[str]
    refused: str = Field(description="Reason why the database is not upgraded; empty if it is.")
    action_uid: str = Field(description="Uid of the action; empty in a dry run or without an upgrade.")


class NodeUpgrades(BaseModel):
    """Databases with shards on the node, without those whose shards all run the installed engine version."""

    databases: list[NodeUpgrade]


class UpgradePlan(BaseModel):
    """Reply to a dry run."""

    description: str
    steps: list[str] = Field(description="Steps of each replication pair, in order. Pairs are upgraded in parallel.")


@router.post(
    "/bdbs/{uid}/upgrade",
    summary="Upgrade database",
    response_model=schema.Bdb | UpgradePlan,
    responses=error_responses(404, 406, 409),
    tags=["databases"],
)
async def upgrade_bdb(
    editor: BdbEditor, session: WriteSession, uid: Uid, dry_run: DryRun, body: UpgradeRequest | None = None
) -> JSONResponse:
    """Upgrade the shards of a database to the engine version that is installed on their nodes. Replicas are upgraded first.

    Clients of the cluster protocol get redirections; clients of the endpoint are not affected. The response is the
    database; `action_uid` is empty if no shard needs an upgrade. Required role: `admin`, `cluster_member`, or
    `db_member`.
    """
    request = body or UpgradeRequest()
    max_parallel = 0 if request.parallel_shards_upgrade == "all" else max(1, request.parallel_shards_upgrade)
    options = service.UpgradeOptions(request.redis_version, request.force_restart, max_parallel)
    if dry_run:
        plan = await service.preview(session, uid, options)
        plan_reply = UpgradePlan(description=plan.description, steps=[move.title for move in plan.moves])
        return JSONResponse(plan_reply.model_dump())
    bdb, action = await service.schedule(session, uid, editor, options)
    reply = await render_bdb(session, bdb, editor)
    return JSONResponse({**reply, "action_uid": action.uid if action is not None else ""})


@router.post("/nodes/{uid}/upgrade", responses=error_responses(404), tags=["nodes"])
async def upgrade_node(editor: Editor, session: WriteSession, uid: Uid, dry_run: DryRun) -> NodeUpgrades:
    """Upgrade all databases that have a shard on the node (extension). For databases that cannot be upgraded now, the
    response contains the reason.

    Required role: `admin`, `cluster_member`, or `db_member`, not limited to some databases.
    """
    forecasts = (
        await service.preview_for_node(session, uid)
        if dry_run
        else await service.schedule_for_node(session, uid, editor)
    )
    return NodeUpgrades(databases=[_render(each) for each in forecasts])


def _render(forecast: service.UpgradeForecast) -> NodeUpgrade:
    return NodeUpgrade(
        bdb_uid=forecast.bdb.uid,
        name=forecast.bdb.name,
        description=forecast.plan.description if forecast.plan else "",
        steps=[move.title for move in forecast.plan.moves] if forecast.plan else [],
        refused=forecast.reason,
        action_uid=forecast.action.uid if forecast.action else "",
    )
